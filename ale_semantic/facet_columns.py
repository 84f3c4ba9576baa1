"""One field over all cards: its values, what comparisons with it mean, and its counts as a facet."""

from __future__ import annotations

import heapq
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ale_semantic.errors import FilterError, UnknownNameError
from ale_semantic.facet_fields import FacetField, FieldKind, number_of, seconds_of
from ale_semantic.facet_index import FacetIndex, Words
from ale_semantic.filters import Comparison, Operator
from ale_semantic.types import Facet, FacetValue
from ale_semantic.vocabulary_rules import fold

_NEAREST = 3  # names in a hint
_ORDERINGS: dict[Operator, Callable[[Any, Any], Any]] = {
    Operator.EQUAL: operator.eq,
    Operator.LESS: operator.lt,
    Operator.AT_MOST: operator.le,
    Operator.MORE: operator.gt,
    Operator.AT_LEAST: operator.ge,
}


# No slots: `cached_property` keeps what few fields of a large catalogue ever need.
@dataclass(frozen=True)
class ValueNames:
    """The distinct values of a field, numbered from `first`, read from wherever they are when they are needed."""

    first: int
    count: int
    read: Callable[[], tuple[tuple[str, ...], tuple[str, ...]]]

    @classmethod
    def of(cls, first: int, values: Sequence[str]) -> ValueNames:
        """Number given values."""
        return cls(first, len(values), lambda: (tuple(values), tuple(map(fold, values))))

    @cached_property
    def _both(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        return self.read()

    @property
    def values(self) -> tuple[str, ...]:
        """Return the values."""
        return self._both[0]

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the folded values."""
        return self._both[1]

    @property
    def codes(self) -> range:
        """Return the codes of the values."""
        return range(self.first, self.first + self.count)

    @cached_property
    def codes_by_key(self) -> dict[str, list[int]]:
        """Return the codes of the values that fold to each key."""
        found: dict[str, list[int]] = {}
        for code, key in enumerate(self.keys, start=self.first):
            found.setdefault(key, []).append(code)
        return found


class FacetValues(Sequence[FacetValue]):
    """The values of a facet with their counts, each made when it is looked at. Behaves as a tuple of them does."""

    __slots__ = ("_counts", "_names", "_selected")

    def __init__(self, names: ValueNames, counts: NDArray[np.int64], selected: frozenset[int]) -> None:
        """Keep the names, the count of each, and the places of those that a filter selects."""
        self._names = names
        self._counts = counts
        self._selected = selected

    def __len__(self) -> int:
        """Return the number of values."""
        return len(self._counts)

    @overload
    def __getitem__(self, place: int) -> FacetValue: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[FacetValue, ...]: ...
    def __getitem__(self, place: int | slice) -> FacetValue | tuple[FacetValue, ...]:
        """Return a value, or those of a slice."""
        if isinstance(place, slice):
            return tuple(self[row] for row in range(*place.indices(len(self))))
        row = range(len(self))[place]
        return FacetValue(self._names.values[row], int(self._counts[row]), row in self._selected)

    def __iter__(self) -> Iterator[FacetValue]:
        """Iterate over the values."""
        rows = zip(self._names.values, self._counts.tolist(), strict=True)
        return (FacetValue(value, count, row in self._selected) for row, (value, count) in enumerate(rows))

    def __eq__(self, other: object) -> bool:
        """Compare with another sequence of values."""
        return tuple(self) == tuple(other) if isinstance(other, tuple | FacetValues) else NotImplemented

    def __hash__(self) -> int:
        """Return the hash of the tuple that this behaves as."""
        return hash(tuple(self))

    def __repr__(self) -> str:
        """Return what the tuple would look like."""
        return repr(tuple(self))


@dataclass(frozen=True)
class FacetColumn:
    """One field over all cards.

    Attributes:
        field: the field.
        names: its values; the code after the last one stands for having none.
        spellings: further spellings that find just the cards which use them.
        index: which cards have which value or spelling.
    """

    field: FacetField
    names: ValueNames
    spellings: ValueNames
    index: FacetIndex

    @property
    def counted(self) -> range:
        """Return the codes of the values and, after them, of having none."""
        return range(self.names.first, self.names.first + self.names.count + 1)

    def missing(self) -> Words:
        """Return the cards that have no value, packed."""
        return self.index.with_any([self.counted[-1]])

    def pairs(self) -> list[tuple[int, str]]:
        """Return each card's row with each of its values, ordered by card."""
        rows, codes = self.index.pairs(self.names.codes)
        values = self.names.values
        return [(row, values[code - self.names.first]) for row, code in zip(rows.tolist(), codes.tolist(), strict=True)]

    def mask(self, comparison: Comparison) -> Words:
        """Return the cards for which a comparison is true, packed.

        Raises:
            FilterError: if the field can't be compared so, or a number isn't one.
            UnknownNameError: if a value is neither in the catalogue nor in the field's vocabulary.
        """
        if comparison.operator is Operator.CONTAINS:
            return self.index.with_any(self._containing(comparison))
        if self.field.kind.is_ordered:
            return self.index.with_any(self._in_order(comparison))
        if comparison.operator is not Operator.EQUAL:
            raise _fault(comparison, f"{self.field.name} is no number: compare it with =, != or in")
        codes, spelled = self._named(comparison)
        return self.index.with_any([*codes, *spelled])

    def selected(self, comparison: Comparison) -> frozenset[int]:
        """Return the places of the values that a comparison chooses by name; a range chooses none."""
        if comparison.operator is not Operator.EQUAL:
            return frozenset()
        codes = self._in_order(comparison) if self.field.kind.is_ordered else self._named(comparison)[0]
        return frozenset(int(code) - self.names.first for code in codes)

    def facet(self, counts: NDArray[np.int64], selected: frozenset[int]) -> Facet:
        """Return the facet of counts of the `counted` codes; values that no card has count 0."""
        values = FacetValues(self.names, counts[:-1], selected)
        return Facet(self.field.name, values, int(counts[-1]), self.field.kind is FieldKind.MULTI)

    @cached_property
    def _numbers(self) -> NDArray[np.float64]:
        return np.array([float(value) for value in self.names.values], dtype=np.float64)

    def _in_order(self, comparison: Comparison) -> NDArray[np.int64]:
        """Return the codes of the values that compare as asked."""
        read = seconds_of if self.field.kind is FieldKind.DURATION else number_of
        wanted = "seconds or a time such as 90m or 2h" if read is seconds_of else "a number"
        chosen = np.zeros(self.names.count, dtype=bool)
        for place, value in enumerate(comparison.values):
            number = read(value)
            if number is None:
                raise _fault(comparison, f"{self.field.name} takes {wanted}, not {value!r}", place)
            chosen |= _ORDERINGS[comparison.operator](self._numbers, number)
        return np.flatnonzero(chosen) + self.names.first

    def _containing(self, comparison: Comparison) -> list[int]:
        """Return the codes of the values and spellings that hold a text."""
        if not self.field.kind.is_textual:
            raise _fault(comparison, f"{self.field.name} is no text: 'contains' can't be asked of it")
        part = fold(comparison.values[0])
        if not part:
            raise _fault(comparison, f"{comparison.values[0]!r} holds nothing to look for in {self.field.name}", 0)
        both = (self.names, self.spellings)
        return [code for names in both for code, key in enumerate(names.keys, start=names.first) if part in key]

    def _named(self, comparison: Comparison) -> tuple[list[int], list[int]]:
        """Return the codes of the values and of the further spellings that a comparison names."""
        codes: list[int] = []
        spelled: list[int] = []
        for place, value in enumerate(comparison.values):
            names = list(dict.fromkeys(self.field.canonical(value))) if self.field.canonical else []
            # A spelling of several values stands for none of them alone: it only finds the cards that spell it so.
            keys = [fold(value), *(fold(name) for name in names if len(names) == 1)]
            found = _first(self.names, keys)
            found_spelled = [] if found else _first(self.spellings, keys)
            if not found and not found_spelled and not set(keys) & set(map(fold, self.field.vocabulary)):
                raise self._unknown(comparison, place, names)
            codes += found
            spelled += found_spelled
        return codes, spelled

    def _unknown(self, comparison: Comparison, place: int, names: Sequence[str]) -> UnknownNameError:
        value, written = comparison.values[place], comparison.written
        valid = dict.fromkeys((*self.field.vocabulary, *self.names.values))
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


def _first(names: ValueNames, keys: Sequence[str]) -> list[int]:
    return next((names.codes_by_key[key] for key in keys if key in names.codes_by_key), [])
