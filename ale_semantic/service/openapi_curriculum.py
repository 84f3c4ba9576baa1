"""How OpenAPI describes the answers and refusals of the curriculum routes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .models import ProblemAnswer
from .openapi_responses import Responses, examples, refusal
from .problems import PROBLEM_MEDIA_TYPE

_ETAG = {"ETag": {"description": "Send it back in `If-None-Match`.", "schema": {"type": "string"}}}
_RETRY = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
_TEXT = {"schema": {"type": "string"}}
_FILE = {"schema": {"type": "object"}}  # as a reader of YAML sees it


def described(
    example: str = "", *, kept: bool = False, media_types: Iterable[str] = (), only_text: bool = False
) -> Responses:
    """Return the `responses` of a route.

    Args:
        example: the route's name in the examples; blank where it answers no JSON.
        kept: it is a GET with an ETag.
        media_types: as what else than JSON it may be answered.
        only_text: it is never answered as JSON.
    """
    content: dict[str, Any] = (
        {} if only_text else {"application/json": {"example": examples()[f"curriculum_{example}"]}}
    )
    content.update((kind, _FILE if kind.endswith("yaml") else _TEXT) for kind in media_types)
    found: Responses = {
        200: {"description": "The answer.", "content": content},
        401: refusal("No valid API key, where one is asked for.", "unauthorised"),
        404: refusal("No such task; the nearest ids are named.", "unknown_task"),
        413: refusal("The body is too large.", "too_large"),
        422: {"description": "A parameter can't be taken, or a limit can't be met.", "content": _refused()},
        429: {**refusal("Too many requests.", "queue_full"), "headers": _RETRY},
        503: {**refusal("No index, or it takes longer than the deadline.", "deadline"), "headers": _RETRY},
    }
    if kept:
        found[200]["headers"] = _ETAG
        found[304] = {"description": "What the ETag names still holds.", "headers": _ETAG}
    return found


def _refused() -> dict[str, Any]:
    """Return the content of a refusal, which for a limit that can't be met carries more."""
    usual = f"#/components/schemas/{ProblemAnswer.__name__}"
    with_offer = ProblemAnswer.model_json_schema()
    names = ("limit", "asked", "nearest")
    limit = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}
    more = {
        "failed": {"type": "array", "items": limit, "description": "The limits in the way."},
        "offer": {"type": ["object", "null"], "description": "The nearest result, in the shape of a good answer."},
    }
    with_offer |= {
        "title": "LimitAnswer",
        "description": "A limit that can't be met, with the nearest result.",
        "properties": {**with_offer["properties"], **more},
        "required": [*with_offer["required"], *more],
    }
    return {PROBLEM_MEDIA_TYPE: {"schema": {"anyOf": [{"$ref": usual}, with_offer]}}}
