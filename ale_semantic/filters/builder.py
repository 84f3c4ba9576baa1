"""Conditions written in Python: `(field("domain") == "legal") & (field("inputs") >= 3)`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from ale_semantic.filters.conditions import And, Comparison, Condition, Missing, Not, Operator, Or

Value: TypeAlias = str | bool | int | float


@dataclass(frozen=True, slots=True, eq=False)
class FieldReference:
    """A field to compare; each comparison returns a condition."""

    name: str
    __hash__: ClassVar[None]  # type: ignore[assignment]

    def __eq__(self, value: Value) -> Comparison:  # type: ignore[override]
        """Ask for this value."""
        return self._compare(Operator.EQUAL, value)

    def __ne__(self, value: Value) -> Not:  # type: ignore[override]
        """Ask for any other value, or none."""
        return Not(self._compare(Operator.EQUAL, value))

    def __lt__(self, value: Value) -> Comparison:
        """Ask for smaller numbers."""
        return self._compare(Operator.LESS, value)

    def __le__(self, value: Value) -> Comparison:
        """Ask for numbers up to this one."""
        return self._compare(Operator.AT_MOST, value)

    def __gt__(self, value: Value) -> Comparison:
        """Ask for greater numbers."""
        return self._compare(Operator.MORE, value)

    def __ge__(self, value: Value) -> Comparison:
        """Ask for numbers from this one on."""
        return self._compare(Operator.AT_LEAST, value)

    def is_in(self, *values: Value) -> Comparison:
        """Ask for any of these values."""
        return self._compare(Operator.EQUAL, *values)

    def contains(self, text: str) -> Comparison:
        """Ask for values that hold this text, whatever its case."""
        return self._compare(Operator.CONTAINS, text)

    def is_missing(self) -> Missing:
        """Ask for the cards that have no value of the field."""
        return Missing(self.name)

    def is_present(self) -> Not:
        """Ask for the cards that have a value of the field."""
        return Not(Missing(self.name))

    def _compare(self, operator: Operator, *values: Value) -> Comparison:
        return Comparison(self.name, operator, tuple(map(_text, values)))


def field(name: str) -> FieldReference:
    """Name a field to compare: `field("inputs") >= 3`, `field("software").is_in("Blender", "Rhino 8")`."""
    return FieldReference(name)


def all_of(conditions: Iterable[Condition | None]) -> Condition | None:
    """Join conditions with `and`; None stands for no condition, in the arguments and as the answer."""
    given = tuple(condition for condition in conditions if condition is not None)
    return And(given) if len(given) > 1 else next(iter(given), None)


def any_of(conditions: Iterable[Condition]) -> Condition | None:
    """Join conditions with `or`; None if there is none."""
    given = tuple(conditions)
    return Or(given) if len(given) > 1 else next(iter(given), None)


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
