"""What FastAPI says of bad input, as one problem whose message names each parameter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .problems import Problem
from .strict_json import type_fault

_TOLD = 5  # faults of one request that are named
_PLACES = frozenset({"body", "query", "path", "header"})
_TEXT_BRANCH = "str"  # as pydantic calls it
_LIKENESS = 60  # out of 100, of a name that is offered instead of an unknown one


def validation_problem(faults: Sequence[Mapping[str, Any]], known: Iterable[str]) -> Problem:
    """Return the problem for what pydantic found.

    Args:
        faults: as `RequestValidationError.errors()` gives them.
        known: the names of the parameters that the route takes.
    """
    if faults and faults[0]["type"] == "json_invalid":
        return unreadable_body(_json_fault(faults[0]))
    faults = _without_branches(faults)
    told = [_sentence(fault) for fault in faults[:_TOLD]]
    if len(faults) > _TOLD:
        told.append(f"and {len(faults) - _TOLD} more")
    first = faults[0] if faults else {"loc": (), "type": ""}
    unknown = first["type"] == "extra_forbidden"
    near = _nearest(_name(first), sorted(known)) if unknown else ()
    if near:
        told[0] += f"; did you mean {', '.join(map(repr, near))}?"
    return Problem(
        status=422,
        slug="unknown-parameter" if unknown else "bad-parameter",
        title="Unknown parameter" if unknown else "A parameter can't be taken",
        detail="; ".join(told),
        param=_name(first) or None,
        nearest=near,
    )


def unreadable_body(reason: str = "it is too deeply nested, or not in UTF-8") -> Problem:
    """Return the problem for a body that is no JSON."""
    return Problem(422, "bad-json", "The body is no JSON", f"the body is no JSON: {reason}")


def _sentence(fault: Mapping[str, Any]) -> str:
    name = _name(fault)
    match fault["type"]:
        case "extra_forbidden":
            return f"unknown parameter {name!r}"
        case "missing":
            return f"{name or 'the body'} is missing"
        case "model_attributes_type" | "model_type" | "dict_type" if not name:
            return "the body must be a JSON object, sent with Content-Type: application/json"
        case _ if name and (wrong := type_fault(fault)):
            return f"{name} {wrong}"
        case _:
            message = str(fault["msg"]).removeprefix("Value error, ")
            return f"{name}: {message[:1].lower()}{message[1:]}" if name else f"the body: {message}"


def _name(fault: Mapping[str, Any]) -> str:
    """Return a parameter's name, such as `like[2]`."""
    parts = [part for place, part in enumerate(fault["loc"]) if place or part not in _PLACES]
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return text.removeprefix(".")[:200]


def _without_branches(faults: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the faults with one in place of those of each branch of "a text or a list": pydantic tells of both."""
    found: list[Mapping[str, Any]] = []
    for fault in faults:
        place = tuple(fault["loc"])
        if place[-1:] == (_TEXT_BRANCH,) and fault["type"] == "string_type":
            found.append({**fault, "loc": place[:-1], "msg": "Input should be a text or a list of texts"})
        elif not (fault["type"] == "list_type" and str(place[-1]).startswith("list[")):
            found.append(fault)
    return found


def _json_fault(fault: Mapping[str, Any]) -> str:
    place = fault["loc"][-1] if fault["loc"] else 0
    return f"{fault.get('ctx', {}).get('error', 'malformed')} at character {place}"


def _nearest(name: str, known: Sequence[str]) -> tuple[str, ...]:
    from rapidfuzz import fuzz, process

    begun = tuple(other for other in known if name and other.startswith(name))
    found = process.extract(name, known, scorer=fuzz.WRatio, limit=3, score_cutoff=_LIKENESS)
    return tuple(dict.fromkeys((*begun, *(other for other, _, _ in found))))[:3]
