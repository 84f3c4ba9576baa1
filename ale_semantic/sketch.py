"""What is known of every card of a large catalogue without a look at its passages, and what follows from that.

A few numbers a card say nearly what its title, summary and subdomain say; skills and BM25 are known of all cards
anyway. From these the scores of all cards can be guessed, well enough to choose candidates, and, with a sample whose
scores are computed, to tell the mean and the deviation of a score over all cards (regression estimates of survey
sampling: Särndal, Swensson & Wretman, 1992).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ale_semantic.components import Component, View
from ale_semantic.embeddings.crowds import leading_directions
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.fusion import Scores
from ale_semantic.products import dots

DIRECTIONS = 64  # of a view; of overviews they keep 86 % of the energy, and their cosines correlate by 0.98
MOST_SKETCHED = 250_000  # cards; their sketch takes 0.5 kB each, and its reading some 12 us
# A word that one of a great many cards holds would outweigh all else. Among 157 cards, for which the weights were
# fitted, a component lies at most so many deviations above its mean.
MOST_DEVIATIONS = 12.5
EQUAL = 1e-9  # a component of a lower deviation tells nothing
# How a card's own score is guessed: passages are as near as the overview, and half of late interaction is in words.
GUESSED: Mapping[Component, tuple[Component, float]] = {
    Component.PASSAGES: (Component.OVERVIEW, 1.0),
    Component.LATE: (Component.WORDS, 0.5),
}

_MOST_TELLING = 10_000  # vectors that tell the directions

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Projected:
    """One view's different vectors along a few directions, and which one each card has.

    `directions` has shape (dimension, d), `along` (different, d), `places` (cards,).
    """

    directions: Scores
    along: Scores
    places: NDArray[np.int32]

    @classmethod
    def of(cls, space: VectorSpace, view: View, cards: int) -> Projected:
        """Read the first passage of each card's view, which some card has; a card without one has the mean vector."""
        first = np.flatnonzero(np.diff(view.cards, prepend=-1))
        vectors: Scores = np.take(space.backend.vectors, view.rows[first], axis=0)
        # Of equal vectors the products with any other are equal; a subdomain's name is that of many cards.
        keys = dots(vectors, np.random.default_rng(0).standard_normal(vectors.shape[1:], dtype=np.float32))
        _, chosen, held = np.unique(keys, return_index=True, return_inverse=True)
        mean = vectors.mean(axis=0, keepdims=True)
        directions = leading_directions(vectors[:: -(-len(vectors) // _MOST_TELLING)], DIRECTIONS)
        places = np.full(cards, len(chosen), dtype=np.int32)
        places[view.cards[first]] = held
        return cls(directions, np.concatenate([vectors[chosen], mean]) @ directions, places)

    def cosines(self, vector: Scores) -> Scores:
        """Return nearly the cosine of a vector with each card's, shape (cards,)."""
        return np.asarray((self.along @ (vector @ self.directions))[self.places], dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Sketch:
    """The views of all cards, projected."""

    views: Mapping[Component, Projected]

    @classmethod
    def of(cls, space: VectorSpace, views: Mapping[Component, View]) -> Sketch:
        """Read the first passage of each card's views but those that no card has; none of too many cards to keep."""
        cards = len(space.starts) - 1
        if cards > MOST_SKETCHED:
            return cls({})
        return cls({name: Projected.of(space, view, cards) for name, view in views.items() if len(view.rows)})

    def cosines(self, vector: Scores) -> dict[Component, Scores]:
        """Return nearly the cosine of a vector with each view of each card, shape (cards,)."""
        return {name: view.cosines(vector) for name, view in self.views.items()}


@dataclass(frozen=True, slots=True)
class Known:
    """Some components of all cards, nearly, standardised and cut, shape (components, cards), with an equal 1 before."""

    names: tuple[Component, ...]
    columns: Scores

    @classmethod
    def of(cls, components: Mapping[Component, Scores], cards: int) -> Known:
        """Standardise the components of so many cards, shape (cards,) each; there may be none."""
        columns = np.ones((1 + len(components), cards), dtype=np.float32)
        for column, values in zip(columns[1:], components.values(), strict=True):
            np.subtract(values, values.mean(), out=column)
            spread = float(np.sqrt(column @ column / len(column)))
            column *= 1 / spread if spread >= EQUAL else 0.0
            np.minimum(column, MOST_DEVIATIONS, out=column)
        return cls(tuple(components), columns)

    def guess(self, weights: Mapping[Component, float]) -> Scores:
        """Return a guess of the own score of each card, shape (cards,), by which candidates are chosen."""
        shares = {name: weights[name] for name in self.names}
        for name, (instead, share) in GUESSED.items():
            if instead in shares:
                shares[instead] += share * weights[name]
        return np.array([0.0, *shares.values()], dtype=np.float32) @ self.columns


@dataclass(frozen=True, slots=True)
class Estimate:
    """Mean and deviation over all cards, how a value follows from what is known, and the variance of what doesn't."""

    mean: float
    deviation: float
    slopes: Scores
    noise: float


@dataclass(frozen=True, slots=True)
class Strata:
    """Cards of which everything is computed, and a sample for the others, of which some things are known.

    `inverse` gives slopes for values of the sample's cards at the places `others`; `means` and `products` are those
    of what is known of the others, of which there are `left`.
    """

    base: Rows
    others: Rows
    left: int
    design: Scores
    inverse: NDArray[np.float64]
    means: NDArray[np.float64]
    products: NDArray[np.float64]

    @classmethod
    def of(cls, known: Known, base: Rows, sample: Rows) -> Strata:
        """Divide the cards.

        Args:
            known: what is known of all cards.
            base: rows of the cards of which everything is computed.
            sample: rows of cards that were drawn from all.
        """
        others = np.flatnonzero(~np.isin(sample, base))
        if not len(others):  # a small catalogue nearly all of which is computed
            others = np.arange(len(sample))
        left = known.columns.shape[1] - len(base)
        own = known.columns[:, base].astype(np.float64)
        every = (known.columns @ known.columns.T).astype(np.float64)
        design = known.columns[:, sample[others]].T
        products = (every - own @ own.T) / max(1, left)
        inverse = np.linalg.pinv(design.astype(np.float64))
        return cls(base, others, left, design, inverse, products[0], products)

    def estimate(self, base: Scores, sample: Scores) -> Estimate:
        """Estimate the mean and the deviation of a value over all cards.

        Args:
            base: the value of each computed card.
            sample: that of each card of the sample.
        """
        values = sample[self.others].astype(np.float64)
        slopes = self.inverse @ values
        count, used = self.design.shape
        # What a line of so many slopes leaves is a little less than it will leave of other cards.
        unseen = 1 - min(1.0, count / max(1, self.left))
        noise = float(((values - self.design @ slopes) ** 2).mean()) * (1 + unseen * used / max(1, count - used))
        first = float(base.sum(dtype=np.float64)) + self.left * float(self.means @ slopes)
        square = float((base.astype(np.float64) ** 2).sum()) + self.left * (
            float(slopes @ self.products @ slopes) + noise
        )
        cards = len(base) + self.left
        mean = first / cards
        spread = float(np.sqrt(max(square / cards - mean**2, 0.0)))
        return Estimate(mean, spread if spread >= 1e-6 else float("inf"), slopes.astype(np.float32), noise)
