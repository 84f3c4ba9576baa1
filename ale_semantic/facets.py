"""Facets: from a condition to a mask over the cards, and from cards to counts of each field's values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ale_semantic.errors import UnknownNameError
from ale_semantic.facet_columns import FacetColumn, Mask, nearest
from ale_semantic.facet_fields import FIELDS, FacetField, FieldKind
from ale_semantic.filters import And, Comparison, Condition, Missing, Not, Or, Written, field_name
from ale_semantic.types import Facet, TaskCard

_EXAMPLES = 5  # values shown of a field
Values = Sequence[Sequence[str]]  # of one field: those of each card


@dataclass(frozen=True, slots=True)
class FieldSummary:
    """One field of a catalogue for help and documentation: its meaning, number of values, and the first of them."""

    name: str
    kind: FieldKind
    description: str
    distinct: int
    missing: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FacetTable:
    """All fields over all cards, in the order of the cards. Safe to share between threads."""

    cards: int
    columns: Mapping[str, FacetColumn]

    @classmethod
    def from_cards(
        cls, cards: Sequence[TaskCard], *, extra: Mapping[str, Values] | Mapping[FacetField, Values] | None = None
    ) -> FacetTable:
        """Index the fields of the cards.

        Args:
            cards: the cards; row i of every mask is the i-th of them.
            extra: further fields, each multivalued unless it says otherwise: each card's values.

        Raises:
            ValueError: if an extra field has a taken name or not one entry a card.
        """
        columns = {field.name: _column(field, cards) for field in FIELDS}
        for given, values_of in (extra or {}).items():
            field = given if isinstance(given, FacetField) else _extra_field(field_name(given))
            name = field.name
            if name in columns:
                raise ValueError(f"the name {name!r} of an extra field is taken")
            if len(values_of) != len(cards):
                raise ValueError(f"the extra field {name!r} has {len(values_of)} entries for {len(cards)} cards")
            columns[name] = FacetColumn.of(field, values_of)
        return cls(len(cards), columns)

    @property
    def fields(self) -> tuple[str, ...]:
        """Return the names of all fields."""
        return tuple(self.columns)

    @property
    def countable_fields(self) -> tuple[str, ...]:
        """Return the names of the fields that are counted unless asked otherwise: all but free text."""
        return tuple(name for name, column in self.columns.items() if column.field.kind is not FieldKind.TEXT)

    def mask(self, condition: Condition | None) -> Mask:
        """Return the cards that fulfil a condition, all without one, shape (cards,).

        Raises:
            UnknownNameError: if it names an unknown field or value; the nearest valid ones are named.
            FilterError: if a field can't be compared as it asks.
        """
        match condition:
            case None:
                return np.ones(self.cards, dtype=bool)
            case Comparison():
                return self._column(condition.field, condition.written).mask(condition)
            case Missing():
                return ~self._column(condition.field, condition.written).index.present
            case Not(operand):
                return ~self.mask(operand)
            case And(operands):
                return reduce(np.logical_and, map(self.mask, operands))
            case Or(operands):
                return reduce(np.logical_or, map(self.mask, operands))

    def counts(
        self,
        *,
        condition: Condition | None = None,
        matching: Mask | None = None,
        fields: Iterable[str] | None = None,
    ) -> tuple[Facet, ...]:
        """Count each field's values over the cards that fulfil the condition, apart from the field's own selection.

        A part of the condition is a field's own selection if it stands at the top, or in an `and` at the top, and
        asks for values of that field alone, without a `not`. Values within a field are alternatives; fields narrow
        each other. All other parts narrow every count.

        Args:
            condition: the filter.
            matching: narrows every count further, say to what a query matches, shape (cards,). It must not
                hold the filter itself, which would narrow a field by its own selection.
            fields: the fields to count; by default `countable_fields`.

        Raises:
            UnknownNameError: if a field or value is unknown.
            FilterError: if a field can't be compared as the condition asks.
        """
        everywhere = np.ones(self.cards, dtype=bool) if matching is None else matching
        own: dict[str, list[Condition]] = {}
        for part in _parts(condition):
            name = selection_field(part)
            if name is None:
                everywhere = everywhere & self.mask(part)
            else:
                own.setdefault(name, []).append(part)
        masks = {name: reduce(np.logical_and, map(self.mask, parts)) for name, parts in own.items()}
        facets = []
        for name in self.countable_fields if fields is None else fields:
            column = self._column(name)
            others = (mask for other, mask in masks.items() if other != column.field.name)
            selected = column.index.choice(())
            for comparison in _comparisons(own.get(column.field.name, ())):
                selected |= column.selected(comparison)
            facets.append(column.facet(reduce(np.logical_and, others, everywhere), selected))
        return tuple(facets)

    def values(self, field: str) -> tuple[str, ...]:
        """Return the values of a field that the catalogue has, in the order of the facet.

        Raises:
            UnknownNameError: if there is no such field.
        """
        return self._column(field).index.values

    def describe(self) -> tuple[FieldSummary, ...]:
        """Return what each field means and holds."""
        return tuple(
            FieldSummary(
                name=name,
                kind=column.field.kind,
                description=column.field.description,
                distinct=len(column.index.values),
                missing=int(np.count_nonzero(~column.index.present)),
                examples=column.index.values[:_EXAMPLES],
            )
            for name, column in self.columns.items()
        )

    def _column(self, name: str, written: Written | None = None) -> FacetColumn:
        column = self.columns.get(name)
        if column is None:
            expression = written.expression if written else ""
            position = written.field if written else None
            near = nearest(name, self.columns)
            raise UnknownNameError("field", name, near, expression=expression, position=position)
        return column


def selection_field(condition: Condition) -> str | None:
    """Return the one field whose values a condition asks for, or None if there are several or a `not`."""
    match condition:
        case Comparison(field) | Missing(field):
            return field
        case Or(operands):
            fields = set(map(selection_field, operands))
            return fields.pop() if len(fields) == 1 else None
        case _:
            return None


def _parts(condition: Condition | None) -> tuple[Condition, ...]:
    if condition is None:
        return ()
    return condition.operands if isinstance(condition, And) else (condition,)


def _comparisons(parts: Iterable[Condition]) -> list[Comparison]:
    found: list[Comparison] = []
    for part in parts:
        if isinstance(part, Comparison):
            found.append(part)
        elif isinstance(part, Or):
            found += _comparisons(part.operands)
    return found


def _column(field: FacetField, cards: Sequence[TaskCard]) -> FacetColumn:
    values_of = [tuple(field.values_of(card)) for card in cards]
    spellings_of = [tuple(field.spellings_of(card)) for card in cards] if field.spellings_of else None
    return FacetColumn.of(field, values_of, spellings_of)


def _extra_field(name: str) -> FacetField:
    return FacetField(name, FieldKind.MULTI, "Added to the catalogue's own fields.", lambda card: ())
