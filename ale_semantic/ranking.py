"""The ranking recipe: how the evidence of the legs becomes one score a card.

Each component is standardised over all cards and weighted. The weights were fitted on the development queries
(docs/quality.md has the ablations). The scores are then spread over related cards: a card that is much like
those that answer the query well gains (cluster-hypothesis smoothing, Diaz, CIKM 2005).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from ale_semantic.bands import NO_EVIDENCE, SIMILAR, UNKNOWN_BACKGROUND, Background, Evidence
from ale_semantic.components import Component, View, fuse, see, views_of
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.evidence import gather_evidence
from ale_semantic.fusion import Mask, Scores, best_per_card, descending, softmax, standardise
from ale_semantic.lexical import LexicalIndex, WeightedTerms
from ale_semantic.plans import PlanKind, SearchPlan
from ale_semantic.products import weighted_sum
from ale_semantic.query_vectors import QueryVector
from ale_semantic.skills import SkillTable
from ale_semantic.types import Mode

SHARPNESS = 1.2  # of the softmax that says how much each card counts as an answer
SPREAD = 0.5  # how much a card gains from related answers
STEP_WISH, STEP_TIER = 0.4, 0.4  # weights beside the relatedness to the named card, for "easier before", "harder after"


@dataclass(frozen=True, slots=True)
class Scope:
    """Which cards a large catalogue's ranking must score.

    Those in the mask (None: all), at least so many of the best as are wanted, some rows also, or `every` card that
    passes. A small catalogue's ranking scores every card in any case.
    """

    mask: Mask | None = None
    wanted: int = 10
    also: tuple[int, ...] = ()
    every: bool = False


EVERY_CARD = Scope(every=True)


class Stage(IntEnum):
    """When a card of a large catalogue was scored; the order of the hits goes by stages first."""

    BASE = 0  # a candidate whatever the filter
    PASSING = 1  # a candidate under the filter: one order with the former
    DEEP = 2  # a candidate of pages beyond these
    REST = 3


@dataclass(frozen=True, slots=True)
class Ranking:
    """Scores of all cards for one query; arrays have shape (cards,). A leg that took no part is None.

    `own` is what each card scores by itself, `fused` with what related cards lend. `space` is the one whose
    passages `best_passage` counts, where that isn't the ranker's. Where only some cards were scored, `rows` are
    these, ascending; the others have -inf. There `stages` holds the `Stage` of each card, shape (cards,). `plan` tells
    how the vectors were searched.
    """

    fused: Scores
    own: Scores
    dense: Scores | None
    lexical: Scores | None
    best_passage: NDArray[np.int64] | None
    evidence: Evidence = NO_EVIDENCE
    scale: str = Mode.HYBRID
    space: VectorSpace | None = None
    rows: NDArray[np.int64] | None = None
    stages: NDArray[np.int8] | None = None
    plan: SearchPlan | None = None

    def order(self, scores: Scores, mask: Mask) -> NDArray[np.int64]:
        """Return the scored rows in the mask, best first, stage by stage.

        Args:
            scores: by which those of one stage are ordered, shape (cards,), -inf for those without a score.
            mask: the rows to order, shape (cards,).
        """
        rows = descending(scores, mask)
        if self.stages is None:
            return rows
        return rows[np.argsort(np.maximum(self.stages[rows], Stage.PASSING), kind="stable")]

    def base(self, scores: Scores) -> Scores:
        """Return the scores of the cards that are scored whatever the filter and the page, -inf for all others."""
        return scores if self.stages is None else np.where(self.stages == Stage.BASE, scores, np.float32(-np.inf))

    def first(self, mask: Mask) -> Mask:
        """Return which cards in the mask are scored whatever the page."""
        return mask if self.stages is None else mask & (self.stages <= Stage.PASSING)


@dataclass(frozen=True, slots=True)
class Ranker:
    """The legs of one index; `related` is the cards' relatedness, shape (cards, cards), None in a large index."""

    space: VectorSpace
    lexical: LexicalIndex
    related: NDArray[np.float32] | None
    skills: SkillTable | None
    background: Background
    views: Mapping[Component, View]

    @classmethod
    def of(
        cls,
        space: VectorSpace,
        lexical: LexicalIndex,
        related: NDArray[np.float32] | None,
        skills: SkillTable | None = None,
        background: Background = UNKNOWN_BACKGROUND,
    ) -> Ranker:
        """Prepare the ranking of one index."""
        return cls(space, lexical, related, skills, background, views_of(space))

    @property
    def cards(self) -> int:
        """Return the number of cards."""
        return len(self.space.starts) - 1

    def rank(
        self,
        terms: WeightedTerms,
        query: QueryVector | None,
        mode: Mode,
        *,
        unknown: bool = False,
        skills: bool = True,
        scope: Scope = EVERY_CARD,
    ) -> Ranking:
        """Score all cards.

        Args:
            terms: the query's index terms with their weights.
            query: the query's vectors; None in lexical mode.
            mode: which legs take part.
            unknown: no word of the query is known to the catalogue or the model.
            skills: let the skills that the query is near to take part.
            scope: which cards must be scored; here all are.
        """
        words = self.lexical.scores(terms) if mode is not Mode.DENSE else None
        if query is None:
            scores = standardise(words) if words is not None else np.zeros(self.cards, dtype=np.float32)
            evidence = self._evidence(terms, unknown, scores, None)
            return Ranking(scores, scores, None, words, None, evidence, mode)
        seen = see(self.space, self.views, self.skills if skills else None, query)
        components = seen.components if words is None else {**seen.components, Component.WORDS: words}
        own = fuse(components, seen.weights)
        fused = self.spread(own)
        near = (seen.best, components[Component.LATE], components[Component.OVERVIEW])
        evidence = self._evidence(terms, unknown, fused, near)
        plan = self.exact_plan(scope)
        return Ranking(fused, own, seen.best, words, seen.passages, evidence, mode, plan=plan)

    def exact_plan(self, scope: Scope) -> SearchPlan:
        """Return what was done where every passage of every card was scored."""
        passing = self.space.passing(scope.mask)
        return SearchPlan(PlanKind.EXACT, len(self.space.passages), passing, candidates=self.cards)

    def _evidence(
        self, terms: WeightedTerms, unknown: bool, fused: Scores, near: tuple[Scores, Scores, Scores] | None
    ) -> Evidence:
        return gather_evidence(
            terms, unknown, self.lexical, int(np.argmax(fused)), cosines=near, background=self.background
        )

    def spread(self, own: Scores) -> Scores:
        """Return standardised scores to which related cards have lent theirs."""
        if self.related is None:
            return own
        return np.asarray(own + SPREAD * weighted_sum(softmax(SHARPNESS * own), self.related), dtype=np.float32)

    def rank_step(self, named: Ranking, wish: Ranking, row: int, preference: Scores) -> Ranking:
        """Score all cards as a step from one card: near to it, near to the wish's words, on the right tier.

        Args:
            named: the ranking of the card's name alone, which says how surely the card is meant.
            wish: the ranking of the wish's words together with the card's name.
            row: the card's row.
            preference: 1 where the tier is the wanted side of the card's, -1 on the other, 0 where it is the same
                or unknown; shape (cards,).
        """
        scores = STEP_WISH * wish.own + self.relatedness(row) + STEP_TIER * preference
        return replace(wish, fused=np.asarray(scores, dtype=np.float32), evidence=named.evidence)

    def rank_similar(
        self, near: Sequence[int], far: Sequence[int], text: Ranking | None, scope: Scope = EVERY_CARD
    ) -> Ranking:
        """Score all cards by nearness to some cards and to a text's ranking, and by distance from others.

        Args:
            near: rows of the cards to be near to.
            far: rows of the cards to be far from; each counts half as much as a near one.
            text: the ranking of a text to be near to.
            scope: which cards must be scored; here all are.
        """
        parts = [self.relatedness(row) for row in near] + [-0.5 * self.relatedness(row) for row in far]
        if text is not None:
            parts.append(standardise(text.fused))
        scores = np.asarray(np.mean(parts, axis=0), dtype=np.float32)
        cosines: Scores | None
        rows: NDArray[np.int64] | None
        if near:
            cosines, rows = self._nearest_passages(near)
        else:
            cosines, rows = (text.dense, text.best_passage) if text is not None else (None, None)
        standing = Evidence(best=float(scores.max()))
        return Ranking(scores, scores, cosines, None, rows, standing, SIMILAR, plan=self.exact_plan(scope))

    def neighbours(self, near: Sequence[int], scope: Scope) -> tuple[int, ...]:
        """Return the rows of cards near to some that must be scored beside others; none where all are."""
        return ()

    def relatedness(self, row: int) -> Scores:
        """Return how related one card is to each card, shape (cards,)."""
        if self.related is not None:
            return np.asarray(self.related[row], dtype=np.float32)
        overview = self.overview_vectors([row])[0]
        return standardise(self._view_cosines(overview))

    def overview_vectors(self, rows: Sequence[int]) -> NDArray[np.float32]:
        """Return the vectors of the cards' title and summary, shape (rows, dimension)."""
        view = self.views[Component.OVERVIEW]
        first = np.searchsorted(view.cards, np.asarray(rows))
        return np.asarray(self.space.backend.vectors[view.rows[first]], dtype=np.float32)

    def _view_cosines(self, vector: NDArray[np.float32]) -> Scores:
        view = self.views[Component.OVERVIEW]
        cosines = self.space.backend.scores(vector[None, :], view.rows)[0]
        return best_per_card(cosines, np.searchsorted(view.cards, np.arange(self.cards + 1)).astype(np.int64))[0]

    def _nearest_passages(self, near: Sequence[int]) -> tuple[Scores, NDArray[np.int64]]:
        """Return each card's passage that is nearest to the given cards' overviews."""
        target = self.overview_vectors(near).sum(axis=0)
        target = target / max(float(np.linalg.norm(target)), 1e-9)
        return best_per_card(self.space.backend.scores(target[None, :], None)[0], self.space.starts)
