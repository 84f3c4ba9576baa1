"""Which cards of a large catalogue are scored for a query, and in which stages.

The stages follow from the query and the filter alone: a page decides how many of them are needed, never what is in
them. So the order, stage by stage, is the same whatever page is asked for, and its pages share no card.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ale_semantic.beside import BESIDE
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.fusion import Mask, Scores
from ale_semantic.once import Once
from ale_semantic.plans import PlanKind, SearchPlan, SearchScan
from ale_semantic.ranking import Scope, Stage

# A query whose words many cards hold finds nearly equal passages in thousands: then a guess of the whole score finds
# the best. It can't know a step deep in a card that answers to the query: its passage does.
GUESSED_CANDIDATES = 200  # cards by the guess
VAGUE_CANDIDATES = 400  # and for a query of so few terms as VAGUE, whose cards the guess hardly tells apart
VAGUE = 2
CANDIDATES = 50  # cards by their passages
MOST_CANDIDATES = 2000  # beyond the first candidates so many are scored, and beyond these all cards that pass
_DEPTH = 4  # passages searched for each card that is wanted
_BASE_DEPTH = 10  # and without the filter: so many hold enough cards that pass where half of them do

Rows = NDArray[np.int64]


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
class Near:
    """Rows of the cards with the nearest passages, the nearest first, and the searches that found them."""

    cards: Rows
    scans: tuple[SearchPlan, ...]


@dataclass(frozen=True, slots=True)
class Nearby:
    """What waits for the cards with the passages nearest to a vector, whatever the filter and under it.

    `guessed` is how many candidates are taken by the guess.
    """

    vector: Scores
    guessed: int
    all: Callable[[], Near]
    passing: Callable[[], Near]


@dataclass(frozen=True, slots=True)
class Finder:
    """Finds the candidates in the passages of one space."""

    space: VectorSpace

    def nearby(self, vector: Scores, scope: Scope, *, terms: int | None = None) -> Nearby:
        """Begin to search the cards with the passages nearest to a vector, beside the caller.

        Args:
            vector: the query's, shape (dimension,).
            scope: what is asked for.
            terms: how many terms the query has, if it is one of words.
        """

        def searched_all() -> Near:
            return self._nearest(vector, None, CANDIDATES, _BASE_DEPTH)

        def searched_passing() -> Near:
            mask, first = scope.mask, base.get()
            if mask is None or scope.every:
                return first
            near = first.cards[mask[first.cards]]
            if len(near) >= min(CANDIDATES, self._count(mask)):
                return Near(near, first.scans)
            found = self._nearest(vector, mask, CANDIDATES, _DEPTH)
            return Near(found.cards, (*first.scans, *found.scans))

        base, passing = Once(searched_all), Once(searched_passing)
        guessed = VAGUE_CANDIDATES if terms is not None and terms <= VAGUE else GUESSED_CANDIDATES
        return Nearby(vector, guessed, BESIDE.start(base.get), BESIDE.start(passing.get))

    def base(self, nearby: Nearby, guess: Scores) -> Rows:
        """Return the candidates whatever the filter, by what was searched and a guess of the score of each card."""
        return np.union1d(nearby.all().cards[:CANDIDATES], _best(guess, None, nearby.guessed))

    def chosen(self, base: Rows, nearby: Nearby, guess: Scores, scope: Scope) -> Chosen:
        """Choose what to score.

        Args:
            base: the candidates whatever the filter.
            nearby: what was searched for the same scope.
            guess: a guess of the score of each card, shape (cards,).
            scope: what is asked for.
        """
        mask, near = scope.mask, nearby.passing()
        stages = [(Stage.BASE, base)]
        also = np.unique(np.array(scope.also, dtype=np.int64))
        if scope.every:
            stages.append((Stage.PASSING, np.union1d(self._passing(mask), also)))
            return self._done(stages, self._exact(mask), near.scans)
        found = also
        if mask is not None:
            found = np.union1d(np.union1d(near.cards[:CANDIDATES], _best(guess, mask, nearby.guessed)), also)
        stages.append((Stage.PASSING, found))
        return self._deeper(stages, nearby, guess, scope)

    def _deeper(self, stages: list[tuple[Stage, Rows]], nearby: Nearby, guess: Scores, scope: Scope) -> Chosen:
        """Add the later stages that a page needs."""
        mask, scans = scope.mask, nearby.passing().scans
        passing = self._count(mask)
        if passing > MOST_CANDIDATES and self._held(stages, mask) < scope.wanted:
            each = MOST_CANDIDATES // 2
            deep = self._nearest(nearby.vector, mask, each, _DEPTH)
            scans = (*scans, *deep.scans)
            stages.append((Stage.DEEP, np.union1d(deep.cards[:each], _best(guess, mask, MOST_CANDIDATES))))
        if self._held(stages, mask) < min(passing, scope.wanted):
            stages.append((Stage.REST, self._passing(mask)))
            return self._done(stages, self._exact(mask), scans)
        return self._done(stages, replace(scans[-1], passing=self.space.passing(mask)), scans)

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

    def _nearest(self, vector: Scores, mask: Mask | None, wanted: int, each: int) -> Near:
        """Return at least so many cards as are wanted, or all that pass.

        Args:
            vector: the query's vector, shape (dimension,).
            mask: the cards that pass; None: all.
            wanted: the number of cards.
            each: how many passages are searched for each of them.
        """
        passages = np.repeat(mask, np.diff(self.space.starts)) if mask is not None else None
        depth = each * wanted
        scans: list[SearchPlan] = []
        while True:
            found = self.space.backend.search(vector[None, :], depth, passages)
            scans.append(found.plan)
            rows = found.rows[0][found.rows[0] >= 0]
            owners = self.space.passages.cards[rows]
            cards: Rows = owners[np.sort(np.unique(owners, return_index=True)[1])].astype(np.int64)
            if len(cards) >= wanted or len(rows) < depth:
                return Near(cards, tuple(scans))
            depth *= 4  # few cards hold all of the nearest passages


def _best(guess: Scores, mask: Mask | None, count: int) -> Rows:
    """Return the rows of the best cards in a mask by a guess, equal ones by row."""
    rows = np.arange(len(guess)) if mask is None else np.flatnonzero(mask)
    if len(rows) > count:
        values = guess[rows]
        last = np.partition(values, len(rows) - count)[len(rows) - count]
        above, equal = rows[values > last], rows[values == last]
        rows = np.concatenate([above, equal[: count - len(above)]])
    return np.sort(rows)
