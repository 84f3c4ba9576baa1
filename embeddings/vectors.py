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
        chosen = states[words]
        lengths = np.linalg.norm(chosen, axis=1, keepdims=True)
        return cls(np.asarray(ids, dtype=np.int64)[words], np.asarray(chosen / np.maximum(lengths, 1e-9), np.float32))
