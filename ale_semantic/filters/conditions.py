"""The conditions of a filter: immutable, comparable, and printable as text that parses back to the same condition.

A condition is true or false for each card, never unknown. A card without a value of a field fulfils no comparison
with it, so it fulfils the negation of each: `os != windows` is `not os = windows` and keeps the cards without an
operating system. `os is missing` and `os is present` ask for the gap itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from dataclasses import field as attribute
from enum import StrEnum
from typing import NoReturn, TypeAlias, cast

from ale_semantic.errors import FilterError
from ale_semantic.filters.words import MAX_DEPTH, is_bare_word, quoted


class Operator(StrEnum):
    """How a comparison relates a field to its values; `=` with several values means any of them."""

    EQUAL = "="
    LESS = "<"
    AT_MOST = "<="
    MORE = ">"
    AT_LEAST = ">="
    CONTAINS = "contains"


@dataclass(frozen=True, slots=True)
class Written:
    """Where a condition stands in an expression: 0-based offsets of its field and of each of its values."""

    expression: str
    field: int
    values: tuple[int, ...] = ()


class _Operators:
    """What all conditions can do: combine with `&`, `|` and `~`, and print themselves."""

    __slots__ = ()

    def __and__(self, other: Condition) -> And:
        """Join with another condition: both must be true."""
        return And((cast("Condition", self), other))

    def __or__(self, other: Condition) -> Or:
        """Join with another condition: one must be true."""
        return Or((cast("Condition", self), other))

    def __invert__(self) -> Not:
        """Return the opposite."""
        return Not(cast("Condition", self))

    def __bool__(self) -> NoReturn:
        """Refuse: Python's own `and`, `or` and `not` would silently drop one side."""
        raise TypeError("a condition is not true or false by itself: combine conditions with &, | and ~")

    def __str__(self) -> str:
        """Return the condition in the filter language."""
        return self.to_expression()

    def to_expression(self) -> str:
        """Return the condition in the filter language; `parse` reads it back to an equal condition."""
        return _print(cast("Condition", self))


@dataclass(frozen=True, slots=True)
class Comparison(_Operators):
    """A field compared with one value, or with several of which one must be equal."""

    field: str
    operator: Operator
    values: tuple[str, ...]
    written: Written | None = attribute(default=None, compare=False, repr=False)
    depth: int = attribute(default=1, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Bring the field's name into its usual form and check the number of values."""
        object.__setattr__(self, "field", field_name(self.field))
        if not self.values:
            raise FilterError(f"the list of values for {self.field!r} is empty: name at least one")
        if len(self.values) > 1 and self.operator is not Operator.EQUAL:
            raise FilterError(f"{self.operator} takes one value, not {len(self.values)}")


@dataclass(frozen=True, slots=True)
class Missing(_Operators):
    """True for the cards that have no value of a field."""

    field: str
    written: Written | None = attribute(default=None, compare=False, repr=False)
    depth: int = attribute(default=1, init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Bring the field's name into its usual form."""
        object.__setattr__(self, "field", field_name(self.field))


@dataclass(frozen=True, slots=True)
class Not(_Operators):
    """True where another condition is false."""

    operand: Condition
    depth: int = attribute(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Keep the depth bounded."""
        object.__setattr__(self, "depth", _depth((self.operand,)))


@dataclass(frozen=True, slots=True)
class And(_Operators):
    """True where all of two or more conditions are; an `And` within an `And` is merged into it."""

    operands: tuple[Condition, ...]
    depth: int = attribute(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Merge nested conjunctions and keep the depth bounded."""
        merged = tuple(_merged(And, self.operands))
        object.__setattr__(self, "operands", merged)
        object.__setattr__(self, "depth", _depth(merged))


@dataclass(frozen=True, slots=True)
class Or(_Operators):
    """True where at least one of two or more conditions is; an `Or` within an `Or` is merged into it."""

    operands: tuple[Condition, ...]
    depth: int = attribute(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Merge nested disjunctions and keep the depth bounded."""
        merged = tuple(_merged(Or, self.operands))
        object.__setattr__(self, "operands", merged)
        object.__setattr__(self, "depth", _depth(merged))


Condition: TypeAlias = And | Or | Not | Comparison | Missing


def field_name(name: str) -> str:
    """Return a field's name in its usual form: `Input-Format` is `input_format`.

    Raises:
        FilterError: if it can't be the name of a field.
    """
    usual = name.casefold().replace("-", "_")
    if not is_bare_word(usual):
        raise FilterError(f"{name!r} can't be the name of a field")
    return usual


def _merged(kind: type[And] | type[Or], operands: tuple[Condition, ...]) -> Iterator[Condition]:
    if len(operands) < 2:
        raise FilterError(f"{kind.__name__} joins two or more conditions, not {len(operands)}")
    for operand in operands:
        if isinstance(operand, kind):
            yield from operand.operands
        elif isinstance(operand, Condition):
            yield operand
        else:
            raise FilterError(f"{operand!r} is not a condition")


def _depth(operands: tuple[Condition, ...]) -> int:
    if not all(isinstance(operand, Condition) for operand in operands):
        raise FilterError(f"{operands[0]!r} is not a condition")
    depth = 1 + max(operand.depth for operand in operands)
    if depth > MAX_DEPTH:
        raise FilterError(f"the filter is nested more than {MAX_DEPTH} deep: simplify it")
    return depth


def _print(condition: Condition) -> str:
    match condition:
        case Comparison(field, operator, values):
            return f"{field} {_values(operator, values, '=', 'in')}"
        case Missing(field):
            return f"{field} is missing"
        case Not(Comparison(field, Operator.EQUAL, values)):
            return f"{field} {_values(Operator.EQUAL, values, '!=', 'not in')}"
        case Not(Missing(field)):
            return f"{field} is present"
        case Not(operand):
            return f"not {_inner(operand)}"
        case And(operands):
            return " and ".join(map(_inner, operands))
        case Or(operands):
            return " or ".join(operand.to_expression() for operand in operands)


def _inner(condition: Condition) -> str:
    """Print what stands beside a stronger binding word; `and` binds its parts stronger than `or`."""
    text = _print(condition)
    return f"({text})" if isinstance(condition, (And, Or)) else text


def _values(operator: Operator, values: tuple[str, ...], equal: str, one_of: str) -> str:
    if operator is not Operator.EQUAL:
        return f"{operator} {quoted(values[0])}"
    if len(values) == 1:
        return f"{equal} {quoted(values[0])}"
    return f"{one_of} ({', '.join(map(quoted, values))})"
