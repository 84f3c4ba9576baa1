"""BM25 weights (in Lucene's form) of terms in cards, from counts held as plain arrays.

The same numbers as the library bm25s gives, which a test holds; that takes all cards' words as lists in memory.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

K1, B = 1.5, 0.75  # the usual ones
_BLOCK = 1 << 22  # occurrences that are sorted at once


class Occurrences:
    """How often each term stands in each card: 8 bytes for a term in a card, however often."""

    def __init__(self) -> None:
        """Begin without cards."""
        self.terms, self.counts = array("i"), array("i")
        self.sizes, self.lengths = array("q"), array("q")

    def __len__(self) -> int:
        """Return the number of cards."""
        return len(self.sizes)

    def add(self, counts: Mapping[int, int]) -> None:
        """Add the next card's terms with their counts."""
        self.terms.extend(counts)
        self.counts.extend(counts.values())
        self.sizes.append(len(counts))
        self.lengths.append(sum(counts.values()))


@dataclass(frozen=True, slots=True)
class Postings:
    """The weights of term t are `data[indptr[t]:indptr[t + 1]]`, in the cards `indices[indptr[t]:indptr[t + 1]]`."""

    data: NDArray[np.float32]
    indices: NDArray[np.int32]
    indptr: NDArray[np.int64]


def postings(found: Occurrences, terms: int) -> Postings:
    """Weigh each term in each card, and order the weights by term, then by card."""
    numbers, counts = np.frombuffer(found.terms, np.intc), np.frombuffer(found.counts, np.intc)
    sizes, lengths = np.frombuffer(found.sizes, np.int64), np.frombuffer(found.lengths, np.int64)
    cards = len(sizes)
    frequency = np.bincount(numbers, minlength=terms)
    idf = np.log(1 + (cards - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
    norms = K1 * (1 - B + B * lengths / max(float(lengths.mean()) if cards else 0.0, 1e-9))
    ends = np.cumsum(sizes)
    made = Postings(
        np.empty(len(numbers), np.float32),
        np.empty(len(numbers), np.int32),
        np.concatenate([[0], np.cumsum(frequency)]).astype(np.int64),
    )
    place = made.indptr[:-1].copy()
    for first in range(0, len(numbers), _BLOCK):
        own = numbers[first : first + _BLOCK]
        order = np.argsort(own, kind="stable")
        own = own[order]
        at = place[own] + np.arange(len(own)) - np.searchsorted(own, own)
        rows = np.searchsorted(ends, first + order, side="right")
        often = counts[first + order].astype(np.float32)
        made.data[at] = idf[own] * (often / (norms[rows] + often))
        made.indices[at] = rows
        place += np.bincount(own, minlength=terms)
    return made
