"""Vectors of texts and of the words in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class TokenVectors:
    """The words of one text as the model sees them in their context.

    `ids` are the token ids, shape (words,); `vectors` their unit rows, shape (words, dimension).
    """

    ids: NDArray[np.int64]
    vectors: Vectors

    @classmethod
    def of(cls, ids: Sequence[int], states: Vectors, words: NDArray[np.int64]) -> TokenVectors:
        """Keep the rows of the words out of the model's last hidden states, shape (tokens, dimension)."""
        return cls(np.asarray(ids, dtype=np.int64)[words], unit(states[words]))


def unit(rows: Vectors) -> Vectors:
    """Return rows divided by their lengths."""
    lengths = np.sqrt(np.add.reduce(rows * rows, axis=-1, keepdims=True))  # `norm` takes twice as long for few rows
    return np.asarray(rows / np.maximum(lengths, 1e-9), dtype=np.float32)


def mean_vectors(vectors: Vectors, starts: NDArray[np.int64]) -> Vectors:
    """Return the unit mean vector of each card's passages, shape (cards, dimension).

    Args:
        vectors: one row a passage, ordered by card; every card has at least one.
        starts: the first passage of each card and, last, the number of passages, shape (cards + 1,).
    """
    return unit(np.add.reduceat(vectors, starts[:-1], axis=0))
