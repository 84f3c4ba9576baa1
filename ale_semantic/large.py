"""Ranking a catalogue that is too large to score every card for every query.

Candidates are found by the planned search of passages and by a guess of every card's score from what is known of it
(`candidates`, `sketch`). They alone get scores: those that `Ranker` would give, but that what needs all cards is
estimated, the mean and deviation of each component by a fixed sample, what is known of all cards and the candidates,
and what the cards that are no candidates lend to related ones by a great fixed sample. So a card's score depends
neither on the filter nor on the page. Cards are scored stage by stage, each stage by itself, so that a deeper page
changes nothing in those before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ale_semantic.bands import SIMILAR, Evidence
from ale_semantic.beside import BESIDE
from ale_semantic.candidates import Chosen, Finder
from ale_semantic.components import WEIGHTS, Component, see
from ale_semantic.embeddings.crowds import Multitude
from ale_semantic.embeddings.late import spans
from ale_semantic.embeddings.likeness import CardViews, Likeness
from ale_semantic.evidence import gather_evidence
from ale_semantic.fusion import Scores, best_per_card
from ale_semantic.lexical import WeightedTerms
from ale_semantic.once import Once
from ale_semantic.pools import Lenders, Norm, Parts, Pool, Rows, pool_of
from ale_semantic.query_vectors import QueryVector
from ale_semantic.ranking import EVERY_CARD, SPREAD, STEP_TIER, STEP_WISH, Ranker, Ranking, Scope, Stage
from ale_semantic.sketch import Known, Sketch
from ale_semantic.types import Mode

# Up to here every card is scored: 100,000 passages (2,000 cards) take 40 ms more than the encoder, and below it the
# relatedness of all cards is at hand.
MOST_EXACT_PASSAGES = 100_000
SAMPLE = 768  # cards that stand for all: their scores take no longer than the search of passages beside them
COMPARED = 384  # cards whose relatedness to each other is that of all
LENDING = 65_536  # cards that stand for all as lenders: they are kept in memory, some 1 kB each
_BLOCK = 1024  # cards scored together: some 100 MB
_SEED = 5

Share = tuple[Pool, Parts, Scores]  # some cards, their components and own scores


@dataclass(frozen=True, slots=True)
class LargeRanker(Ranker):
    """A ranker that scores candidates; what it knows of all cards is read by the first query."""

    domains: Once[NDArray[np.int32]]
    sample: Once[Pool]
    likeness: Once[Likeness]
    sketch: Once[Sketch]
    others: Once[Multitude]
    finder: Finder

    @classmethod
    def over(cls, ranker: Ranker, domains: Once[NDArray[np.int32]]) -> LargeRanker:
        """Make one of a plain ranker; `domains` gives the code of each card's domain, shape (cards,)."""
        sample = Once(lambda: pool_of(ranker, _drawn(ranker.cards, SAMPLE), domains.get()))
        compared = _drawn(ranker.cards, COMPARED)
        likeness = Once(lambda: Likeness.measured(CardViews.of(ranker.space, compared, domains.get()[compared])))
        lending = _drawn(ranker.cards, LENDING)
        return cls(
            space=ranker.space,
            lexical=ranker.lexical,
            related=None,
            skills=ranker.skills,
            background=ranker.background,
            views=ranker.views,
            domains=domains,
            sample=sample,
            likeness=likeness,
            sketch=Once(lambda: Sketch.of(ranker.space, ranker.views)),
            others=Once(lambda: Multitude.of(ranker.space, lending, domains.get()[lending], likeness.get())),
            finder=Finder(ranker.space),
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
        """Score the candidates of a scope, and later stages where its page reaches beyond them."""
        if query is None:
            return Ranker.rank(self, terms, query, mode, unknown=unknown, skills=skills)
        nearby = self.finder.nearby(query.vector, scope, terms=len(terms))
        read = BESIDE.start(self.others.get)  # at the first query that takes as long as all else
        words = self.lexical.scores(terms) if mode is not Mode.DENSE else None
        sample, weights = self._parts(self.sample.get(), query, words, skills=skills)
        exact = self._exact(query.vector, words, skills=skills)
        known = Known.of({**self.sketch.get().cosines(query.vector), **exact}, self.cards)
        guess = known.guess(weights)
        # A card without the field is taken to be as far as the sample's farthest card that has it.
        floors = {view: float(sample.components[view].min()) for view in self.views}

        def scored(rows: Rows) -> Iterator[tuple[Pool, Parts]]:
            for pool in self._pools(rows):
                yield pool, self._parts(pool, query, words, skills=skills, floors=floors)[0]

        first = self.finder.base(nearby, guess)
        base = list(scored(first))
        norm = Norm.of(known, exact, [parts for _, parts in base], sample, weights)
        own = [(pool, norm.own(parts.components)) for pool, parts in base]
        others = read()
        powers = norm.powers(known, others.rows, max(float(one.max()) for _, one in own))
        lenders = Lenders.of(own, others, powers, self.cards, self.likeness.get())
        chosen = self.finder.chosen(first, nearby, guess, scope)
        later = chain.from_iterable(scored(rows) for _, rows in chosen.stages[1:])
        every = ((pool, parts, norm.own(parts.components)) for pool, parts in chain(base, later))
        ranking = self._filled(chosen, every, lenders, words, mode)
        return replace(ranking, evidence=self._evidence_of(terms, unknown, ranking.fused, [one for _, one in base]))

    def rank_step(self, named: Ranking, wish: Ranking, row: int, preference: Scores) -> Ranking:
        """Score the cards that the wish scored as a step from one card."""
        rows = _rows_of(wish)
        scores = STEP_WISH * wish.own[rows] + self._related([row], wish)[0] + STEP_TIER * preference[rows]
        return replace(wish, fused=self._spaced(rows, scores), evidence=named.evidence)

    def rank_similar(
        self, near: Sequence[int], far: Sequence[int], text: Ranking | None, scope: Scope = EVERY_CARD
    ) -> Ranking:
        """Score the neighbours of cards, or what a text's ranking scored, by nearness to some and not to others."""
        known = text if text is not None else self._blank(self._near(near, scope))
        rows = _rows_of(known)
        related = self._related([*near, *far], known)
        parts = [*related[: len(near)], *(-0.5 * related[len(near) :])]
        if text is not None:
            parts.append(text.fused[rows])
        scores = np.asarray(np.mean(parts, axis=0), dtype=np.float32)
        cosines, passages = (text.dense, text.best_passage) if text is not None else (None, None)
        if near:
            cosines, passages = self._nearest_to(near, rows)
        spaced = self._spaced(rows, scores)
        found = replace(known, fused=spaced, own=spaced, dense=cosines, lexical=None, best_passage=passages)
        return replace(found, evidence=Evidence(best=float(found.base(spaced).max(initial=0.0))), scale=SIMILAR)

    def neighbours(self, near: Sequence[int], scope: Scope) -> tuple[int, ...]:
        """Return the rows of the cards that may be near to some cards, the same for every page."""
        if not near:
            return ()
        chosen = self._near(near, replace(scope, wanted=0, every=False))
        return tuple(np.concatenate([rows for _, rows in chosen.stages]).tolist())

    def _near(self, near: Sequence[int], scope: Scope) -> Chosen:
        """Choose cards that may be near to some by their overviews."""
        aim = self._aim(near)
        known = Known.of({**self.sketch.get().cosines(aim), **self._exact(aim, None, skills=True)}, self.cards)
        nearby, guess = self.finder.nearby(aim, scope), known.guess(WEIGHTS)
        return self.finder.chosen(self.finder.base(nearby, guess), nearby, guess, scope)

    def relatedness(self, row: int) -> Scores:
        """Return how related one card is to each card, shape (cards,), block by block."""
        return np.asarray(self._related([row], None)[0], dtype=np.float32)

    def spread(self, own: Scores) -> Scores:
        """Return scores as they are: `rank` lends among the candidates."""
        return own

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

    def _pools(self, rows: Rows) -> Iterator[Pool]:
        for start in range(0, len(rows), _BLOCK):
            yield pool_of(self, rows[start : start + _BLOCK], self.domains.get())

    def _parts(
        self,
        pool: Pool,
        query: QueryVector,
        words: Scores | None,
        *,
        skills: bool,
        floors: dict[Component, float] | None = None,
    ) -> tuple[Parts, dict[Component, float]]:
        """Return the components of a pool's cards, and what each weighs for this query."""
        ranker = pool.ranker
        seen = see(ranker.space, ranker.views, ranker.skills if skills else None, query, floors=floors)
        components = seen.components if words is None else {**seen.components, Component.WORDS: words[pool.rows]}
        own, _ = spans(self.space.starts, pool.rows)
        return Parts(pool.rows, components, seen.best, own[seen.passages]), seen.weights

    def _exact(self, vector: Scores, words: Scores | None, *, skills: bool) -> dict[Component, Scores]:
        """Return the components that are known of all cards."""
        known = {} if words is None else {Component.WORDS: words}
        if skills and self.skills is not None:
            known[Component.SKILLS] = self.skills.ranking_evidence(vector)[0]
        return known

    def _related(self, ones: Sequence[int], ranking: Ranking | None) -> NDArray[np.float32]:
        """Return how related some cards are to those that a ranking scored, None: to all, shape (ones, rows).

        The cards of each stage are taken by themselves, as `rank` does it.
        """
        rows = _rows_of(ranking) if ranking is not None else np.arange(self.cards)
        found = np.zeros((len(ones), len(rows)), dtype=np.float32)
        if not len(ones):
            return found
        order = np.unique(np.array(ones, dtype=np.int64))
        first = pool_of(self, order, self.domains.get()).views
        stages = ranking.stages[rows] if ranking is not None and ranking.stages is not None else np.zeros(len(rows))
        for stage in np.unique(stages):
            for pool in self._pools(rows[stages == stage]):
                related = self.likeness.get().between(first, pool.views)[np.searchsorted(order, ones)]
                found[:, np.searchsorted(rows, pool.rows)] = related
        return found

    def _evidence_of(self, terms: WeightedTerms, unknown: bool, fused: Scores, base: Sequence[Parts]) -> Evidence:
        """Return the evidence of the candidates whatever the filter."""
        rows = np.concatenate([one.rows for one in base])
        near = tuple(
            self._spaced(rows, np.concatenate(values))
            for values in (
                [one.best for one in base],
                [one.components[Component.LATE] for one in base],
                [one.components[Component.OVERVIEW] for one in base],
            )
        )
        top = int(rows[np.argmax(fused[rows])])
        return gather_evidence(
            terms, unknown, self.lexical, top, cosines=(near[0], near[1], near[2]), background=self.background
        )

    def _filled(
        self, chosen: Chosen, scored: Iterator[Share], lenders: Lenders, words: Scores | None, mode: Mode
    ) -> Ranking:
        """Return the ranking of cards that are scored one pool after the other."""
        blank = self._blank(chosen)
        fused, own, dense = (np.full(self.cards, -np.inf, dtype=np.float32) for _ in range(3))
        passages = np.full(self.cards, -1, dtype=np.int64)
        for pool, parts, scores in scored:
            own[pool.rows], dense[pool.rows], passages[pool.rows] = scores, parts.best, parts.passages
            fused[pool.rows] = scores + SPREAD * lenders.lent(pool)
        return replace(blank, fused=fused, own=own, dense=dense, lexical=words, best_passage=passages, scale=mode)

    def _blank(self, chosen: Chosen) -> Ranking:
        """Return the ranking of what was chosen, without scores."""
        stages = np.full(self.cards, Stage.REST, dtype=np.int8)
        for stage, rows in chosen.stages:
            stages[rows] = stage
        rows = np.sort(np.concatenate([rows for _, rows in chosen.stages]))
        nothing = np.zeros(0, dtype=np.float32)
        return Ranking(nothing, nothing, None, None, None, rows=rows, stages=stages, plan=chosen.plan)

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


def _drawn(cards: int, count: int) -> Rows:
    """Return the rows of so many cards drawn at random, the same at each time, ascending; all if there are fewer."""
    if cards <= count:
        return np.arange(cards)
    return np.sort(np.random.default_rng(_SEED).choice(cards, size=count, replace=False))
