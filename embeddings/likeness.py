"""How related some cards are to others, where a matrix of all by all would be too large.

The same five views as in `relatedness`, made of the cards' own vectors and tokens when they are asked for. They are
centred and standardised by those of a fixed sample of cards. In place of the cards' terms stand their word pieces.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ale_semantic.types import Field

from .encoder import Vectors
from .late import LateIndex, spans
from .relatedness import Matrix
from .space import VectorSpace

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
    def of(cls, index: LateIndex) -> CardPieces:
        """Weigh the pieces of all cards of an index."""
        cards, known = len(index.starts) - 1, max(1, len(index.idf))
        worth = np.where(index.discount > 0, _STEPS_WORTH, _HEAD_WORTH) * index.idf[index.tokens]
        owners = np.repeat(np.arange(cards), np.diff(index.starts))
        pieces, place = np.unique(owners * np.int64(known) + index.tokens, return_inverse=True)
        summed = np.bincount(place, weights=worth, minlength=len(pieces))
        holders, tokens = np.divmod(pieces, known)
        lengths = np.sqrt(np.bincount(holders, weights=summed**2, minlength=cards))
        values = (summed / np.maximum(lengths[holders], 1e-9)).astype(np.float32)
        return cls(holders, tokens, values, cards, known)

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
    def of(cls, space: VectorSpace, rows: NDArray[np.int64], domains: NDArray[np.int32]) -> CardViews:
        """Make the views of all cards of a space.

        Args:
            space: the cards' passages, vectors and tokens.
            rows: the row of each card in the catalogue.
            domains: the code of each card's domain.
        """
        overview = _field_vectors(space, Field.OVERVIEW, sentences=False)
        steps = _field_vectors(space, Field.MUST_DO, sentences=True)
        missing = ~steps.any(axis=1)
        steps[missing] = overview[missing]
        subdomain = _field_vectors(space, Field.SUBDOMAIN, sentences=False)
        return cls(rows, overview, steps, subdomain, domains, CardPieces.of(space.late))

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
    """Many cards of different weights as one: sums of centred views, of domains (by code) and of word pieces."""

    overview: Vectors
    steps: Vectors
    pieces: Vectors
    subdomain: Vectors
    domains: Vectors
    weight: float


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
            weights @ _unit(cards.overview - self.overview),
            weights @ _unit(cards.steps - self.steps),
            cards.pieces.sum(weights),
            weights @ cards.subdomain,
            np.bincount(codes, weights, minlength=int(codes.max(initial=0)) + 1).astype(np.float32),
            float(weights.sum()),
        )

    def to_crowd(self, crowd: Crowd, others: CardViews) -> Vectors:
        """Return how related a crowd is to other cards: the weighted sum over its own, shape (others,).

        It takes as long as one card does. The mean of the roots of piece cosines is taken for the root of their mean.
        """
        codes = np.minimum(others.domains + 1, len(crowd.domains))
        pieces = others.pieces.values * crowd.pieces[others.pieces.tokens]
        cosines = np.bincount(others.pieces.holders, pieces, minlength=others.pieces.cards)
        views = (
            _unit(others.overview - self.overview) @ crowd.overview,
            _unit(others.steps - self.steps) @ crowd.steps,
            np.sqrt(np.clip(cosines * crowd.weight, 0, None)),
            others.subdomain @ crowd.subdomain,
            np.append(crowd.domains, 0.0)[codes],
        )
        total = np.zeros(len(others.rows), dtype=np.float32)
        for view, mean, deviation in zip(views, self.means, self.deviations, strict=True):
            total += ((view - crowd.weight * mean) / deviation).astype(np.float32)
        return total / np.float32(self.deviation)

    def _total(self, ones: CardViews, others: CardViews) -> Matrix:
        total = np.zeros((len(ones.rows), len(others.rows)), dtype=np.float32)
        for view, mean, deviation in zip(self._views(ones, others), self.means, self.deviations, strict=True):
            total += (view - mean) / deviation
        return total

    def _views(self, ones: CardViews, others: CardViews) -> tuple[Matrix, ...]:
        return (
            _unit(ones.overview - self.overview) @ _unit(others.overview - self.overview).T,
            _unit(ones.steps - self.steps) @ _unit(others.steps - self.steps).T,
            np.sqrt(np.clip(ones.pieces.cosines(others.pieces), 0, None)),
            np.clip(ones.subdomain @ others.subdomain.T, 0, None),
            (ones.domains[:, None] == others.domains[None, :]).astype(np.float32),
        )


def _field_vectors(space: VectorSpace, field: Field, *, sentences: bool) -> Vectors:
    """Return what `relatedness.field_vectors` does, several times faster: the passages stand card by card."""
    rows = space.passages.rows_of(field, sentences=sentences)
    means = np.zeros((len(space.starts) - 1, space.identity.dimension), dtype=np.float32)
    if len(rows):
        owners = space.passages.cards[rows]  # ascending
        first = np.flatnonzero(np.diff(owners, prepend=-1))
        owners = owners[first]
        means[owners] = _unit(np.add.reduceat(space.backend.vectors[rows], first, axis=0))
    return means


def _unit(rows: Vectors) -> Vectors:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9), dtype=np.float32)
