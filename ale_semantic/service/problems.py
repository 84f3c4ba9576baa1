"""Faults as answers: each with a status, a type that programs can tell apart, and a message for people.

The body is that of RFC 9457 (`application/problem+json`); below `/v1/` it is OpenAI's. A fault of the user's is told
in full; of anything else the answer says that it happened and under which request id the log has more, never a path
or a message of a library.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, ClassVar

from ale_semantic.errors import (
    AleSemanticError,
    BundleError,
    CurriculumError,
    EncoderError,
    FilterError,
    MissingExtraError,
    QueryError,
    UnknownNameError,
)

if TYPE_CHECKING:
    from starlette.responses import Response

PROBLEM_TYPE = "urn:ale-semantic:problem:"
PROBLEM_MEDIA_TYPE = "application/problem+json"
OPENAI_PREFIX = "/v1/"  # answers below it have OpenAI's shape
_DETAIL_CHARACTERS = 2_000  # a message may repeat what was sent, but not all of a book


class ServiceError(AleSemanticError):
    """Base of what only the service refuses; each kind has a status and a name."""

    status: ClassVar[int] = 400
    slug: ClassVar[str] = "bad-request"

    def __init__(self, detail: str, *, param: str | None = None, nearest: tuple[str, ...] = ()) -> None:
        """Say what is wrong and how to mend it, in which parameter, and which valid names are near."""
        super().__init__(detail)
        self.param = param
        self.nearest = nearest


class ParameterError(ServiceError):
    """A parameter that is unknown, missing, of the wrong type or in conflict with another."""

    status = 422
    slug = "bad-parameter"


class CursorError(ServiceError):
    """A cursor that isn't one, or was changed on its way."""

    status = 400
    slug = "bad-cursor"


class CursorMismatchError(ServiceError):
    """A cursor of another question than the one it came with."""

    status = 409
    slug = "cursor-of-another-question"


class CursorExpiredError(ServiceError):
    """A cursor of an index that is no longer served."""

    status = 410
    slug = "cursor-expired"


class UnauthorisedError(ServiceError):
    """A request without a valid API key."""

    status = 401
    slug = "unauthorised"


class ForbiddenError(ServiceError):
    """A request that this service never takes, such as from another host name."""

    status = 403
    slug = "forbidden"


class TooLargeError(ServiceError):
    """A body that is larger than the settings allow."""

    status = 413
    slug = "too-large"


class RetryLaterError(ServiceError):
    """A request that may succeed later; `retry_after` is in seconds."""

    status = 503
    slug = "unavailable"

    def __init__(self, detail: str, *, retry_after: float = 1.0) -> None:
        """Say what is busy and when to come again."""
        super().__init__(detail)
        self.retry_after = retry_after


class QueueFullError(RetryLaterError):
    """Too many questions wait already."""

    status = 429
    slug = "queue-full"


class RateLimitError(RetryLaterError):
    """This key or address asks too often."""

    status = 429
    slug = "rate-limited"


class DeadlineError(RetryLaterError):
    """The answer took longer than a caller may wait."""

    status = 503
    slug = "deadline"


class NotReadyError(RetryLaterError):
    """There is no index to answer from, or the service is stopping."""

    status = 503
    slug = "not-ready"


class CrowdedError(RetryLaterError):
    """More connections are open than the settings allow."""

    status = 503
    slug = "too-many-connections"


@dataclass(frozen=True, slots=True)
class Problem:
    """One refusal, ready to be written as JSON."""

    status: int
    slug: str
    title: str
    detail: str
    param: str | None = None
    nearest: tuple[str, ...] = ()
    position: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def body(self, *, path: str, request_id: str | None) -> dict[str, Any]:
        """Return the body as JSON values: OpenAI's shape below `/v1/`, else RFC 9457's."""
        if path.startswith(OPENAI_PREFIX):
            return {
                "error": {
                    "message": self.detail,
                    "type": _openai_type(self.status),
                    "param": self.param,
                    "code": self.slug.replace("-", "_"),
                }
            }
        return {
            "type": PROBLEM_TYPE + self.slug,
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
            "param": self.param,
            "nearest": list(self.nearest),
            "position": self.position,
            "request_id": request_id,
        }

    def response(self, scope: MutableMapping[str, Any]) -> Response:
        """Return the HTTP answer to the request of an ASGI scope, and note there what was refused, for the log."""
        from pydantic_core import to_json
        from starlette.responses import Response

        scope.setdefault("state", {})["problem"] = self.slug
        path = str(scope.get("path", ""))
        media_type = "application/json" if path.startswith(OPENAI_PREFIX) else PROBLEM_MEDIA_TYPE
        content = to_json(self.body(path=path, request_id=request_id_of(scope)))
        return Response(content, self.status, {"cache-control": "no-store", **self.headers}, media_type)


