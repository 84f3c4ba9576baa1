"""One field over all cards: an inverted index from values to cards, and what comparisons with it mean."""

from __future__ import annotations

import heapq
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ale_semantic.errors import FilterError, UnknownNameError
from ale_semantic.facet_fields import FacetField, FieldKind, number_of, seconds_of
from ale_semantic.filters import Comparison, Operator
from ale_semantic.types import Facet, FacetValue
from ale_semantic.vocabulary import fold, settle_spellings

Mask = NDArray[np.bool_]

_NEAREST = 3  # names in a hint
_ORDERINGS: dict[Operator, Callable[[Any, Any], Any]] = {
    Operator.EQUAL: operator.eq,
    Operator.LESS: operator.lt,
    Operator.AT_MOST: operator.le,
    Operator.MORE: operator.gt,
    Operator.AT_LEAST: operator.ge,
}


# No slots: `cached_property` keeps the folded keys, which few fields of a large catalogue ever need.
@dataclass(frozen=True)
class ValueIndex:
    """Distinct values and the pairs (card, value): `rows[i]` has `values[codes[i]]`, no pair twice."""

    values: tuple[str, ...]
    rows: NDArray[np.intp]
    codes: NDArray[np.intp]
    cards: int

    @classmethod
    def of(cls, values: tuple[str, ...], code_of: Mapping[str, int], uses: Sequence[Sequence[str]]) -> ValueIndex:
        """Make an index of what each card uses; `code_of` points each use into `values`."""
        rows = np.repeat(np.arange(len(uses)), np.fromiter(map(len, uses), dtype=np.intp, count=len(uses)))
        codes = np.fromiter(map(code_of.__getitem__, chain.from_iterable(uses)), dtype=np.intp, count=len(rows))
        # One number a pair, so that a card that uses one value twice counts once.
        pairs = np.unique(rows * len(values) + codes)
        return cls(values, *np.divmod(pairs, max(1, len(values))), len(uses))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Return the folded values."""
        return tuple(map(fold, self.values))

    @cached_property
    def codes_by_key(self) -> dict[str, list[int]]:
        """Return the codes of the values that fold to each key."""
        found: dict[str, list[int]] = {}
        for code, key in enumerate(self.keys):
            found.setdefault(key, []).append(code)
        return found

    @cached_property
    def present(self) -> Mask:
        """Return the cards that have a value, shape (cards,)."""
        mask = np.zeros(self.cards, dtype=bool)
        mask[self.rows] = True
        return mask

    def rows_with(self, chosen: Mask) -> Mask:
        """Return the cards, shape (cards,), that have any of the chosen values, shape (values,)."""
        mask = np.zeros(self.cards, dtype=bool)
        mask[self.rows[chosen[self.codes]]] = True
        return mask

    def counts(self, within: Mask) -> NDArray[np.intp]:
        """Return how many of the cards within a mask have each value, shape (values,)."""
        return np.bincount(self.codes[within[self.rows]], minlength=len(self.values))

    def choice(self, codes: Iterable[int]) -> Mask:
        """Return the codes as a mask over the values."""
        chosen = np.zeros(len(self.values), dtype=bool)
        chosen[list(codes)] = True
        return chosen


@dataclass(frozen=True)
class FacetColumn:
    """One field over all cards; `spellings` index further spellings that find just the cards which use them."""

    field: FacetField
    index: ValueIndex
    spellings: ValueIndex

    @classmethod
    def of(
        cls, field: FacetField, values_of: Sequence[Sequence[str]], spellings_of: Sequence[Sequence[str]] | None = None
    ) -> FacetColumn:
        """Index the values and the further spellings of each card."""
        return cls(field, _index(field, values_of), _spelling_index(spellings_of or [()] * len(values_of)))

    def mask(self, comparison: Comparison) -> Mask:
        """Return the cards for which a comparison is true, shape (cards,).

        Raises:
            FilterError: if the field can't be compared so, or a number isn't one.
            UnknownNameError: if a value is neither in the catalogue nor in the field's vocabulary.
        """
        if comparison.operator is Operator.CONTAINS:
            return self._containing(comparison)
        if self.field.kind.is_ordered:
            return self.index.rows_with(self._in_order(comparison))
        if comparison.operator is not Operator.EQUAL:
            raise _fault(comparison, f"{self.field.name} is no number: compare it with =, != or in")
        codes, spelled = self._named(comparison)
        mask = self.index.rows_with(self.index.choice(codes))
        return mask | self.spellings.rows_with(self.spellings.choice(spelled)) if spelled else mask

    def selected(self, comparison: Comparison) -> Mask:
        """Return the values, shape (values,), that a comparison chooses by name; a range chooses none."""
        if comparison.operator is not Operator.EQUAL:
            return self.index.choice(())
        if self.field.kind.is_ordered:
            return self._in_order(comparison)
        return self.index.choice(self._named(comparison)[0])

    def facet(self, within: Mask, selected: Mask) -> Facet:
        """Count the values over the cards within a mask; values that none of them has count 0."""
        counts = self.index.counts(within).tolist()
        rows = zip(self.index.values, counts, selected.tolist(), strict=True)
        missing = int(np.count_nonzero(within & ~self.index.present))
        values = tuple(FacetValue(value, count, chosen) for value, count, chosen in rows)
        return Facet(self.field.name, values, missing, self.field.kind is FieldKind.MULTI)

    @cached_property
    def _numbers(self) -> NDArray[np.float64]:
        return np.array([float(value) for value in self.index.values], dtype=np.float64)

    def _in_order(self, comparison: Comparison) -> Mask:
        read = seconds_of if self.field.kind is FieldKind.DURATION else number_of
        wanted = "seconds or a time such as 90m or 2h" if read is seconds_of else "a number"
        chosen = self.index.choice(())
        for place, value in enumerate(comparison.values):
            number = read(value)
            if number is None:
                raise _fault(comparison, f"{self.field.name} takes {wanted}, not {value!r}", place)
            chosen |= _ORDERINGS[comparison.operator](self._numbers, number)
        return chosen

    def _containing(self, comparison: Comparison) -> Mask:
        if not self.field.kind.is_textual:
            raise _fault(comparison, f"{self.field.name} is no text: 'contains' can't be asked of it")
        part = fold(comparison.values[0])
        if not part:
            raise _fault(comparison, f"{comparison.values[0]!r} holds nothing to look for in {self.field.name}", 0)
        mask = np.zeros(self.index.cards, dtype=bool)
        for index in (self.index, self.spellings):
            mask |= index.rows_with(np.array([part in key for key in index.keys], dtype=bool))
        return mask

    def _named(self, comparison: Comparison) -> tuple[list[int], list[int]]:
        """Return the codes of the values and of the further spellings that a comparison names."""
        codes: list[int] = []
        spelled: list[int] = []
        for place, value in enumerate(comparison.values):
            names = list(dict.fromkeys(self.field.canonical(value))) if self.field.canonical else []
            # A spelling of several values stands for none of them alone: it only finds the cards that spell it so.
            keys = [fold(value), *(fold(name) for name in names if len(names) == 1)]
            found = _first(self.index, keys)
            found_spelled = [] if found else _first(self.spellings, keys)
            if not found and not found_spelled and not set(keys) & set(map(fold, self.field.vocabulary)):
                raise self._unknown(comparison, place, names)
            codes += found
            spelled += found_spelled
        return codes, spelled

    def _unknown(self, comparison: Comparison, place: int, names: Sequence[str]) -> UnknownNameError:
        value, written = comparison.values[place], comparison.written
        valid = dict.fromkeys((*self.field.vocabulary, *self.index.values))
        return UnknownNameError(
            f"{self.field.name} value",
            value,
            [name for name in names if name in valid] or nearest(value, valid),
            expression=written.expression if written else "",
            position=written.values[place] if written else None,
        )


def nearest(name: str, valid: Iterable[str]) -> list[str]:
    """Return the valid names that are most like a given one: those that hold it, then those with most in common."""
    from rapidfuzz import fuzz

    key = fold(name)

    def distance(choice: str) -> tuple[bool, float]:
        folded = fold(choice)
        return key not in folded, -fuzz.ratio(key, folded)

    return heapq.nsmallest(_NEAREST, valid, key=distance)


def _fault(comparison: Comparison, problem: str, place: int | None = None) -> FilterError:
    written = comparison.written
    if written is None:
        return FilterError(problem)
    position = written.field if place is None else written.values[place]
    return FilterError(problem, expression=written.expression, position=position)


def _first(index: ValueIndex, keys: Sequence[str]) -> list[int]:
    return next((index.codes_by_key[key] for key in keys if key in index.codes_by_key), [])


def _index(field: FacetField, values_of: Sequence[Sequence[str]]) -> ValueIndex:
    uses = Counter(chain.from_iterable(values_of))
    shown = {value: value for value in uses} if field.kind is FieldKind.TEXT else _settled(uses)
    totals: Counter[str] = Counter()
    for value, count in uses.items():
        totals[shown[value]] += count
    values = _ordered(field, totals)
    place = {value: code for code, value in enumerate(values)}
    return ValueIndex.of(values, {value: place[shown[value]] for value in uses}, values_of)


def _settled(uses: Counter[str]) -> dict[str, str]:
    """Return the one spelling to show for each value, so that no two values differ by case or hyphens."""
    groups: dict[str, list[str]] = {}
    for value in uses:
        groups.setdefault(fold(value), []).append(value)
    unsettled = [value for group in groups.values() if len(group) > 1 for value in group]
    settled = settle_spellings(value for value in unsettled for _ in range(uses[value]))
    return {value: settled.get(value, value) for value in uses}


def _ordered(field: FacetField, totals: Counter[str]) -> tuple[str, ...]:
    """Order the values: numbers by size, a vocabulary by itself, others by how many cards have them."""
    if field.kind.is_ordered:
        return tuple(sorted(totals, key=float))
    if field.vocabulary:
        return tuple(value for value in field.vocabulary if value in totals)
    return tuple(sorted(totals, key=lambda value: (-totals[value], value.casefold(), value)))


def _spelling_index(spellings_of: Sequence[Sequence[str]]) -> ValueIndex:
    code_of = {spelling: code for code, spelling in enumerate(dict.fromkeys(chain.from_iterable(spellings_of)))}
    return ValueIndex.of(tuple(code_of), code_of, spellings_of)
