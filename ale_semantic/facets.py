"""Facets: from a condition to a mask over the cards, and from cards to counts of each field's values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ale_semantic.errors import UnknownNameError
from ale_semantic.facet_columns import FacetColumn, nearest
from ale_semantic.facet_fields import FacetField, FieldKind
from ale_semantic.facet_index import Mask, Words, all_of, pack, unpack
from ale_semantic.facet_store import FacetCollector, Values, open_columns, write_columns
from ale_semantic.filters import And, Comparison, Condition, Missing, Not, Or, Written, field_name
from ale_semantic.kept import Kept
from ale_semantic.types import Facet, TaskCard

_EXAMPLES = 5  # values shown of a field
_KEPT_BYTES = 16_000_000  # of masks: some hundred at a million cards; and of counts
_MOST_KEPT = 1024


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
    _every: Words
    _masks: Kept[Condition, Words]
    _counted: Kept[tuple[Condition | None, tuple[str, ...]], tuple[Facet, ...]]

    @classmethod
    def of(cls, cards: int, columns: Mapping[str, FacetColumn]) -> FacetTable:
        """Make a table of columns over so many cards."""
        every = pack(np.ones(cards, dtype=bool))
        counts = 8 * sum(len(column.counted) for column in columns.values())
        most_masks, most_counted = (min(_MOST_KEPT, _KEPT_BYTES // max(1, size)) for size in (every.nbytes, counts))
        return cls(cards, columns, every, Kept(most_masks), Kept(most_counted))

    @classmethod
    def from_cards(
        cls, cards: Iterable[TaskCard], *, extra: Mapping[str, Values] | Mapping[FacetField, Values] | None = None
    ) -> FacetTable:
        """Index the fields of the cards.

        Args:
            cards: the cards; row i of every mask is the i-th of them.
            extra: further fields, each multivalued unless it says otherwise: each card's values.

        Raises:
            ValueError: if an extra field has a taken name or not one entry a card.
        """
        given = {
            one if isinstance(one, FacetField) else _extra_field(field_name(one)): values
            for one, values in (extra or {}).items()
        }
        collector = FacetCollector()
        for card in cards:
            collector.add(card)
        return cls.of(collector.cards, collector.columns(given))

    @classmethod
    def open(cls, folder: Path, *, cards: int, extra: Iterable[FacetField] = ()) -> FacetTable:
        """Read a table that `write` wrote.

        Args:
            folder: where it is.
            cards: the number of cards.
            extra: the fields beside the usual ones.

        Raises:
            BundleError: if it can't be read.
        """
        return cls.of(cards, open_columns(folder, cards=cards, extra=extra))

    def write(self, folder: Path) -> None:
        """Write the table into a folder."""
        write_columns(self.columns, folder)

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
        return unpack(self.packed(condition), self.cards)

    def packed(self, condition: Condition | None) -> Words:
        """Return what `mask` does, packed; not to be written to.

        Raises:
            UnknownNameError, FilterError: as `mask` does.
        """
        if condition is None:
            return self._every
        found = self._masks.get(condition)
        if found is None:
            found = self._made(condition)
            found.setflags(write=False)  # all who ask share it
            self._masks.keep(condition, found)
        return found

    def _made(self, condition: Condition) -> Words:
        match condition:
            case Comparison():
                return self._column(condition.field, condition.written).mask(condition)
            case Missing():
                return self._column(condition.field, condition.written).missing()
            case Not(operand):
                return ~self.packed(operand) & self._every
            case And(operands):
                return reduce(np.bitwise_and, map(self.packed, operands))
            case Or(operands):
                return reduce(np.bitwise_or, map(self.packed, operands))

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
        names = self.countable_fields if fields is None else tuple(fields)
        if matching is not None:
            return self._counts(condition, pack(matching), names)
        counted = self._counted.get((condition, names))  # of a filter that stays while queries change
        if counted is None:
            counted = self._counts(condition, self._every, names)
            self._counted.keep((condition, names), counted)
        return counted

    def _counts(self, condition: Condition | None, everywhere: Words, fields: Sequence[str]) -> tuple[Facet, ...]:
        own: dict[str, list[Condition]] = {}
        for part in _parts(condition):
            name = selection_field(part)
            if name is None:
                everywhere = everywhere & self.packed(part)
            else:
                own.setdefault(name, []).append(part)
        masks = {name: all_of(map(self.packed, parts), self._every) for name, parts in own.items()}
        chosen = [self._column(name) for name in fields]
        counts = self._counts_within(all_of(masks.values(), everywhere), chosen)
        facets = []
        for column in chosen:
            name = column.field.name
            if name in own:
                others = (mask for other, mask in masks.items() if other != name)
                found = column.index.counts(all_of(others, everywhere), column.counted)
            else:
                found = counts[name]
            selected = frozenset[int]().union(*map(column.selected, _comparisons(own.get(name, ()))))
            facets.append(column.facet(found, selected))
        return tuple(facets)

    def _counts_within(self, mask: Words, columns: Sequence[FacetColumn]) -> dict[str, NDArray[np.int64]]:
        """Return the counts of each column under one mask, all their codes counted at once."""
        if not columns:
            return {}
        first = min(column.counted.start for column in columns)
        counts = columns[0].index.counts(mask, range(first, max(column.counted.stop for column in columns)))
        return {
            column.field.name: counts[column.counted.start - first : column.counted.stop - first] for column in columns
        }

    def values(self, field: str) -> tuple[str, ...]:
        """Return the values of a field that the catalogue has, in the order of the facet.

        Raises:
            UnknownNameError: if there is no such field.
        """
        return self._column(field).names.values

    def describe(self) -> tuple[FieldSummary, ...]:
        """Return what each field means and holds."""
        return tuple(
            FieldSummary(
                name=name,
                kind=column.field.kind,
                description=column.field.description,
                distinct=column.names.count,
                missing=int(np.bitwise_count(column.missing()).sum()),
                examples=column.names.values[:_EXAMPLES],
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


def _extra_field(name: str) -> FacetField:
    return FacetField(name, FieldKind.MULTI, "Added to the catalogue's own fields.", lambda card: ())
