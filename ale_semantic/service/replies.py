"""From a question to an HTTP answer: written as JSON on the worker's thread, with an ETag where it is a GET."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fastapi import Request, Response
from pydantic_core import to_json

from .core import Service
from .etags import etag_of, is_known
from .problems import ParameterError

if TYPE_CHECKING:
    from .holder import OpenIndex

# A client may keep an answer, but asks each time whether it still holds; nobody in between may keep it.
_CACHING = "private, no-cache"
_REPEATABLE = frozenset({"like", "unlike", "ignore", "facets", "fields"})
JSON_MEDIA_TYPE = "application/json"


async def reply(
    request: Request, service: Service, stage: str, asked: str, question: Callable[[OpenIndex], dict[str, Any]]
) -> Response:
    """Answer a request from the open index; a GET that knows the answer already gets 304 and costs nothing.

    Args:
        request: the request.
        service: the service.
        stage: what the time is booked under.
        asked: all that the answer depends on besides the index.
        question: called with the open index, returns the answer as JSON values.
    """
    is_get = request.method == "GET"
    if is_get:
        etag = etag_of(service.holder.current.etag)
        if is_known(request.headers.get("if-none-match"), etag):
            return Response(status_code=304, headers={"etag": etag, "cache-control": _CACHING})
    answer = await service.answer(stage, f"{stage} {asked}", lambda index: to_json(question(index)))
    headers = {"etag": etag_of(answer.etag), "cache-control": _CACHING} if is_get else {"cache-control": "no-store"}
    return Response(answer.body, headers=headers, media_type=JSON_MEDIA_TYPE)


def refuse_repeats(request: Request) -> None:
    """Refuse a query string that gives one parameter two values (a FastAPI dependency).

    Raises:
        ParameterError: naming the parameter.
    """
    seen = set()
    for name, _ in request.query_params.multi_items():
        if name in seen and name not in _REPEATABLE:
            raise ParameterError(f"{name} is given more than once", param=name)
        seen.add(name)
