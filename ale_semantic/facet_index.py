"""Which cards have which value: bitmaps of frequent values, lists of the others, counted without a loop.

The values of all fields are numbered through; a value's number is its code. A mask over the cards is packed into
64-bit words: the cards of a frequent value that pass are counted by `and` and popcount, those of the other values
by looking each of their few cards up.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ale_semantic.arrays import mapped

Mask = NDArray[np.bool_]
Words = NDArray[np.uint64]  # a mask over the cards, packed: bit i of word w is card 64 w + i
_BITS = 64
_ARRAYS = ("frequent", "bits", "starts", "rows")
_FEW = 16  # codes whose lists are joined one by one
_BLOCK = 12_500  # words: 100 kB, which the allocator takes from what it has instead of fresh pages from the system


@dataclass(frozen=True, slots=True)
class FacetIndex:
    """The pairs (card, value) of all fields, no pair twice.

    Attributes:
        cards: the number of cards.
        frequent: codes that at least every 64th card has, ascending, shape (f,).
        bits: the cards of each of them, shape (f, words).
        starts: where the list of each code begins, and the end, shape (codes + 1,); empty for a frequent code.
        rows: the lists, code by code, each ascending.
    """

    cards: int
    frequent: NDArray[np.int32]
    bits: Words
    starts: NDArray[np.int64]
    rows: NDArray[np.int32]

    @classmethod
    def of(cls, rows: NDArray[np.int64], codes: NDArray[np.int64], *, cards: int, values: int) -> FacetIndex:
        """Index pairs, in any order and as often as they may be there.

        Args:
            rows: the card of each pair.
            codes: the value of each pair.
            cards: the number of cards.
            values: the number of codes.
        """
        # One number a pair, so that a card that uses one value twice counts once.
        codes, rows = np.divmod(np.unique(codes * max(cards, 1) + rows), max(cards, 1))
        sizes = np.bincount(codes, minlength=values)
        often = sizes * _BITS >= max(cards, 1)
        frequent = np.flatnonzero(often).astype(np.int32)
        bits = np.zeros((len(frequent), _words(cards)), dtype=np.uint64)
        ends = np.cumsum(sizes)
        for place, code in enumerate(frequent):
            bits[place] = pack(_spread(rows[ends[code] - sizes[code] : ends[code]], cards))
        listed = ~often[codes]
        starts = np.concatenate([[0], np.cumsum(np.where(often, 0, sizes))]).astype(np.int64)
        return cls(cards, frequent, bits, starts, rows[listed].astype(np.int32))

    @classmethod
    def open(cls, folder: Path, *, cards: int) -> FacetIndex:
        """Read an index that `write` wrote.

        Raises:
            OSError, ValueError: if it can't be read, or doesn't fit so many cards.
        """
        found = cls(cards, *(mapped(folder / f"{name}.npy") for name in _ARRAYS))
        if found.bits.shape != (len(found.frequent), _words(cards)) or int(found.starts[-1]) != len(found.rows):
            raise ValueError(f"its arrays don't fit {cards} cards")
        return found

    def write(self, folder: Path) -> None:
        """Write the index into a folder."""
        for name in _ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name), allow_pickle=False)

    def with_any(self, codes: Sequence[int] | NDArray[np.int64]) -> Words:
        """Return the cards that have any of some values."""
        chosen = np.asarray(codes, dtype=np.int64)
        places = np.searchsorted(self.frequent, chosen)
        places = places[places < len(self.frequent)]
        places = places[np.isin(self.frequent[places], chosen)]
        found: Words = np.bitwise_or.reduce(self.bits[places], axis=0, initial=np.uint64(0))
        rows = self._listed(chosen)
        return np.bitwise_or(found, pack(_spread(rows, self.cards))) if len(rows) else found

    def counts(self, within: Words, codes: range) -> NDArray[np.int64]:
        """Return how many of the cards within a mask have each of some values, shape (codes,)."""
        counts = np.zeros(len(codes), dtype=np.int64)
        begin, end = int(self.starts[codes.start]), int(self.starts[codes.stop])
        if begin < end:
            starts = self.starts[codes.start : codes.stop + 1] - begin
            filled = np.flatnonzero(np.diff(starts))  # reduceat can't take an empty list
            passing = unpack(within, self.cards)[self.rows[begin:end]]
            counts[filled] = np.add.reduceat(passing, starts[filled], dtype=np.int64)
        first, last = np.searchsorted(self.frequent, (codes.start, codes.stop)).tolist()
        step = max(1, _BLOCK // max(1, self.bits.shape[1]))
        for place in range(first, last, step):
            block = slice(place, min(place + step, last))
            shared = np.bitwise_count(self.bits[block] & within)
            counts[self.frequent[block] - codes.start] = shared.sum(axis=1, dtype=np.int64)
        return counts

    def pairs(self, codes: range) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the pairs of some values as cards and codes, ordered by card."""
        found = [(self._cards_of(code), code) for code in codes]
        rows = np.concatenate([np.zeros(0, np.int64), *(cards for cards, _ in found)])
        values = np.repeat(np.array([code for _, code in found], np.int64), [len(cards) for cards, _ in found])
        order = np.argsort(rows, kind="stable")
        return rows[order], values[order]

    def _cards_of(self, code: int) -> NDArray[np.int64]:
        return np.flatnonzero(unpack(self.with_any([code]), self.cards))

    def _listed(self, codes: NDArray[np.int64]) -> NDArray[np.int32]:
        """Return the cards in the lists of some values, in any order."""
        if len(codes) <= _FEW:
            lists: list[NDArray[np.int32]] = [self.rows[self.starts[code] : self.starts[code + 1]] for code in codes]
            return np.concatenate(lists) if lists else self.rows[:0]
        first, last = int(codes.min()), int(codes.max()) + 1
        chosen = np.zeros(last - first, dtype=bool)
        chosen[codes - first] = True
        sizes = np.diff(self.starts[first : last + 1])
        listed: NDArray[np.int32] = self.rows[self.starts[first] : self.starts[last]][np.repeat(chosen, sizes)]
        return listed


def pack(mask: Mask) -> Words:
    """Pack a mask of shape (cards,) into words."""
    packed = np.zeros(_words(len(mask)) * (_BITS // 8), dtype=np.uint8)
    packed[: (len(mask) + 7) // 8] = np.packbits(mask, bitorder="little")
    return packed.view(np.uint64)


def unpack(words: Words, cards: int) -> Mask:
    """Return packed words as a mask of shape (cards,)."""
    return np.unpackbits(words.view(np.uint8), count=cards, bitorder="little").view(np.bool_)


def all_of(masks: Iterable[Words], start: Words) -> Words:
    """Return the cards that are in a mask and in all others."""
    for mask in masks:
        start = start & mask
    return start


def _words(cards: int) -> int:
    return (cards + _BITS - 1) // _BITS


def _spread(rows: NDArray[np.integer], cards: int) -> Mask:
    mask = np.zeros(cards, dtype=bool)
    mask[rows] = True
    return mask
