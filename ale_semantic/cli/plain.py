"""Commands whose plain values are read without pydantic, which takes as long to load as an answer takes to find."""

from __future__ import annotations

import os
from collections.abc import Callable
from enum import Enum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin

from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from typer.core import TyperArgument, TyperOption


class PlainCommand(TyperCommand):
    """A command that reads text, whole numbers, paths, choices and flags itself.

    What isn't plain, what isn't right and what is missing goes Typer's usual way, so its messages are the usual ones.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, each of which reads plain values itself."""
        return [_reading_plainly(parameter) for parameter in super().get_params(ctx)]


class PlainGroup(TyperGroup):
    """A group of commands whose own values are read as a `PlainCommand` reads them."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, each of which reads plain values itself."""
        return [_reading_plainly(parameter) for parameter in super().get_params(ctx)]


def _reading_plainly(parameter: Any) -> Any:
    usual = parameter.process_value
    if not isinstance(usual, partial):
        parameter.process_value = partial(_process, parameter, usual)
    return parameter


def _process(parameter: TyperArgument | TyperOption, usual: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    """Return the value of a parameter: read here if it is plain, else as usual."""
    try:
        read = _read(parameter, value)
    except _NotPlainError:
        return usual(context, value)
    return read if parameter.callback is None else parameter.callback(context, parameter, read)


class _NotPlainError(Exception):
    """A value that Typer must read."""


def _read(parameter: TyperArgument | TyperOption, value: Any) -> Any:
    described = getattr(parameter, "type_descriptor", None)
    if described is None:  # an older release of Typer, without pydantic
        raise _NotPlainError
    several = parameter.multiple or parameter.nargs != 1
    if value is None:
        if parameter.required:
            raise _NotPlainError
        return () if several else None
    if parameter.min is not None or parameter.max is not None:
        raise _NotPlainError
    if not several:
        return _plain(described.annotation, value)
    if get_origin(described.annotation) is not list or isinstance(value, str) or not value:
        raise _NotPlainError
    (each,) = get_args(described.annotation)
    return [_plain(each, one) for one in value]


def _plain(wanted: Any, value: Any) -> Any:
    """Return a value as the type that is wanted.

    Raises:
        _NotPlainError: if it takes more than a glance to tell what it is.
    """
    if type(value) is wanted and (wanted in (bool, int, float, str) or issubclass(wanted, Enum)):  # most defaults
        return value
    if isinstance(value, str):
        if wanted is int and len(value) < 19 and value.isascii() and value.isdigit():  # int() refuses very long ones
            return int(value)
        if isinstance(wanted, type) and issubclass(wanted, Enum):
            found = {str(choice.value): choice for choice in wanted}
            if value in found:
                return found[value]
        if wanted is Path and (os.access(value, os.R_OK) or not os.path.lexists(value)):
            return Path(value)
    raise _NotPlainError
