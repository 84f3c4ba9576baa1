"""Which cards of a large catalogue are scored for a query, and in which stages.

The stages follow from the query and the filter alone: a page decides how many of them are needed, never what is in
them. So the order, stage by stage, is the same whatever page is asked for, and its pages share no card.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.fusion import Mask, Scores
from ale_semantic.once import Once
from ale_semantic.ranking import Scope, Stage
from ale_semantic.types import PlanKind, SearchPlan, SearchScan

CANDIDATES = 200  # cards by their passages: twice as many find hardly more of the best ten (docs/benchmarks.md)
LEXICAL_CANDIDATES = 100  # cards by BM25
MOST_EQUAL = 400  # cards by BM25 with those that are as good as the last: a query of one word tells few apart
MOST_CANDIDATES = 2000  # beyond the first candidates so many are scored, and beyond these all cards that pass
_DEPTH = 4  # passages searched for each card that is wanted
_BASE_DEPTH = 6  # and without the filter: so many hold enough cards that pass where half of them do

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Words:
    """The BM25 score of each card, shape (cards,), and what orders cards of equal scores: made when there are many."""

    scores: Scores
    second: Once[Scores]

    def best(self, mask: Mask | None) -> Rows:
        """Return the rows of the best cards in the mask, with those as good as the last of them."""
        scores = self.scores if mask is None else np.where(mask, self.scores, np.float32(0.0))
        hits: Rows = np.flatnonzero(scores > 0)
        if len(hits) <= LEXICAL_CANDIDATES:
            return hits
        place = len(hits) - LEXICAL_CANDIDATES
        hits = hits[scores[hits] >= float(np.partition(scores[hits], place)[place])]
        if len(hits) <= MOST_EQUAL:
            return hits
        order: Rows = np.lexsort((-self.second.get()[hits], -scores[hits]))
        return hits[order[:MOST_EQUAL]]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The rows of each stage, ascending and each in one stage alone, and how they were found."""

    stages: tuple[tuple[Stage, Rows], ...]
    plan: SearchPlan

    @property
    def base(self) -> Rows:
        """Return the candidates whatever the filter."""
        return self.stages[0][1]


@dataclass(frozen=True, slots=True)
class Finder:
    """Finds the candidates in the passages of one space."""

    space: VectorSpace

    def chosen(self, vector: Scores, words: Words | None, scope: Scope) -> Chosen:
        """Choose what to score.

        Args:
            vector: the query's vector, shape (1, dimension).
            words: what BM25 says of each card; None if words take no part.
            scope: what is asked for.
        """
        mask = scope.mask
        scans: list[SearchPlan] = []
        near = self._nearest(vector, None, CANDIDATES, _BASE_DEPTH, scans)
        stages = [(Stage.BASE, self._with_words(near[:CANDIDATES], words, None))]
        also = np.array(scope.also, dtype=np.int64)
        if scope.every:
            stages.append((Stage.PASSING, np.union1d(self._passing(mask), also)))
            return self._done(stages, self._exact(mask), scans)
        found = also
        if mask is not None:
            near = near[mask[near]]
            if len(near) < min(CANDIDATES, self._count(mask)):
                near = self._nearest(vector, mask, CANDIDATES, _DEPTH, scans)
            found = np.union1d(self._with_words(near[:CANDIDATES], words, mask), also)
        stages.append((Stage.PASSING, found))
        return self._deeper(stages, vector, words, scope, scans)

    def near(self, vector: Scores, scope: Scope) -> Chosen:
        """Choose the first candidates by passages alone, however many are asked for."""
        return self.chosen(vector, None, replace(scope, wanted=0, every=False))

    def _deeper(
        self,
        stages: list[tuple[Stage, Rows]],
        vector: Scores,
        words: Words | None,
        scope: Scope,
        scans: list[SearchPlan],
    ) -> Chosen:
        """Add the later stages that a page needs."""
        passing = self._count(scope.mask)
        if passing > MOST_CANDIDATES and self._held(stages, scope.mask) < scope.wanted:
            deep = self._nearest(vector, scope.mask, MOST_CANDIDATES, _DEPTH, scans)
            stages.append((Stage.DEEP, self._with_words(deep[:MOST_CANDIDATES], words, scope.mask)))
        held = self._held(stages, scope.mask)
        if held < min(passing, scope.wanted):
            stages.append((Stage.REST, self._passing(scope.mask)))
            return self._done(stages, self._exact(scope.mask), scans)
        return self._done(stages, replace(scans[-1], passing=self.space.passing(scope.mask)), scans)

    def _done(self, stages: Sequence[tuple[Stage, Rows]], plan: SearchPlan, scans: Sequence[SearchPlan]) -> Chosen:
        """Leave out of each stage what an earlier one holds."""
        seen = np.zeros(self.cards, dtype=bool)
        kept = []
        for stage, rows in stages:
            kept.append((stage, rows[~seen[rows]]))
            seen[rows] = True
        made = tuple(
            SearchScan(one.kind, one.passing, one.rescored, one.lists, one.probed, one.retries) for one in scans
        )
        return Chosen(tuple(kept), replace(plan, candidates=int(np.count_nonzero(seen)), scans=made))

    @property
    def cards(self) -> int:
        """Return the number of cards."""
        return len(self.space.starts) - 1

    def _held(self, stages: Sequence[tuple[Stage, Rows]], mask: Mask | None) -> int:
        """Return how many cards of some stages pass."""
        rows = np.unique(np.concatenate([rows for _, rows in stages]))
        return len(rows) if mask is None else int(np.count_nonzero(mask[rows]))

    def _count(self, mask: Mask | None) -> int:
        return self.cards if mask is None else int(np.count_nonzero(mask))

    def _passing(self, mask: Mask | None) -> Rows:
        return np.arange(self.cards) if mask is None else np.flatnonzero(mask)

    def _exact(self, mask: Mask | None) -> SearchPlan:
        return SearchPlan(PlanKind.EXACT, len(self.space.passages), self.space.passing(mask))

    def _nearest(self, vector: Scores, mask: Mask | None, wanted: int, each: int, scans: list[SearchPlan]) -> Rows:
        """Return at least so many cards as are wanted, or all that pass, those with the nearest passages first.

        Args:
            vector: the query's vector, shape (1, dimension).
            mask: the cards that pass; None: all.
            wanted: the number of cards.
            each: how many passages are searched for each of them.
            scans: takes the plan of each search that is made.
        """
        passages = np.repeat(mask, np.diff(self.space.starts)) if mask is not None else None
        depth = each * wanted
        while True:
            found = self.space.backend.search(vector, depth, passages)
            scans.append(found.plan)
            rows = found.rows[0][found.rows[0] >= 0]
            owners = self.space.passages.cards[rows]
            cards: Rows = owners[np.sort(np.unique(owners, return_index=True)[1])].astype(np.int64)
            if len(cards) >= wanted or len(rows) < depth:
                return cards
            depth *= 4  # few cards hold all of the nearest passages

    def _with_words(self, near: Rows, words: Words | None, mask: Mask | None) -> Rows:
        """Return the rows and those of the cards that BM25 puts first, ascending."""
        return np.sort(near) if words is None else np.union1d(near, words.best(mask))
