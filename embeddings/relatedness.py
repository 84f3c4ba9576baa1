"""How related two cards are: one standardised matrix from several views of the cards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ale_semantic.analysis import terms
from ale_semantic.texts import field_text
from ale_semantic.types import Field, TaskCard

from .encoder import Vectors
from .passages import PassageKind
from .space import VectorSpace

Matrix = NDArray[np.float32]
# Beyond so many cards the matrix isn't made: it grows with the square of their number (4096: 64 MB).
MOST_CARDS = 4096
_TERM_WEIGHTS: Mapping[Field, float] = {
    Field.TITLE: 3,
    Field.SUMMARY: 3,
    Field.SOFTWARE: 2,
    Field.SUBDOMAIN: 2,
    Field.MUST_DO: 1,
    Field.PROMPT: 0.5,
}


def card_relatedness(cards: Sequence[TaskCard], space: VectorSpace) -> Matrix:
    """Return how related any two cards are, shape (cards, cards): mean 0, standard deviation 1, zero diagonal.

    The mean of five standardised views, equally weighted: overview, must-do steps, terms, subdomain, domain.
    """
    overview = field_vectors(space, len(cards), Field.OVERVIEW, sentences=False)
    steps = field_vectors(space, len(cards), Field.MUST_DO, sentences=True)
    missing = ~steps.any(axis=1)
    steps[missing] = overview[missing]
    subdomain = field_vectors(space, len(cards), Field.SUBDOMAIN, sentences=False)
    domain = np.array([card.domain for card in cards])
    views = (
        _cosines(_centred(overview)),
        _cosines(_centred(steps)),
        np.sqrt(np.clip(_term_cosines(cards), 0, None)),
        np.clip(_cosines(subdomain), 0, None),
        (domain[:, None] == domain[None, :]).astype(np.float32),
    )
    total = sum((_standardised(view) for view in views), np.zeros((len(cards), len(cards)), np.float32))
    total = total / max(float(total.std()), 1e-9)
    np.fill_diagonal(total, 0.0)
    return np.asarray(total, dtype=np.float32)


def field_vectors(space: VectorSpace, cards: int, field: Field, *, sentences: bool) -> Vectors:
    """Return each card's unit mean vector over one field's passages, shape (cards, dimension); zeros for none."""
    kinds = space.passages.kinds
    grain = (kinds == PassageKind.SENTENCE) if sentences else (kinds != PassageKind.SENTENCE)
    rows = np.flatnonzero((space.passages.fields == list(Field).index(field)) & grain)
    sums = np.zeros((cards, space.identity.dimension), dtype=np.float32)
    np.add.at(sums, space.passages.cards[rows], space.backend.vectors[rows])
    return _unit(sums)


def _term_cosines(cards: Sequence[TaskCard]) -> Matrix:
    """Return the cosines of the cards' weighted terms, (1 + log tf) * idf."""
    from scipy.sparse import csr_array

    rows: list[int] = []
    columns: list[int] = []
    counts: list[float] = []
    vocabulary: dict[str, int] = {}
    for row, card in enumerate(cards):
        weighted: dict[str, float] = {}
        for field, weight in _TERM_WEIGHTS.items():
            for term in terms(field_text(card, field)):
                weighted[term] = weighted.get(term, 0.0) + weight
        rows += [row] * len(weighted)
        columns += [vocabulary.setdefault(term, len(vocabulary)) for term in weighted]
        counts += weighted.values()
    occurrences = np.bincount(columns, minlength=len(vocabulary))
    # A term that counts less than once (only in the prompt, at half weight) keeps its plain count: log would invert it.
    frequency = np.array(counts)
    damped = np.where(frequency >= 1, 1 + np.log(np.maximum(frequency, 1)), frequency)
    values = damped * np.log((len(cards) + 1) / occurrences[columns])
    matrix = csr_array((values, (rows, columns)), shape=(len(cards), len(vocabulary)))
    lengths = np.sqrt((matrix * matrix).sum(axis=1))
    products = (matrix @ matrix.T).toarray()
    return np.asarray(products / np.maximum(np.outer(lengths, lengths), 1e-9), dtype=np.float32)


def _cosines(rows: Vectors) -> Matrix:
    return np.asarray(rows @ rows.T, dtype=np.float32)


def _centred(rows: Vectors) -> Vectors:
    return _unit(rows - rows.mean(axis=0))


def _standardised(matrix: Matrix) -> Matrix:
    spread = float(matrix.std())
    return (matrix - matrix.mean()) / spread if spread > 1e-9 else np.zeros_like(matrix)


def _unit(rows: Vectors) -> Vectors:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9), dtype=np.float32)
