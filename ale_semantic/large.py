"""Ranking a catalogue that is too large to score every card for every query.

Candidates are found by the planned search of passages and by BM25; they alone get scores, and exactly those that
`Ranker` would give, but that the components are standardised by a fixed sample of cards instead of by all. So a
card's score depends neither on the filter nor on the page. Where a page lies beyond the candidates, or hits below a
band are to be left out, all cards that pass the filter are scored, block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ale_semantic.bands import SIMILAR, Evidence
from ale_semantic.components import Component, see
from ale_semantic.embeddings.late import spans
from ale_semantic.embeddings.likeness import Likeness
from ale_semantic.evidence import gather_evidence
from ale_semantic.fusion import Scores, best_per_card, softmax
from ale_semantic.lexical import WeightedTerms
from ale_semantic.once import Once
from ale_semantic.pools import Norm, Parts, Pool, pool_of
from ale_semantic.query_vectors import QueryVector
from ale_semantic.ranking import EVERY_CARD, SHARPNESS, SPREAD, STEP_TIER, STEP_WISH, Ranker, Ranking, Scope
from ale_semantic.types import Mode, PlanKind, SearchPlan

# Up to here every card is scored: 100,000 passages (2,000 cards) take 40 ms more than the encoder, and below it the
# relatedness of all cards is at hand.
MOST_EXACT_PASSAGES = 100_000
CANDIDATES = 200  # cards by their passages: they hold 99 % of the best ten of exact ranking (docs/benchmarks.md)
LEXICAL_CANDIDATES = 100  # cards by BM25
MOST_CANDIDATES = 2000  # beyond so many, all cards that pass are scored
_SAMPLE = 256  # cards by which components are standardised: their deviation is known to 5 %
_LENDERS = 100  # best cards that lend to related ones: beyond them the softmax has next to nothing
_BLOCK = 1024  # cards scored together: some 100 MB
_SEED = 5

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class LargeRanker(Ranker):
    """A ranker that scores candidates; `sample` and `likeness` are made by the first query."""

    domains: Once[NDArray[np.int32]]
    sample: Once[Pool]
    likeness: Once[Likeness]

    @classmethod
    def over(cls, ranker: Ranker, domains: Once[NDArray[np.int32]]) -> LargeRanker:
        """Make one of a plain ranker; `domains` gives the code of each card's domain, shape (cards,)."""
        chosen = np.arange(ranker.cards)
        if ranker.cards > _SAMPLE:
            chosen = np.sort(np.random.default_rng(_SEED).choice(ranker.cards, size=_SAMPLE, replace=False))
        sample = Once(lambda: pool_of(ranker, chosen, domains.get()))
        return cls(
            space=ranker.space,
            lexical=ranker.lexical,
            related=None,
            skills=ranker.skills,
            background=ranker.background,
            views=ranker.views,
            domains=domains,
            sample=sample,
            likeness=Once(lambda: Likeness.measured(sample.get().views)),
        )

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
        """Score the candidates of a scope, or all that pass where the scope asks for more than candidates."""
        if query is None:
            return Ranker.rank(self, terms, query, mode, unknown=unknown, skills=skills)
        words = self.lexical.scores(terms) if mode is not Mode.DENSE else None
        base, rows, plan = self._chosen(query.vector[None, :], words, scope)
        sample, weights = self._parts(self.sample.get(), query, words, skills=skills)
        norm = Norm.of(sample, weights, words)
        few = list(self._pools(rows)) if len(rows) <= _BLOCK else None
        scored = [self._scored(pool, query, words, norm, skills=skills) for pool in few or self._pools(rows)]
        own = np.concatenate([one for _, one in scored])
        fused = own + SPREAD * self._lent(base, rows, own, few)
        evidence = self._evidence_of(terms, unknown, base, rows, fused, [parts for parts, _ in scored])
        dense = self._spaced(rows, np.concatenate([parts.best for parts, _ in scored]))
        passages = np.full(self.cards, -1, dtype=np.int64)
        passages[rows] = np.concatenate([parts.passages for parts, _ in scored])
        return Ranking(
            self._spaced(rows, fused),
            self._spaced(rows, own),
            dense,
            words,
            passages,
            evidence,
            mode,
            rows=rows,
            plan=plan,
        )

    def rank_step(self, named: Ranking, wish: Ranking, row: int, preference: Scores) -> Ranking:
        """Score the cards that the wish scored as a step from one card."""
        rows = _rows_of(wish)
        scores = STEP_WISH * wish.own[rows] + self._related([row], rows)[0] + STEP_TIER * preference[rows]
        return replace(wish, fused=self._spaced(rows, scores), evidence=named.evidence)

    def rank_similar(
        self, near: Sequence[int], far: Sequence[int], text: Ranking | None, scope: Scope = EVERY_CARD
    ) -> Ranking:
        """Score the neighbours of cards, or what a text's ranking scored, by nearness to some and not to others."""
        rows, plan = (_rows_of(text), text.plan) if text is not None else self._neighbours(near, scope)
        related = self._related([*near, *far], rows)
        parts = [*related[: len(near)], *(-0.5 * related[len(near) :])]
        if text is not None:
            parts.append(text.fused[rows])
        scores = np.asarray(np.mean(parts, axis=0), dtype=np.float32)
        cosines, passages = (text.dense, text.best_passage) if text is not None else (None, None)
        if near:
            cosines, passages = self._nearest_to(near, rows)
        spaced = self._spaced(rows, scores)
        standing = Evidence(best=float(scores.max(initial=0.0)))
        return Ranking(spaced, spaced, cosines, None, passages, standing, SIMILAR, rows=rows, plan=plan)

    def neighbours(self, near: Sequence[int], scope: Scope) -> tuple[int, ...]:
        """Return the rows of the cards that may be near to some cards."""
        return tuple(self._neighbours(near, scope)[0].tolist()) if near else ()

    def relatedness(self, row: int) -> Scores:
        """Return how related one card is to each card, shape (cards,), block by block."""
        return np.asarray(self._related([row], np.arange(self.cards))[0], dtype=np.float32)

    def spread(self, own: Scores) -> Scores:
        """Return scores as they are: `rank` lends among the candidates."""
        return own

    def _neighbours(self, near: Sequence[int], scope: Scope) -> tuple[Rows, SearchPlan]:
        _, rows, plan = self._chosen(self._aim(near)[None, :], None, scope)
        return rows, plan

    def _aim(self, near: Sequence[int]) -> Scores:
        total = self.overview_vectors(near).sum(axis=0)
        return np.asarray(total / max(float(np.linalg.norm(total)), 1e-9), dtype=np.float32)

    def _nearest_to(self, near: Sequence[int], rows: Rows) -> tuple[Scores, Rows]:
        """Return the cosine and row of each scored card's passage that is nearest to the given cards' overviews."""
        cosines, passages = np.full(self.cards, -np.inf, dtype=np.float32), np.full(self.cards, -1, dtype=np.int64)
        aim = self._aim(near)[None, :]
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            own, starts = spans(self.space.starts, block)
            cosines[block], best = best_per_card(self.space.backend.scores(aim, own)[0], starts)
            passages[block] = own[best]
        return cosines, passages

    def _chosen(self, vector: Scores, words: Scores | None, scope: Scope) -> tuple[Rows, Rows, SearchPlan]:
        """Return the candidates whatever the filter, all rows to score, ascending, and how they were found."""
        wanted = max(CANDIDATES, 2 * scope.wanted)
        base, plan = self._candidates(vector, words, None, CANDIDATES)
        passing = self.cards if scope.mask is None else int(np.count_nonzero(scope.mask))
        if scope.every or (wanted > MOST_CANDIDATES and passing > MOST_CANDIDATES):
            found = np.arange(self.cards) if scope.mask is None else np.flatnonzero(scope.mask)
            plan = SearchPlan(PlanKind.EXACT, plan.passages, int(np.diff(self.space.starts)[found].sum()))
        elif passing < self.cards or wanted > CANDIDATES:
            found, plan = self._candidates(vector, words, scope.mask, wanted)
        else:
            found = base
        rows = np.unique(np.concatenate([base, found, np.array(scope.also, dtype=np.int64)]))
        return base, rows, replace(plan, candidates=len(rows))

    def _candidates(
        self, vector: Scores, words: Scores | None, mask: NDArray[np.bool_] | None, wanted: int
    ) -> tuple[Rows, SearchPlan]:
        """Return the cards with the nearest passages and those that BM25 puts first, ascending."""
        passages = np.repeat(mask, np.diff(self.space.starts)) if mask is not None else None
        depth = 4 * wanted
        while True:
            found = self.space.backend.search(vector, depth, passages)
            rows = found.rows[0][found.rows[0] >= 0]
            owners = self.space.passages.cards[rows]
            cards = owners[np.sort(np.unique(owners, return_index=True)[1])][:wanted]
            if len(cards) >= wanted or len(rows) < depth:
                break
            depth *= 4  # few cards hold all of the nearest passages
        chosen = [cards.astype(np.int64)]
        if words is not None:
            hits = np.flatnonzero(words > 0 if mask is None else (words > 0) & mask)
            if len(hits) > LEXICAL_CANDIDATES:
                hits = hits[np.argpartition(-words[hits], LEXICAL_CANDIDATES)[:LEXICAL_CANDIDATES]]
            chosen.append(hits)
        return np.unique(np.concatenate(chosen)), found.plan

    def _pools(self, rows: Rows) -> Iterator[Pool]:
        for start in range(0, len(rows), _BLOCK):
            yield pool_of(self, rows[start : start + _BLOCK], self.domains.get())

    def _scored(
        self, pool: Pool, query: QueryVector, words: Scores | None, norm: Norm, *, skills: bool
    ) -> tuple[Parts, Scores]:
        parts, _ = self._parts(pool, query, words, skills=skills)
        return parts, norm.own(parts.components)

    def _parts(
        self, pool: Pool, query: QueryVector, words: Scores | None, *, skills: bool
    ) -> tuple[Parts, dict[Component, float]]:
        """Return the components of a pool's cards, and what each weighs for this query."""
        ranker, floors = pool.ranker, None
        if pool is not self.sample.get():
            floors = self.floors(query)
        seen = see(ranker.space, ranker.views, ranker.skills if skills else None, query, floors=floors)
        components = seen.components if words is None else {**seen.components, Component.WORDS: words[pool.rows]}
        own, _ = spans(self.space.starts, pool.rows)
        return Parts(pool.rows, components, seen.best, own[seen.passages]), seen.weights

    def floors(self, query: QueryVector) -> dict[Component, float]:
        """Return the cosine of the sample's farthest card in each view, which a card without the field is given."""
        ranker = self.sample.get().ranker
        rows = {component: view.rows for component, view in ranker.views.items()}
        return {
            component: float((ranker.space.backend.vectors[own] @ query.vector).min(initial=1.0))
            for component, own in rows.items()
        }

    def _lent(self, base: Rows, rows: Rows, own: Scores, few: list[Pool] | None) -> Scores:
        """Return what the best candidates lend to each row; the same ones for every filter and page."""
        places = np.searchsorted(rows, base)
        best = places[np.argsort(-own[places], kind="stable")[:_LENDERS]]
        return np.asarray(
            softmax(SHARPNESS * own[best]) @ self._related(rows[best].tolist(), rows, few), dtype=np.float32
        )

    def _related(self, ones: Sequence[int], rows: Rows, few: list[Pool] | None = None) -> NDArray[np.float32]:
        """Return how related some cards are to each of the rows, shape (ones, rows).

        Args:
            ones: rows of cards.
            rows: the rows to compare them with.
            few: the pools of these rows, which then hold the ones too, where they are at hand.
        """
        if not len(ones):
            return np.zeros((0, len(rows)), dtype=np.float32)
        order = np.unique(np.array(ones, dtype=np.int64))
        if few is not None and len(few) == 1:
            first = few[0].views.part(np.searchsorted(rows, order))
        else:
            first = pool_of(self, order, self.domains.get()).views
        blocks = [self.likeness.get().between(first, pool.views) for pool in few or self._pools(rows)]
        return np.concatenate(blocks, axis=1)[np.searchsorted(order, ones)]

    def _evidence_of(
        self, terms: WeightedTerms, unknown: bool, base: Rows, rows: Rows, fused: Scores, parts: Sequence[Parts]
    ) -> Evidence:
        """Return the evidence of the candidates whatever the filter."""
        places = np.searchsorted(rows, base)
        near = tuple(
            self._spaced(base, np.concatenate(values)[places])
            for values in (
                [one.best for one in parts],
                [one.components[Component.LATE] for one in parts],
                [one.components[Component.OVERVIEW] for one in parts],
            )
        )
        top = int(base[np.argmax(fused[places])])
        return gather_evidence(
            terms, unknown, self.lexical, top, cosines=(near[0], near[1], near[2]), background=self.background
        )

    def _spaced(self, rows: Rows, scores: Scores) -> Scores:
        """Return scores of some rows among all cards, -inf for those without a score, shape (cards,)."""
        spaced = np.full(self.cards, -np.inf, dtype=np.float32)
        spaced[rows] = scores
        return spaced


def suited(ranker: Ranker, domains: Callable[[], NDArray[np.int32]]) -> Ranker:
    """Return a ranker that suits the number of passages; `domains` gives the code of each card's domain."""
    small = len(ranker.space.passages) <= MOST_EXACT_PASSAGES
    return ranker if small else LargeRanker.over(ranker, Once(domains))


def _rows_of(ranking: Ranking) -> Rows:
    return ranking.rows if ranking.rows is not None else np.arange(len(ranking.fused))
