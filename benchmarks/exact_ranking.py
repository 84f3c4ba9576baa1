"""What a large catalogue's ranking would find if it scored every card: means and lenders over all of them, no sample.

For measuring; a query takes some seconds a hundred thousand cards. How related two cards are is measured as the
engine does it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ale_semantic import Engine
from ale_semantic.components import Component
from ale_semantic.embeddings.likeness import CardViews, Crowd, Likeness
from ale_semantic.fusion import Scores, standardise
from ale_semantic.large import LargeRanker
from ale_semantic.pools import Parts, pool_of
from ale_semantic.ranking import SHARPNESS, SPREAD
from ale_semantic.requests import condition_of
from ale_semantic.sketch import MOST_DEVIATIONS

_BLOCK = 1024
_LENDERS = 100  # that lend one by one
_AHEAD = 2000  # best cards by own score that passes; what is lent moves none from farther behind into the best ten


class ExactRanking:
    """The engine's cards, related and scored without candidates."""

    def __init__(self, engine: Engine) -> None:
        """Prepare what the queries share: the views of all cards.

        Raises:
            TypeError: if the engine scores every card anyway.
        """
        if not isinstance(engine.ranker, LargeRanker):
            raise TypeError("this index is small: its ranking is exact")
        self.engine, self.ranker = engine, engine.ranker
        self.likeness: Likeness = self.ranker.likeness.get()
        self.blocks = np.array_split(np.arange(self.ranker.cards), -(-self.ranker.cards // _BLOCK))
        self.domains = self.ranker.domains.get()

    def best(self, query: str, conditions: Sequence[str], k: int = 10) -> list[list[str]]:
        """Return the ids of the best k cards under each filter, blank for none."""
        corrected = self.engine.speller.correct(query)
        vector = self.engine.vectors.of([corrected.text])[0]
        words = self.ranker.lexical.scores(corrected.terms)
        parts, views = [], []
        weights: dict[Component, float] = {}
        for rows in self.blocks:
            pool = pool_of(self.ranker, rows, self.domains)
            part, weights = self.ranker._parts(pool, vector, words, skills=True)
            parts.append(part)
            views.append(pool.views)
        whole = _joined(parts)
        own = _own(whole.components, weights)
        powers = np.exp(SHARPNESS * own)
        shares = np.asarray(powers / powers.sum(), dtype=np.float32)
        first = np.sort(np.argsort(-own, kind="stable")[:_LENDERS])
        crowd = self._crowd(views, np.where(np.isin(np.arange(len(own)), first), np.float32(0), shares))
        lenders = pool_of(self.ranker, first, self.domains).views
        named = np.array(sorted(self.engine.names.named(query)), dtype=np.int64)  # they stand before all others
        found = []
        for condition in conditions:
            mask = self._mask(condition)
            ahead = np.flatnonzero(mask)
            ahead = ahead[np.argsort(-own[ahead], kind="stable")[:_AHEAD]]
            ahead = np.union1d(ahead, named[mask[named]])
            others = pool_of(self.ranker, ahead, self.domains).views
            lent = shares[first] @ self.likeness.between(lenders, others) + self.likeness.to_crowd(crowd, others)
            fused = np.round(own[ahead] + SPREAD * lent, 5)
            fused[np.isin(ahead, named)] = np.inf
            order = ahead[np.argsort(-fused, kind="stable")[:k]]
            found.append([self.engine.catalogue.cards[row].task_id for row in order.tolist()])
        return found

    def _mask(self, condition: str) -> NDArray[np.bool_]:
        parsed = condition_of(condition or None)
        return np.ones(self.ranker.cards, bool) if parsed is None else self.engine.facet_table.mask(parsed)

    def _crowd(self, views: Sequence[CardViews], shares: NDArray[np.float32]) -> Crowd:
        """Take all cards together, block by block."""
        return Crowd.joined([self.likeness.crowd(one, shares[one.rows]) for one in views])


def _own(components: Mapping[Component, Scores], weights: Mapping[Component, float]) -> Scores:
    """Return the own score of each card, with means and deviations over all cards."""
    total = np.zeros(len(next(iter(components.values()))), dtype=np.float32)
    for name, scores in components.items():
        total += weights[name] * np.minimum(standardise(scores), MOST_DEVIATIONS)
    return standardise(total)


def _joined(parts: Sequence[Parts]) -> Parts:
    components: dict[Component, NDArray[np.float32]] = {
        name: np.concatenate([part.components[name] for part in parts]) for name in parts[0].components
    }
    return Parts(
        np.concatenate([part.rows for part in parts]),
        components,
        np.concatenate([part.best for part in parts]),
        np.concatenate([part.passages for part in parts]),
    )
