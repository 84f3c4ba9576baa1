"""How OpenAPI describes each route's answers: examples from the demo cards, and every refusal that can come."""

from __future__ import annotations

import json
from enum import Flag, auto
from functools import cache
from importlib.resources import files
from typing import Any

from .models import ProblemAnswer
from .problems import PROBLEM_MEDIA_TYPE

EXAMPLES = "data/service_examples.json"
Responses = dict[int | str, dict[str, Any]]


class Kind(Flag):
    """What a route's answers have."""

    CACHED = auto()  # an ETag
    PAGED = auto()  # a cursor


CACHED, PAGED = Kind.CACHED, Kind.PAGED
_ETAG = {"ETag": {"description": "Send it back in `If-None-Match`.", "schema": {"type": "string"}}}
_RETRY = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}


def described(example: str, *kinds: Kind, tasks: bool = False) -> Responses:
    """Return the `responses` of a route: its example, and the refusals that its own kinds bring.

    Args:
        example: name of the answer in the examples.
        kinds: what the route's answers have.
        tasks: whether it can name a task that there isn't.
    """
    has = Kind(0)
    for kind in kinds:
        has |= kind
    found: Responses = {200: {"content": {"application/json": {"example": examples()[example]}}}}
    if CACHED in has:
        found[200]["headers"] = _ETAG
        found[304] = {"description": "What the ETag names still holds.", "headers": _ETAG}
    if PAGED in has:
        found[400] = refusal("The cursor is damaged.", "bad_cursor")
        found[409] = refusal("The cursor belongs to another question.", "cursor_mismatch")
        found[410] = refusal("The index was exchanged since the cursor was given.", "cursor_expired")
    if tasks:
        found[404] = refusal("No such task; the nearest ids are named.", "unknown_task")
    return found


def refusals_everywhere() -> dict[str, dict[str, Any]]:
    """Return the refusals that any route below `/api/` may give, by status."""
    return {
        "401": refusal("No valid API key, where one is asked for.", "unauthorised"),
        "413": refusal("The body is too large.", "too_large"),
        "422": refusal("A parameter or the filter can't be taken.", "unknown_name"),
        "429": {**refusal("Too many requests.", "queue_full"), "headers": _RETRY},
        "503": {**refusal("No index, or the deadline passed.", "deadline"), "headers": _RETRY},
    }


def refusal(description: str, example: str) -> dict[str, Any]:
    """Return the description of one refusal."""
    content = {PROBLEM_MEDIA_TYPE: {"schema": _reference(), "example": examples()[example]}}
    return {"description": description, "content": content}


def _reference() -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{ProblemAnswer.__name__}"}


@cache
def examples() -> dict[str, Any]:
    """Return the examples by name; `benchmarks/service_examples.py` makes them from the demo cards."""
    found: dict[str, Any] = json.loads((files("ale_semantic") / EXAMPLES).read_text(encoding="utf-8"))
    return found
