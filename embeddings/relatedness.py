"""How related two cards are: one standardised matrix from several views of the cards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ale_semantic.analysis import terms
from ale_semantic.embeddings.encoder import Vectors
from ale_semantic.embeddings.passages import PassageKind, field_text
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.types import Field, TaskCard

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
    """Return the tf-idf cosines of the cards' weighted terms."""
    from sklearn.feature_extraction import DictVectorizer
    from sklearn.feature_extraction.text import TfidfTransformer

    counts = []
    for card in cards:
        weighted: Counter[str] = Counter()
        for field, weight in _TERM_WEIGHTS.items():
            for term in terms(field_text(card, field)):
                weighted[term] += weight  # type: ignore[assignment]  # a Counter adds fractions as well
        counts.append(weighted or Counter({"": 1}))
    vectors = TfidfTransformer(sublinear_tf=True).fit_transform(DictVectorizer().fit_transform(counts))
    return np.asarray((vectors @ vectors.T).toarray(), dtype=np.float32)


def _cosines(rows: Vectors) -> Matrix:
    return np.asarray(rows @ rows.T, dtype=np.float32)


def _centred(rows: Vectors) -> Vectors:
    return _unit(rows - rows.mean(axis=0))


def _standardised(matrix: Matrix) -> Matrix:
    spread = float(matrix.std())
    return (matrix - matrix.mean()) / spread if spread > 1e-9 else np.zeros_like(matrix)


def _unit(rows: Vectors) -> Vectors:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9), dtype=np.float32)
