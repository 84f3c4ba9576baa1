"""How related some cards are to others, where a matrix of all by all would be too large.

The same five views as in `relatedness`, made of the cards' own vectors and tokens when they are asked for. They are
centred and standardised by those of a fixed sample of cards. In place of the cards' terms stand their word pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ale_semantic.types import Field

from .late import LateIndex, spans
from .relatedness import Matrix
from .space import PassageTable, VectorSpace
from .vectors import Vectors, unit

_HEAD_WORTH, _STEPS_WORTH = 3.0, 1.0  # of a word piece in title, summary and software, and in the steps


@dataclass(frozen=True, slots=True)
class CardPieces:
    """The word pieces of some cards, each worth its rarity and the place where it stands, of unit length a card.

    `holders` are the cards, ascending, `tokens` the pieces and `values` what each is worth there, shape (n,); there
    are so many `cards`, and so many pieces are `known`.
    """

    holders: NDArray[np.int64]
    tokens: NDArray[np.int64]
    values: NDArray[np.float32]
    cards: int
    known: int

    @classmethod
    def of(cls, index: LateIndex, cards: NDArray[np.int64]) -> CardPieces:
        """Weigh the pieces of some cards of an index."""
        count, known = len(cards), max(1, len(index.idf))
        rows, starts = spans(index.starts, cards)
        own = index.tokens[rows]
        worth = np.where(index.discount[rows] > 0, _STEPS_WORTH, _HEAD_WORTH) * index.idf[own]
        owners = np.repeat(np.arange(count), np.diff(starts))
        pieces, place = np.unique(owners * np.int64(known) + own, return_inverse=True)
        summed = np.bincount(place, weights=worth, minlength=len(pieces))
        holders, tokens = np.divmod(pieces, known)
        lengths = np.sqrt(np.bincount(holders, weights=summed**2, minlength=count))
        values = (summed / np.maximum(lengths[holders], 1e-9)).astype(np.float32)
        return cls(holders, tokens, values, count, known)

    def part(self, places: NDArray[np.int64]) -> CardPieces:
        """Return the pieces of the cards at some places, ascending."""
        rows, starts = spans(np.searchsorted(self.holders, np.arange(self.cards + 1)).astype(np.int64), places)
        holders = np.repeat(np.arange(len(places)), np.diff(starts))
        return CardPieces(holders, self.tokens[rows], self.values[rows], len(places), self.known)

    def sum(self, weights: Vectors) -> Vectors:
        """Return what each known piece is worth to the cards together, each weighted, shape (known,)."""
        worth = self.values * weights[self.holders]
        return np.bincount(self.tokens, worth, minlength=self.known).astype(np.float32)

    def cosines(self, others: CardPieces) -> Matrix:
        """Return the cosine of each card with each of the others."""
        known = np.unique(self.tokens)  # pieces that the ones don't have add nothing to a product
        return np.asarray(self._matrix(known) @ others._matrix(known).T, dtype=np.float32)

    def _matrix(self, known: NDArray[np.int64]) -> Matrix:
        """Return the weights of some pieces in each card, shape (cards, known)."""
        weights = np.zeros((self.cards, len(known)), dtype=np.float32)
        if len(known):
            columns = np.minimum(np.searchsorted(known, self.tokens), len(known) - 1)
            found = known[columns] == self.tokens
            weights[self.holders[found], columns[found]] = self.values[found]
        return weights


@dataclass(frozen=True, slots=True)
class CardViews:
    """What relates cards: their rows in the catalogue, unit vectors of three fields, domain codes and word pieces."""

    rows: NDArray[np.int64]
    overview: Vectors
    steps: Vectors
    subdomain: Vectors
    domains: NDArray[np.int32]
    pieces: CardPieces

    @classmethod
    def of(cls, space: VectorSpace, cards: NDArray[np.int64], domains: NDArray[np.int32]) -> CardViews:
        """Make the views of some cards of a space.

        Args:
            space: the cards' passages, vectors and tokens.
            cards: their rows, ascending.
            domains: the code of each one's domain.
        """
        rows, starts = spans(space.starts, cards)
        passages = PassageTable(space.passages.columns[rows])
        owners = np.repeat(np.arange(len(cards)), np.diff(starts))

        def means(field: Field, *, sentences: bool) -> Vectors:
            chosen = passages.rows_of(field, sentences=sentences)
            return _means(np.take(space.backend.vectors, rows[chosen], axis=0), owners[chosen], len(cards))

        overview, steps = means(Field.OVERVIEW, sentences=False), means(Field.MUST_DO, sentences=True)
        missing = ~steps.any(axis=1)
        steps[missing] = overview[missing]
        subdomain = means(Field.SUBDOMAIN, sentences=False)
        return cls(cards, overview, steps, subdomain, domains, CardPieces.of(space.late, cards))

    def part(self, places: NDArray[np.int64]) -> CardViews:
        """Return the views of the cards at some places."""
        return CardViews(
            self.rows[places],
            self.overview[places],
            self.steps[places],
            self.subdomain[places],
            self.domains[places],
            self.pieces.part(places),
        )


@dataclass(frozen=True, slots=True)
class Crowd:
    """Many cards of different weights as one: sums of features, of domains (by code) and of word pieces."""

    features: Vectors
    pieces: Vectors
    domains: Vectors
    weight: float

    @classmethod
    def joined(cls, crowds: Sequence[Crowd]) -> Crowd:
        """Take several together."""
        codes = max(len(crowd.domains) for crowd in crowds)
        return cls(
            np.sum([crowd.features for crowd in crowds], axis=0),
            np.sum([crowd.pieces for crowd in crowds], axis=0),
            np.sum([np.pad(crowd.domains, (0, codes - len(crowd.domains))) for crowd in crowds], axis=0),
            sum(crowd.weight for crowd in crowds),
        )


@dataclass(frozen=True, slots=True)
class Likeness:
    """Centres, means and deviations of a sample's views, by which all cards are compared."""

    overview: Vectors
    steps: Vectors
    means: NDArray[np.float32]
    deviations: NDArray[np.float32]
    deviation: float

    @classmethod
    def measured(cls, sample: CardViews) -> Likeness:
        """Measure a sample of at least one card."""
        plain = cls(
            sample.overview.mean(axis=0),
            sample.steps.mean(axis=0),
            np.zeros(5, np.float32),
            np.ones(5, np.float32),
            1.0,
        )
        views = plain._views(sample, sample)
        means = np.array([view.mean() for view in views], dtype=np.float32)
        spreads = np.array([view.std() for view in views], dtype=np.float32)
        deviations = np.where(spreads > 1e-9, spreads, np.inf).astype(np.float32)  # an equal view tells nothing
        scaled = cls(plain.overview, plain.steps, means, deviations, 1.0)
        total = scaled._total(sample, sample)
        return cls(plain.overview, plain.steps, means, deviations, max(float(total.std()), 1e-9))

    def between(self, ones: CardViews, others: CardViews) -> Matrix:
        """Return how related each of the ones is to each of the others, shape (ones, others); 0 to itself."""
        total = self._total(ones, others) / np.float32(self.deviation)
        total[ones.rows[:, None] == others.rows[None, :]] = 0.0
        return np.asarray(total, dtype=np.float32)

    def crowd(self, cards: CardViews, weights: Vectors) -> Crowd:
        """Take cards together.

        Args:
            cards: the cards.
            weights: how much each counts, shape (cards,).
        """
        codes = cards.domains + 1  # -1 is no domain
        return Crowd(
            weights @ self.features(cards),
            cards.pieces.sum(weights),
            np.bincount(codes, weights, minlength=int(codes.max(initial=0)) + 1).astype(np.float32),
            float(weights.sum()),
        )

    def features(self, cards: CardViews) -> Vectors:
        """Return vectors whose dot products are how related cards are in overview, steps and subdomain, less the mean.

        Shape (cards, 3 times the dimension).
        """
        scales = 1 / np.sqrt(self.deviations)
        views = (unit(cards.overview - self.overview), unit(cards.steps - self.steps), cards.subdomain)
        return np.concatenate([view * scales[place] for view, place in zip(views, (0, 1, 3), strict=True)], axis=1)

    def to_crowd(self, crowd: Crowd, others: CardViews) -> Vectors:
        """Return how related a crowd is to other cards: the weighted sum over its own, shape (others,).

        It takes as long as one card does. The mean of the roots of piece cosines is taken for the root of their mean.
        """
        codes = np.minimum(others.domains + 1, len(crowd.domains))
        pieces = others.pieces.values * crowd.pieces[others.pieces.tokens]
        cosines = np.bincount(others.pieces.holders, pieces, minlength=others.pieces.cards)
        total = self.features(others) @ crowd.features
        total += np.sqrt(np.clip(cosines * crowd.weight, 0, None)) / self.deviations[2]
        total += np.append(crowd.domains, 0.0)[codes] / self.deviations[4]
        total -= crowd.weight * float((self.means / self.deviations).sum())
        return np.asarray(total / np.float32(self.deviation), dtype=np.float32)

    def _total(self, ones: CardViews, others: CardViews) -> Matrix:
        total = np.zeros((len(ones.rows), len(others.rows)), dtype=np.float32)
        for view, mean, deviation in zip(self._views(ones, others), self.means, self.deviations, strict=True):
            total += (view - mean) / deviation
        return total

    def _views(self, ones: CardViews, others: CardViews) -> tuple[Matrix, ...]:
        return (
            unit(ones.overview - self.overview) @ unit(others.overview - self.overview).T,
            unit(ones.steps - self.steps) @ unit(others.steps - self.steps).T,
            np.sqrt(np.clip(ones.pieces.cosines(others.pieces), 0, None)),
            np.clip(ones.subdomain @ others.subdomain.T, 0, None),
            (ones.domains[:, None] == others.domains[None, :]).astype(np.float32),
        )


def _means(vectors: Vectors, owners: NDArray[np.int64], cards: int) -> Vectors:
    """Return the direction of each card's mean vector, shape (cards, dimension), zero without one; owners ascend."""
    means = np.zeros((cards, vectors.shape[1]), dtype=np.float32)
    first = np.flatnonzero(np.diff(owners, prepend=-1))
    if len(first) == len(vectors):  # one a card, of unit length
        means[owners] = vectors
    else:
        means[owners[first]] = unit(np.add.reduceat(vectors, first, axis=0))
    return means
