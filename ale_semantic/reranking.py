"""Reordering the best cards of a ranking by a model that reads query and card together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ale_semantic.fusion import Mask, standardise
from ale_semantic.ranking import Ranking
from ale_semantic.types import TaskCard

DEPTH = 30  # cards read again: a cross-encoder takes some milliseconds a card
SHARE = 0.5  # of the second stage in the order of those cards


class Reranker(Protocol):
    """Anything that scores texts for a query."""

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return how well each text answers the query, shape (texts,)."""


def reranked(
    reranker: Reranker, query: str, ranking: Ranking, mask: Mask, cards: Sequence[TaskCard], passages: Sequence[str]
) -> Ranking:
    """Return the ranking with its best cards in a new order.

    The cards exchange their scores, so that scores and bands keep their meaning.

    Args:
        reranker: the second stage.
        query: the query.
        ranking: the first stage.
        mask: the cards that pass the filter.
        cards: all cards.
        passages: the best passage of each card, blank for none.
    """
    rows = ranking.order(ranking.fused, mask)[:DEPTH]
    if len(rows) < 2:
        return ranking
    texts = [f"{cards[row].title}. {cards[row].summary} {passages[row]}".strip() for row in rows]
    second = standardise(reranker.scores(query, texts))
    mixed = SHARE * second + (1 - SHARE) * standardise(ranking.fused[rows])
    fused = ranking.fused.copy()
    fused[rows[np.argsort(-mixed, kind="stable")]] = ranking.fused[rows]
    return replace(ranking, fused=fused)
