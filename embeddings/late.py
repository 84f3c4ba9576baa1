"""Late interaction: the words of a query against the words of a card, each in its context.

A cheap form of ColBERT's MaxSim (Khattab & Zaharia, SIGIR 2020): all occurrences of one token in one card are
averaged into one vector, and vectors are projected to a few dimensions by the singular vectors of them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .encoder import TokenVectors, Vectors

PROJECTED = 64  # dimensions; on the development queries 64 rank as well as all 384
_ARRAYS = ("starts", "tokens", "vectors", "projection", "idf")
_POOLED = "pooled.npy"


@dataclass(frozen=True, slots=True)
class CardTokens:
    """One card's tokens, each once: ids ascending, shape (t,), and their mean unit vectors, (t, dimension)."""

    ids: NDArray[np.int64]
    vectors: Vectors

    @classmethod
    def pool(cls, occurrences: Sequence[TokenVectors], dimension: int) -> CardTokens:
        """Average all occurrences of each token."""
        if not occurrences or not sum(len(one.ids) for one in occurrences):
            return cls(np.zeros(0, np.int64), np.zeros((0, dimension), np.float32))
        ids, place = np.unique(np.concatenate([one.ids for one in occurrences]), return_inverse=True)
        sums = np.zeros((len(ids), dimension), dtype=np.float32)
        np.add.at(sums, place, np.concatenate([one.vectors for one in occurrences]))
        return cls(ids, _unit(sums))


@dataclass(frozen=True, slots=True)
class LateIndex:
    """The pooled tokens of all cards.

    `starts` is the first row of each card and the end, shape (cards + 1,); `tokens` the token ids, (rows,);
    `vectors` the projected unit vectors, (rows, PROJECTED); `projection` the map from the encoder's space,
    (dimension, PROJECTED); `idf` the weight of each token id, (largest id + 1,).
    """

    starts: NDArray[np.int64]
    tokens: NDArray[np.int32]
    vectors: Vectors
    projection: Vectors
    idf: NDArray[np.float32]

    @classmethod
    def build(cls, cards: Sequence[CardTokens], dimension: int) -> LateIndex:
        """Index the cards in their order."""
        starts = np.cumsum([0, *(len(card.ids) for card in cards)]).astype(np.int64)
        pooled = np.concatenate([card.vectors for card in cards] or [np.zeros((0, dimension), np.float32)])
        tokens = np.concatenate([card.ids for card in cards] or [np.zeros(0, np.int64)])
        projection = _leading_directions(pooled)
        frequency = np.bincount(tokens, minlength=1)
        idf = np.log((len(cards) + 1) / (frequency + 0.5)).astype(np.float32)
        return cls(starts, tokens.astype(np.int32), _unit(pooled @ projection), projection, idf)

    @classmethod
    def open(cls, folder: Path) -> LateIndex:
        """Read an index that `write` wrote."""
        arrays = {name: np.load(folder / f"{name}.npy", allow_pickle=False, mmap_mode="r") for name in _ARRAYS}
        return cls(**arrays)

    def write(self, folder: Path, cards: Iterable[CardTokens]) -> None:
        """Write the index, and the pooled vectors before projection, from which a rebuild takes unchanged cards."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in _ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name), allow_pickle=False)
        pooled = [card.vectors for card in cards if len(card.ids)]
        dimension = self.projection.shape[0]
        whole = np.concatenate(pooled) if pooled else np.zeros((0, dimension), np.float32)
        np.save(folder / _POOLED, whole.astype(np.float16), allow_pickle=False)

    def pooled(self, folder: Path) -> list[CardTokens]:
        """Return the tokens of each card as `write` stored them, in half precision."""
        vectors = np.load(folder / _POOLED, allow_pickle=False, mmap_mode="r")
        return [
            CardTokens(np.asarray(self.tokens[start:end], np.int64), np.asarray(vectors[start:end], np.float32))
            for start, end in zip(self.starts[:-1], self.starts[1:], strict=True)
        ]

    def scores(self, query: TokenVectors) -> NDArray[np.float32]:
        """Return, for each card, the mean over the query's tokens, weighted by idf, of the nearest card token's cosine.

        Shape (cards,); zeros where the query has no word token.
        """
        cards = len(self.starts) - 1
        if not len(query.ids) or not len(self.vectors):
            return np.zeros(cards, dtype=np.float32)
        unseen = float(np.log((cards + 1) / 0.5))
        known = query.ids < len(self.idf)
        weights = np.where(known, self.idf[np.where(known, query.ids, 0)], unseen)
        similar = _unit(query.vectors @ self.projection) @ self.vectors.T
        filled = np.flatnonzero(np.diff(self.starts))  # reduceat can't take a card without tokens
        nearest = np.maximum.reduceat(similar, self.starts[filled], axis=1)
        scores = np.zeros(cards, dtype=np.float32)
        scores[filled] = (weights @ nearest) / max(float(weights.sum()), 1e-9)
        return scores


def _leading_directions(vectors: Vectors) -> Vectors:
    """Return the leading right singular vectors of the rows, shape (dimension, PROJECTED or fewer)."""
    values, directions = np.linalg.eigh(vectors.T.astype(np.float64) @ vectors)
    leading = directions[:, np.argsort(-values, kind="stable")[:PROJECTED]]
    # A direction and its opposite are as good: the largest entry is made positive, so that builds agree.
    largest = leading[np.abs(leading).argmax(axis=0), np.arange(leading.shape[1])]
    return np.asarray(leading * np.where(largest < 0, -1.0, 1.0), dtype=np.float32)


def _unit(rows: Vectors) -> Vectors:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9), dtype=np.float32)
