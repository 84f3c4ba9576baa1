"""Numbers and truth values as JSON has them: a text of one, or one of another kind, is refused and not converted.

A query string has nothing but texts, so there digits make a number; a JSON body that says `"5"`, `5.0` or `true` for a
whole number comes from a program that is wrong about something.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from copy import copy
from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, Strict, create_model
from pydantic_core import PydanticCustomError

_Model = TypeVar("_Model", bound=BaseModel)

_NUMBERS = (int, float, bool)
_DIGITS = re.compile(r"-?[0-9]+")
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_WHOLE, _NUMBER, _TRUTH, _LIST = "a whole number such as 10", "a number such as 0.5", "true or false", "a list"
_EXPECTED = {  # by pydantic's types of faults
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_parsing_size": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "bool_type": _TRUTH,
    "bool_parsing": _TRUTH,
    "tuple_type": _LIST,  # what a list becomes is nothing that a caller knows
}
_SHOWN = 40  # characters of what was given


def _digits(value: Any) -> Any:
    """Let a query string write a whole number in digits alone, where Python would also read `1_0`, ` 5` and `5.0`."""
    if isinstance(value, str) and not _DIGITS.fullmatch(value):
        raise PydanticCustomError("int_parsing", "Input should be a whole number")
    return value


def _decimal(value: Any) -> Any:
    """Let a query string write a number as 0.5 or 1, where Python would also read `0.5_1`, `1e400` and `nan`."""
    if isinstance(value, str) and not _DECIMAL.fullmatch(value):
        raise PydanticCustomError("float_parsing", "Input should be a number")
    return value


Count = Annotated[int, BeforeValidator(_digits)]
Number = Annotated[float, BeforeValidator(_decimal)]


def strict_json(model: type[_Model]) -> type[_Model]:
    """Return a model that takes numbers and truth values as such alone; all else is as before (a class decorator)."""
    fields: dict[str, Any] = {
        name: (_strict(field.annotation), copy(field))
        for name, field in model.model_fields.items()
        if _strict(field.annotation) != field.annotation
    }
    made: type[_Model] = create_model(
        model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **fields
    )
    return made


def type_fault(fault: Mapping[str, Any]) -> str:
    """Return what must stand instead of a value of the wrong type; blank for faults of other kinds."""
    expected = _EXPECTED.get(fault["type"], "")
    return f"must be {expected}, not {_given(fault.get('input'), expected)}" if expected else ""


def _strict(annotation: Any) -> Any:
    """Return a type whose numbers and truth values are strict."""
    if annotation in _NUMBERS:
        return Annotated[annotation, Strict()]
    parts = get_args(annotation)
    if get_origin(annotation) is Annotated:
        return Annotated[(_strict(parts[0]), *parts[1:])]
    if get_origin(annotation) in (Union, UnionType):
        return reduce(or_, map(_strict, parts))
    return annotation


def _given(value: Any, expected: str) -> str:
    """Return what was given, and what is wrong with it where that can't be seen."""
    match value:
        case None:
            return "null"
        case bool():
            return str(value).lower()
        case int() | float():
            shown = f"{value}"[:_SHOWN]
            as_float = isinstance(value, float) and value.is_integer()
            cure = "; write it without point and exponent" if as_float and expected == _WHOLE else ""
            return f"the number {shown}{cure}"
        case str():
            shown = value[:_SHOWN].encode("utf-8", "replace").decode()
            return f"the text {shown!r}" + ("; write it without quotes" if _reads(value, expected) else "")
        case list() | tuple():
            return "a list"
        case _:
            return "an object"


def _reads(text: str, expected: str) -> bool:
    """Tell whether a text would be right without its quotes."""
    if expected == _TRUTH:
        return text in ("true", "false")
    pattern = {_NUMBER: _DECIMAL, _WHOLE: _DIGITS}.get(expected)
    return pattern is not None and pattern.fullmatch(text) is not None
