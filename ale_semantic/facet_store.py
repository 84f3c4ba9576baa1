"""Making the columns of all fields from cards, in one pass, and keeping them on disk."""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ale_semantic.errors import BundleError
from ale_semantic.facet_columns import FacetColumn, ValueNames
from ale_semantic.facet_fields import FIELDS, FacetField, FieldKind
from ale_semantic.facet_index import FacetIndex
from ale_semantic.types import TaskCard
from ale_semantic.vocabulary_rules import fold

Values = Sequence[Sequence[str]]  # of one field: those of each card
_FIELDS = "fields.json"
_VALUES = "values-{}.json"


@dataclass(slots=True)
class _Uses:
    """What the cards say in one field: pairs of a card and a value, values numbered as they come."""

    rows: array[int] = field(default_factory=lambda: array("q"))
    codes: array[int] = field(default_factory=lambda: array("q"))
    known: dict[str, int] = field(default_factory=dict)
    none: array[int] = field(default_factory=lambda: array("q"))

    def add(self, row: int, values: Iterable[str]) -> None:
        used = False
        for value in values:
            self.rows.append(row)
            self.codes.append(self.known.setdefault(value, len(self.known)))
            used = True
        if not used:
            self.none.append(row)

    def counted(self) -> Counter[str]:
        """Return how often each value is used, once for each time that a card names it."""
        sizes = np.bincount(np.array(self.codes, dtype=np.int64), minlength=len(self.known)).tolist()
        return Counter(dict(zip(self.known, sizes, strict=True)))


@dataclass(slots=True)
class _Pairs:
    """Pairs of all fields under their final codes."""

    rows: list[NDArray[np.int64]] = field(default_factory=list)
    codes: list[NDArray[np.int64]] = field(default_factory=list)
    values: int = 0

    def add(self, uses: _Uses, order: Sequence[int], distinct: int, *, none: bool) -> int:
        """Take the pairs of a field and return its first code.

        Args:
            uses: the pairs.
            order: for each of the field's own numbers, the place of its value.
            distinct: the number of places.
            none: also take the cards without a value, under the code after the last.
        """
        first = self.values
        places = np.array(order, dtype=np.int64)
        self.rows.append(np.array(uses.rows, dtype=np.int64))
        self.codes.append(first + places[np.array(uses.codes, dtype=np.int64)])
        self.values += distinct
        if none:
            self.rows.append(np.array(uses.none, dtype=np.int64))
            self.codes.append(np.full(len(uses.none), self.values, dtype=np.int64))
            self.values += 1
        return first


class FacetCollector:
    """Takes cards one by one, keeps their values as numbers, and makes the columns of all fields."""

    def __init__(self) -> None:
        """Begin without cards."""
        self.cards = 0
        self._named = {own: _Uses() for own in FIELDS}
        self._spelled = [(own, own.spellings_of, _Uses()) for own in FIELDS if own.spellings_of is not None]

    def add(self, card: TaskCard) -> None:
        """Take the next card."""
        for own, uses in self._named.items():
            uses.add(self.cards, own.values_of(card))
        for _, spellings_of, uses in self._spelled:
            uses.add(self.cards, spellings_of(card))
        self.cards += 1

    def columns(self, extra: Mapping[FacetField, Values]) -> dict[str, FacetColumn]:
        """Return the columns of all fields.

        Args:
            extra: further fields with each card's values.

        Raises:
            ValueError: if an extra field has a taken name or not one entry a card.
        """
        named = dict(self._named)
        for own, values_of in extra.items():
            if own.name in {known.name for known in named}:
                raise ValueError(f"the name {own.name!r} of an extra field is taken")
            if len(values_of) != self.cards:
                raise ValueError(f"the extra field {own.name!r} has {len(values_of)} entries for {self.cards} cards")
            uses = named[own] = _Uses()
            for row, values in enumerate(values_of):
                uses.add(row, values)
        return self._made(named)

    def _made(self, named: Mapping[FacetField, _Uses]) -> dict[str, FacetColumn]:
        pairs = _Pairs()
        names = {}
        for own in sorted(named, key=lambda one: one.kind is FieldKind.TEXT):  # what is counted is one range of codes
            uses = named[own]
            values, places = _ordered(own, uses.counted())
            first = pairs.add(uses, [places[value] for value in uses.known], len(values), none=True)
            names[own] = ValueNames.of(first, values)
        spellings = {
            own: ValueNames.of(pairs.add(uses, range(len(uses.known)), len(uses.known), none=False), tuple(uses.known))
            for own, _, uses in self._spelled
        }
        rows, codes = (np.concatenate(parts) for parts in (pairs.rows, pairs.codes))
        index = FacetIndex.of(rows, codes, cards=self.cards, values=pairs.values)
        nothing = ValueNames.of(0, ())
        return {own.name: FacetColumn(own, names[own], spellings.get(own, nothing), index) for own in named}


