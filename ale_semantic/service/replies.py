"""From a question to an HTTP answer: written as JSON on a worker's thread, with an ETag where it is a GET."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Request, Response
from pydantic_core import to_json

from . import search_answers
from .config import ServiceConfig
from .core import Service, service_of
from .etags import etag_of, is_known
from .holder import OpenIndex
from .parameters import Parameters
from .problems import ParameterError

# A client may keep an answer, but asks each time whether it still holds; nobody in between may keep it.
CACHING = "private, no-cache"
_REPEATABLE = frozenset({"like", "unlike", "ignore", "facets", "fields"})
_Asked = TypeVar("_Asked", bound=Parameters)


class Replies:
    """Answers one request from the open index."""

    def __init__(self, request: Request) -> None:
        """Take the request, and refuse it if its query string gives one parameter two values.

        Raises:
            ParameterError: naming the parameter.
        """
        _refuse_repeats(request)
        self.service = service_of(request)
        self._is_get = request.method == "GET"
        self._known = request.headers.get("if-none-match")

    async def reply(
        self,
        stage: str,
        asked: _Asked,
        answer: Callable[[OpenIndex, _Asked, ServiceConfig], dict[str, Any]],
        *,
        text: str = "",
    ) -> Response:
        """Answer what is asked; a GET that knows the answer already gets 304 and costs no search.

        Args:
            stage: what the time is booked under, and what is asked for.
            asked: all that the answer depends on besides the index and the settings.
            answer: called on a worker's thread, returns the answer as JSON values.
            text: what is searched for, for the log if the settings ask for it.
        """
        service = self.service
        service.telemetry.note_query(text)
        if self._is_get:
            known = await not_modified(
                service, self._known, lambda index: search_answers.check(stage, index, asked, service.config)
            )
            if known is not None:
                return known

        def body(index: OpenIndex) -> bytes:
            values = answer(index, asked, service.config)
            with service.telemetry.stage("serialise"):
                return to_json(values)

        found = await service.answer(stage, f"{stage} {asked.model_dump_json()}", body)
        if self._is_get:
            return json_response(found.body, etag=etag_of(found.etag))
        return json_response(found.body)


async def replies_of(request: Request) -> Replies:
    """Return what answers a request (a FastAPI dependency; one that isn't async would be called on another thread)."""
    return Replies(request)


Desk = Annotated[Replies, Depends(replies_of)]


async def not_modified(
    service: Service, if_none_match: str | None, check: Callable[[OpenIndex], None]
) -> Response | None:
    """Return a 304 if the client knows the answer, None if it must be made.

    Args:
        service: whose open index makes the answer.
        if_none_match: the header of that name.
        check: refuses what has no answer; all addresses share one ETag, so knowing it doesn't tell that there is one.
            It is called on a thread that isn't of the pool: a full queue of searches must not hold it up.
    """
    if not is_known(if_none_match, etag_of(service.holder.current.etag)):
        return None

    def known() -> str | None:
        with service.holder.lease() as index:
            etag = etag_of(index.etag)
            if not is_known(if_none_match, etag):  # exchanged meanwhile
                return None
            check(index)
            return etag

    etag = await asyncio.to_thread(known)
    return Response(status_code=304, headers={"etag": etag, "cache-control": CACHING}) if etag is not None else None


def json_response(body: bytes, *, etag: str | None = None) -> Response:
    """Return a body that is JSON already; without an ETag nobody may keep it."""
    headers = {"etag": etag, "cache-control": CACHING} if etag is not None else {"cache-control": "no-store"}
    return Response(body, headers=headers, media_type="application/json")


def _refuse_repeats(request: Request) -> None:
    seen = set()
    for name, _ in request.query_params.multi_items():
        if name in seen and name not in _REPEATABLE:
            raise ParameterError(f"{name[:100]} is given more than once", param=name[:100])
        seen.add(name)
