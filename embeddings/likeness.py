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
from .late import LateIndex
from .relatedness import Matrix
from .space import VectorSpace

_HEAD_WORTH, _STEPS_WORTH = 3.0, 1.0  # of a word piece in title, summary and software, and in the steps


@dataclass(frozen=True, slots=True)
class CardViews:
    """What relates cards: their rows in the catalogue, unit vectors of three fields, domain codes and word pieces."""

    rows: NDArray[np.int64]
    overview: Vectors
    steps: Vectors
    subdomain: Vectors
    domains: NDArray[np.int32]
    late: LateIndex

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
        return cls(rows, overview, steps, subdomain, domains, space.late)

    def part(self, places: NDArray[np.int64]) -> CardViews:
        """Return the views of the cards at some places."""
        return CardViews(
            self.rows[places],
            self.overview[places],
            self.steps[places],
            self.subdomain[places],
            self.domains[places],
            self.late.subset(places),
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

    def _total(self, ones: CardViews, others: CardViews) -> Matrix:
        total = np.zeros((len(ones.rows), len(others.rows)), dtype=np.float32)
        for view, mean, deviation in zip(self._views(ones, others), self.means, self.deviations, strict=True):
            total += (view - mean) / deviation
        return total

    def _views(self, ones: CardViews, others: CardViews) -> tuple[Matrix, ...]:
        return (
            _unit(ones.overview - self.overview) @ _unit(others.overview - self.overview).T,
            _unit(ones.steps - self.steps) @ _unit(others.steps - self.steps).T,
            np.sqrt(np.clip(_piece_cosines(ones.late, others.late), 0, None)),
            np.clip(ones.subdomain @ others.subdomain.T, 0, None),
            (ones.domains[:, None] == others.domains[None, :]).astype(np.float32),
        )


def _field_vectors(space: VectorSpace, field: Field, *, sentences: bool) -> Vectors:
    """Return what `relatedness.field_vectors` does, several times faster: the passages stand card by card."""
    rows = space.passages.rows_of(field, sentences=sentences)
    means = np.zeros((len(space.starts) - 1, space.identity.dimension), dtype=np.float32)
    if len(rows):
        owners, first = np.unique(space.passages.cards[rows], return_index=True)
        means[owners] = _unit(np.add.reduceat(space.backend.vectors[rows], first, axis=0))
    return means


def _piece_cosines(ones: LateIndex, others: LateIndex) -> Matrix:
    """Return the cosines of the cards' word pieces, each worth its rarity and the place where it stands."""
    known = np.unique(ones.tokens)  # pieces that the ones don't have add nothing to a product
    left, right = (_weights(index, known) for index in (ones, others))
    return np.asarray(left @ right.T, dtype=np.float32)


def _weights(index: LateIndex, known: NDArray[np.int32]) -> Matrix:
    """Return the weights of the known pieces in each card, in the unit length of all its pieces."""
    cards = len(index.starts) - 1
    if not len(known):
        return np.zeros((cards, 0), dtype=np.float32)
    worth = np.where(index.discount > 0, _STEPS_WORTH, _HEAD_WORTH) * index.idf[index.tokens]
    owners = np.repeat(np.arange(cards), np.diff(index.starts))
    pieces, place = np.unique(owners * np.int64(len(index.idf)) + index.tokens, return_inverse=True)
    summed = np.bincount(place, weights=worth, minlength=len(pieces))
    holders, tokens = np.divmod(pieces, max(1, len(index.idf)))
    lengths = np.sqrt(np.bincount(holders, weights=summed**2, minlength=cards))
    columns = np.minimum(np.searchsorted(known, tokens), len(known) - 1)
    found = known[columns] == tokens
    weights = np.zeros((cards, len(known)), dtype=np.float32)
    weights[holders[found], columns[found]] = (summed / np.maximum(lengths[holders], 1e-9))[found]
    return weights


def _unit(rows: Vectors) -> Vectors:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9), dtype=np.float32)