def write_columns(columns: Mapping[str, FacetColumn], folder: Path) -> None:
    """Write columns into a folder: the pairs as arrays, the values as JSON, those of a text in a file of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    next(iter(columns.values())).index.write(folder)
    fields = []
    for name, column in columns.items():
        stored = [names.first for names in (column.names, column.spellings)]
        sizes = [names.count for names in (column.names, column.spellings)]
        values = [[names.values, names.keys] for names in (column.names, column.spellings)]
        own_file = column.field.kind is FieldKind.TEXT
        if own_file:
            _dump(folder / _VALUES.format(name), values)
        fields.append({"name": name, "first": stored, "count": sizes, "values": None if own_file else values})
    _dump(folder / _FIELDS, fields)


def open_columns(folder: Path, *, cards: int, extra: Iterable[FacetField]) -> dict[str, FacetColumn]:
    """Read columns that `write_columns` wrote.

    Args:
        folder: where they are.
        cards: the number of cards.
        extra: the fields beside the usual ones.

    Raises:
        BundleError: if they can't be read, or are of other fields.
    """
    known = {own.name: own for own in (*FIELDS, *extra)}
    try:
        stored = json.loads((folder / _FIELDS).read_text(encoding="utf-8"))
        index = FacetIndex.open(folder, cards=cards)
        return {entry["name"]: _column(known[entry["name"]], entry, index, folder) for entry in stored}
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise BundleError(f"{folder}: the facets can't be read: {fault}") from None


def _column(own: FacetField, entry: dict[str, Any], index: FacetIndex, folder: Path) -> FacetColumn:
    names, spellings = (
        ValueNames(entry["first"][part], entry["count"][part], partial(_names, entry, part, folder)) for part in (0, 1)
    )
    return FacetColumn(own, names, spellings, index)


def _names(entry: dict[str, Any], part: int, folder: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the values of a column, or its spellings, and how each of them folds."""
    stored = entry["values"]
    if stored is None:
        path = folder / _VALUES.format(entry["name"])
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as fault:
            raise BundleError(f"{path}: the values can't be read: {fault}") from None
    values, keys = stored[part]
    return tuple(values), tuple(keys)


def _dump(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False) + "\n", encoding="utf-8")


def _ordered(own: FacetField, uses: Counter[str]) -> tuple[tuple[str, ...], dict[str, int]]:
    """Return the values to show in their order, and the place of each value that cards use."""
    shown = {value: value for value in uses} if own.kind is FieldKind.TEXT else _settled(uses)
    totals: Counter[str] = Counter()
    for value, count in uses.items():
        totals[shown[value]] += count
    values = tuple(_in_order(own, totals))
    places = {value: place for place, value in enumerate(values)}
    return values, {value: places[shown[value]] for value in uses}


def _settled(uses: Counter[str]) -> dict[str, str]:
    """Return the one spelling to show for each value, so that no two values differ by case or hyphens."""
    from ale_semantic.vocabulary import settle_spellings

    groups: dict[str, list[str]] = {}
    for value in uses:
        groups.setdefault(fold(value), []).append(value)
    unsettled = [value for group in groups.values() if len(group) > 1 for value in group]
    settled = settle_spellings(value for value in unsettled for _ in range(uses[value]))
    return {value: settled.get(value, value) for value in uses}


def _in_order(own: FacetField, totals: Counter[str]) -> Iterator[str]:
    """Yield the values: numbers by size, a vocabulary by itself, others by how many cards have them."""
    if own.kind.is_ordered:
        yield from sorted(totals, key=float)
    elif own.vocabulary:
        yield from (value for value in own.vocabulary if value in totals)
    else:
        yield from sorted(totals, key=lambda value: (-totals[value], value.casefold(), value))