def request_id_of(scope: MutableMapping[str, Any]) -> str | None:
    """Return the id that a request goes by in the log, if it has one."""
    state = scope.get("state")
    found = state.get("request_id") if isinstance(state, dict) else None
    return str(found) if found is not None else None


def problem_of(fault: BaseException) -> Problem:
    """Return how a fault is told: the user's own in full, any other without its message."""
    match fault:
        case ServiceError():
            return _own(fault)
        case UnknownNameError(kind="task"):
            return _told(404, "unknown-task", "No such task", fault)
        case UnknownNameError():
            return _told(422, "unknown-name", "Unknown name", fault)
        case FilterError():
            return _told(422, "bad-filter", "The filter can't be understood", fault)
        case QueryError():
            return _told(422, "bad-query", "The query can't be served", fault)
        case CurriculumError():
            return _told(422, "bad-curriculum", "The curriculum can't be made", fault)
        case MissingExtraError():
            return _told(501, "not-installed", "Not installed here", fault)
        case BundleError() | EncoderError():
            # Their messages name files of this machine.
            detail = "the index can't be read just now; whoever runs the service finds the reason in its log"
            return Problem(503, "index-unavailable", "Index unavailable", detail, headers={"retry-after": "5"})
        case _:
            detail = "the service failed to answer; whoever runs it finds the reason in its log under the request id"
            return Problem(500, "internal", "Internal error", detail)


def problem_of_status(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Problem:
    """Return the problem for a bare HTTP status, as of a path or method that there isn't."""
    phrase = HTTPStatus(status).phrase
    allowed = (headers or {}).get("allow", "")
    if status == HTTPStatus.NOT_FOUND and detail in ("", phrase):
        detail = "there is nothing at this address; /docs lists what there is"
    elif status == HTTPStatus.METHOD_NOT_ALLOWED and allowed:
        detail = f"this address takes {allowed} only"
    return Problem(status, phrase.lower().replace(" ", "-"), phrase, detail or phrase, headers=dict(headers or {}))


def _own(fault: ServiceError) -> Problem:
    headers = {}
    if isinstance(fault, RetryLaterError):
        headers["retry-after"] = str(max(1, math.ceil(fault.retry_after)))
    if isinstance(fault, UnauthorisedError):
        headers["www-authenticate"] = "Bearer"
    title = fault.slug.replace("-", " ").capitalize()
    detail = _shortened(str(fault))
    return Problem(fault.status, fault.slug, title, detail, fault.param, fault.nearest, headers=headers)


def _told(status: int, slug: str, title: str, fault: AleSemanticError) -> Problem:
    return Problem(
        status=status,
        slug=slug,
        title=title,
        detail=_shortened(str(fault)),
        param=_param(fault),
        nearest=fault.nearest if isinstance(fault, UnknownNameError) else (),
        position=fault.position if isinstance(fault, FilterError) else None,
    )


def _param(fault: AleSemanticError) -> str | None:
    """Return the parameter that a fault of the engine lies in, where its kind tells."""
    if isinstance(fault, UnknownNameError) and fault.kind == "task":
        return "task_id"
    return "where" if isinstance(fault, FilterError) and fault.expression else None


def _shortened(detail: str) -> str:
    return detail if len(detail) <= _DETAIL_CHARACTERS else detail[:_DETAIL_CHARACTERS] + " ..."


def _openai_type(status: int) -> str:
    if status == HTTPStatus.UNAUTHORIZED:
        return "authentication_error"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return "rate_limit_error"
    return "server_error" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
