"""The evidence that a catalogue answers a query, measured against what its encoder says of unrelated texts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ale_semantic.bands import Background, Evidence, Spread
from ale_semantic.embeddings.encoder import TokenVectors, Vectors
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.fusion import Scores
from ale_semantic.lexical import LexicalIndex, WeightedTerms
from ale_semantic.types import Field

_RARE_SHARE, _RARE_CARDS = 0.05, 2  # a term in at most this share of the cards, or in so many, is rare
_TOGETHER = 128  # of them at once: each brings a cosine with every passage
_BACKGROUND_QUERIES = 256  # titles asked against all other cards: enough for a mean and a deviation


def gather_evidence(
    terms: WeightedTerms,
    unknown: bool,
    lexical: LexicalIndex,
    top: int,
    *,
    cosines: tuple[Scores, Scores, Scores] | None,
    background: Background,
) -> Evidence:
    """Return the evidence that a catalogue answers a query.

    Args:
        terms: the query's terms.
        unknown: no word of the query is known to the catalogue or the model.
        lexical: the lexical index.
        top: row of the best card.
        cosines: best passage, late interaction and overview of every card, shape (cards,) each; None without encoder.
        background: what the encoder says of unrelated texts.
    """
    holders = {term: lexical.cards_with(term) for term, _ in terms}
    idf = {term: float(np.log((lexical.cards + 1) / (len(rows) + 0.5))) for term, rows in holders.items()}
    held = {term for term, rows in holders.items() if _holds(rows, top)}
    rare = max(_RARE_CARDS, _RARE_SHARE * lexical.cards)
    coverage = sum(idf[term] for term in held) / max(sum(idf.values()), 1e-9)
    exact = bool(holders) and held == set(holders) and any(len(rows) <= rare for rows in holders.values())
    if cosines is None:
        return Evidence(coverage=coverage, exact=exact, unknown=not any(len(rows) for rows in holders.values()))
    best, late, overview = cosines
    return Evidence(
        best=background.best.standardise(float(best.max())),
        late=background.late.standardise(float(late.max())),
        overview=background.overview.standardise(float(overview[top])),
        coverage=coverage,
        exact=exact,
        unknown=unknown,
    )


def background_rows(cards: int) -> NDArray[np.int64]:
    """Return the rows of the cards, evenly spread, whose titles are asked to measure the background."""
    return np.linspace(0, cards - 1, min(cards, _BACKGROUND_QUERIES)).astype(np.int64)


def measure_background(
    chosen: NDArray[np.int64], queries: tuple[Vectors, Sequence[TokenVectors]], space: VectorSpace
) -> Background:
    """Ask the titles of cards as queries, and return how near the other cards are in the mean.

    Args:
        chosen: the rows of the cards whose titles are asked, as `background_rows` gives them.
        queries: their titles, embedded as queries with their words.
        space: the passages and vectors of all cards.
    """
    cards, (vectors, tokens) = len(space.starts) - 1, queries
    rows = space.passages.rows_of(Field.OVERVIEW)
    owners = space.passages.cards[rows]

    def near(start: int) -> tuple[Scores, Scores, Scores]:
        block = slice(start, start + _TOGETHER)
        asked = chosen[block][:, None]
        others = np.arange(cards) != asked
        cosines = space.backend.scores(vectors[block], None)
        best = np.maximum.reduceat(cosines, space.starts[:-1], axis=1)
        by_word = space.late.scores_of_many(tokens[block])
        return best[others], by_word[others], cosines[:, rows][owners != asked]

    found = map(near, range(0, len(chosen), _TOGETHER))
    return Background(*(_spread(values) for values in zip(*found, strict=True)))


def _holds(rows: NDArray[np.int32], row: int) -> bool:
    place = int(np.searchsorted(rows, row))
    return place < len(rows) and int(rows[place]) == row


def _spread(values: Sequence[NDArray[np.float32]]) -> Spread:
    every = np.concatenate(values)
    return Spread(float(every.mean()), float(every.std())) if len(every) else Spread(0.0, 1.0)
