"""How related two cards are: one standardised matrix from several views of the cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ale_semantic.card_words import CardWords
from ale_semantic.types import Field

from .encoder import Vectors
from .space import VectorSpace
from .vectors import unit

Matrix = NDArray[np.float32]
# Beyond so many cards the matrix isn't made: it grows with the square of their number (4096: 64 MB).
MOST_CARDS = 4096
_RARE, _COLUMNS = 8, 2048  # cards that hold a term which is multiplied by itself; terms multiplied together
_TERM_WEIGHTS: Mapping[Field, float] = {
    Field.TITLE: 3,
    Field.SUMMARY: 3,
    Field.SOFTWARE: 2,
    Field.SUBDOMAIN: 2,
    Field.MUST_DO: 1,
    Field.PROMPT: 0.5,
}


def card_relatedness(domains: Sequence[str], words: Sequence[CardWords], space: VectorSpace) -> Matrix:
    """Return how related any two cards are, shape (cards, cards): mean 0, standard deviation 1, zero diagonal.

    The mean of five standardised views, equally weighted: overview, must-do steps, terms, subdomain, domain.

    Args:
        domains: the domain of each card.
        words: the words of each card.
        space: the cards' passages and vectors.
    """
    cards = len(domains)
    overview = field_vectors(space, cards, Field.OVERVIEW, sentences=False)
    steps = field_vectors(space, cards, Field.MUST_DO, sentences=True)
    missing = ~steps.any(axis=1)
    steps[missing] = overview[missing]
    subdomain = field_vectors(space, cards, Field.SUBDOMAIN, sentences=False)
    domain = np.array(domains)
    views = (
        _cosines(_centred(overview)),
        _cosines(_centred(steps)),
        np.sqrt(np.clip(_term_cosines(words), 0, None)),
        np.clip(_cosines(subdomain), 0, None),
        (domain[:, None] == domain[None, :]).astype(np.float32),
    )
    total = sum((_standardised(view) for view in views), np.zeros((cards, cards), np.float32))
    total = total / max(float(total.std()), 1e-9)
    np.fill_diagonal(total, 0.0)
    return np.asarray(total, dtype=np.float32)


def field_vectors(space: VectorSpace, cards: int, field: Field, *, sentences: bool) -> Vectors:
    """Return each card's unit mean vector over one field's passages, shape (cards, dimension); zeros for none."""
    rows = space.passages.rows_of(field, sentences=sentences)
    sums = np.zeros((cards, space.identity.dimension), dtype=np.float32)
    np.add.at(sums, space.passages.cards[rows], space.backend.vectors[rows])
    return unit(sums)


def _term_cosines(cards: Sequence[CardWords]) -> Matrix:
    """Return the cosines of the cards' weighted terms, (1 + log tf) * idf."""
    rows: list[int] = []
    columns: list[int] = []
    counts: list[float] = []
    vocabulary: dict[str, int] = {}
    for row, card in enumerate(cards):
        weighted: dict[str, float] = {}
        for field, weight in _TERM_WEIGHTS.items():
            for term in card.terms[field]:
                weighted[term] = weighted.get(term, 0.0) + weight
        rows += [row] * len(weighted)
        columns += [vocabulary.setdefault(term, len(vocabulary)) for term in weighted]
        counts += weighted.values()
    places = np.array(columns, dtype=np.int64)
    occurrences = np.bincount(places, minlength=len(vocabulary))
    # A term that counts less than once (only in the prompt, at half weight) keeps its plain count: log would invert it.
    frequency = np.array(counts)
    damped = np.where(frequency >= 1, 1 + np.log(np.maximum(frequency, 1)), frequency)
    values = damped * np.log((len(cards) + 1) / occurrences[places])
    owners = np.array(rows, dtype=np.int64)
    products = _products(owners, places, values, occurrences, len(cards))
    lengths = np.sqrt(np.bincount(owners, values * values, minlength=len(cards)))
    return np.asarray(products / np.maximum(np.outer(lengths, lengths), 1e-9), dtype=np.float32)


def _products(
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    values: NDArray[np.float64],
    occurrences: NDArray[np.int64],
    cards: int,
) -> NDArray[np.float64]:
    """Return the products of the rows of a sparse matrix with each other, shape (cards, cards).

    A library of sparse matrices does the same, but takes as long to import as this to run.
    """
    found = np.zeros((cards, cards))
    frequent = occurrences > max(_RARE, cards // 50)
    numbers = np.flatnonzero(frequent)
    for start in range(0, len(numbers), _COLUMNS):
        wanted = numbers[start : start + _COLUMNS]
        chosen = np.flatnonzero(np.isin(columns, wanted))
        dense = np.zeros((cards, len(wanted)))
        dense[rows[chosen], np.searchsorted(wanted, columns[chosen])] = values[chosen]
        found += dense @ dense.T
    order = np.argsort(columns, kind="stable")
    starts = np.concatenate([[0], np.cumsum(occurrences)])
    for count in range(2, int(occurrences[~frequent].max(initial=0)) + 1):  # terms of so many holders at once
        own = order[starts[:-1][~frequent & (occurrences == count)][:, None] + np.arange(count)]
        places = rows[own][:, :, None] * cards + rows[own][:, None, :]
        shares = values[own][:, :, None] * values[own][:, None, :]
        np.add.at(found.reshape(-1), places.ravel(), shares.ravel())
    np.fill_diagonal(found, np.bincount(rows, values * values, minlength=cards))
    return found


def _cosines(rows: Vectors) -> Matrix:
    return np.asarray(rows @ rows.T, dtype=np.float32)


def _centred(rows: Vectors) -> Vectors:
    return unit(rows - rows.mean(axis=0))


def _standardised(matrix: Matrix) -> Matrix:
    spread = float(matrix.std())
    return (matrix - matrix.mean()) / spread if spread > 1e-9 else np.zeros_like(matrix)
