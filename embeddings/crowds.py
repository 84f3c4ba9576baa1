"""Many cards kept in a small form, to be taken together as a crowd again and again, with other weights each time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .encoder import Vectors
from .late import spans
from .likeness import CardViews, Crowd, Likeness
from .space import VectorSpace

_KEPT = 128  # directions of the features; of generated cards they keep 92 % of the energy, and lend nearly the same
_TAKEN, _TAKEN_PIECES = 8192, 2048  # of more cards, for features and for word pieces
_BLOCK = 1024  # cards that are read together; the first such estimate the directions


@dataclass(frozen=True, slots=True)
class Multitude:
    """Cards by their rows, with features projected to a few `directions`, shape (cards, directions).

    `starts` is the first word piece of each card and the end, shape (cards + 1,); `tokens` and `values` are the pieces
    and what each is worth, of so many as are `known`.
    """

    rows: NDArray[np.int64]
    features: Vectors
    directions: Vectors
    starts: NDArray[np.int64]
    tokens: NDArray[np.int32]
    values: Vectors
    known: int
    domains: NDArray[np.int32]

    @classmethod
    def of(
        cls, space: VectorSpace, rows: NDArray[np.int64], domains: NDArray[np.int32], likeness: Likeness
    ) -> Multitude:
        """Read some cards, at least one.

        Args:
            space: their passages, vectors and tokens.
            rows: theirs, ascending.
            domains: the code of each one's domain.
            likeness: gives their features.
        """
        blocks = np.array_split(np.arange(len(rows)), -(-len(rows) // _BLOCK))
        first = likeness.features(CardViews.of(space, rows[_spread(len(rows))], domains[_spread(len(rows))]))
        directions = leading_directions(first, _KEPT)
        features, pieces = [], []
        for block in blocks:
            views = CardViews.of(space, rows[block], domains[block])
            features.append(likeness.features(views) @ directions)
            pieces.append(views.pieces)
        counts = np.concatenate([np.bincount(one.holders, minlength=one.cards) for one in pieces])
        return cls(
            rows,
            np.concatenate(features),
            directions,
            np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            np.concatenate([one.tokens for one in pieces], dtype=np.int32, casting="same_kind"),
            np.concatenate([one.values for one in pieces]),
            pieces[0].known,
            domains,
        )

    def crowd(self, weights: Vectors) -> Crowd:
        """Take the cards together, each weighted, shape (cards,).

        Of many those of great weight and a share of the others stand for all.
        """
        places, counted = _drawn(weights, _TAKEN)
        holders, holding = _drawn(weights, _TAKEN_PIECES)
        own, starts = spans(self.starts, holders)
        worth = self.values[own] * np.repeat(holding, np.diff(starts))
        return Crowd(
            self.directions @ (counted @ self.features[places]),
            np.bincount(self.tokens[own], worth, minlength=self.known).astype(np.float32),
            np.bincount(self.domains + 1, weights).astype(np.float32),  # -1 is no domain
            float(weights.sum()),
        )


def _drawn(weights: Vectors, count: int) -> tuple[NDArray[np.int64], Vectors]:
    """Return the places of at most so many that stand for all, and their weights, at even steps of the sum."""
    if len(weights) <= count:
        return np.arange(len(weights)), weights
    sums = np.cumsum(weights, dtype=np.float64)
    step = sums[-1] / count
    found = np.searchsorted(sums, (np.arange(count) + 0.5) * step)
    places, times = np.unique(np.minimum(found, len(weights) - 1), return_counts=True)
    return places, (times * step).astype(np.float32)


def leading_directions(rows: Vectors, count: int) -> Vectors:
    """Return the leading right singular vectors of rows, shape (dimension, count or fewer)."""
    few = len(rows) < rows.shape[1]
    values, found = np.linalg.eigh(rows @ rows.T if few else rows.T @ rows)
    found = found[:, values > 1e-6 * max(float(values[-1]), 1e-9)][:, -count:]
    if few:
        found = rows.T @ found
        found = found / np.linalg.norm(found, axis=0)
    return np.asarray(found, dtype=np.float32)


def _spread(count: int) -> NDArray[np.int64]:
    """Return places all over so many, at most a block of them."""
    return np.unique(np.linspace(0, count - 1, min(count, _BLOCK)).astype(np.int64))
