"""From a ranking to an answer: order, bands, reasons, verdict, page, counts."""

from __future__ import annotations

import numpy as np

from ale_semantic.bands import scales
from ale_semantic.catalogue import Catalogue
from ale_semantic.explain import explain
from ale_semantic.facets import FacetTable
from ale_semantic.fusion import Mask
from ale_semantic.plans import SearchPlan
from ale_semantic.question import Question
from ale_semantic.ranking import Ranker, Ranking
from ale_semantic.types import Band, Facet, Hit, Provenance, SearchResult, Verdict, Why

_DECIMALS = 5  # of a standardised score that say something
EXACT_SCORE = 1.0  # kept for a task that the query names by id or exact title
_BAND_ORDER = (Band.NONE, Band.WEAK, Band.STRONG)


def browse(catalogue: Catalogue, table: FacetTable, provenance: Provenance, question: Question) -> SearchResult:
    """Answer a blank query: all cards that pass the filter, in the order of their ids."""
    rows = np.flatnonzero(question.mask)
    page = rows[question.page.offset : question.page.offset + question.page.k]
    hits = [
        Hit(catalogue.cards[row], 0.0, Band.NONE, question.page.offset + place, Why(None, (), None, None))
        for place, row in enumerate(page, start=1)
    ]
    verdict = Verdict.BROWSE if len(rows) else Verdict.FILTERED_OUT
    return _result(table, provenance, question, verdict, len(rows), tuple(hits), None)


def respond(
    catalogue: Catalogue,
    table: FacetTable,
    provenance: Provenance,
    question: Question,
    ranker: Ranker,
    ranking: Ranking,
) -> SearchResult:
    """Answer a query from its ranking."""
    exact = question.named
    scale = scales()[ranking.scale]
    # Cards that are the same come out the same but for the last bits, which differ from one time to the next.
    fused = np.round(ranking.fused, _DECIMALS)
    best = ranking.base(fused).max()  # on a later page of a large catalogue may stand a card that is better still
    scores = scale.scores(np.minimum(fused, best), ranking.evidence)
    scores[list(exact)] = EXACT_SCORE
    standing = fused.copy()  # orders the cards: far up, scores come so near to 1 that they are equal
    standing[list(exact)] = np.inf
    matching = None  # all
    if question.left_out or question.page.min_band is not None:
        # Of all cards, whether they pass the filter or not: each facet is counted under the other facets' selections.
        matching = np.ones(len(scores), dtype=bool)
        matching[list(question.left_out)] = False
        if question.page.min_band is not None:
            matching &= scale.levels(scores) >= _BAND_ORDER.index(question.page.min_band)
    counted = question.mask if matching is None else matching & question.mask
    order = ranking.order(standing, counted)
    page = order[question.page.offset : question.page.offset + question.page.k]
    found, first = scores[page].tolist(), question.page.offset + 1
    reasons = explain(question.query, catalogue.cards, page, ranker, ranking, question.mask, exact)
    hits = [
        Hit(catalogue.cards[row], score, scale.band(score), rank, why)
        for rank, (row, score, why) in enumerate(zip(page.tolist(), found, reasons, strict=True), start=first)
    ]
    best = float(scores[ranking.first(question.mask)].max(initial=-np.inf))
    verdict = Verdict(str(scale.band(best))) if question.mask.any() else Verdict.FILTERED_OUT
    return _result(
        table, provenance, question, verdict, int(np.count_nonzero(counted)), tuple(hits), matching, ranking.plan
    )


def _result(
    table: FacetTable,
    provenance: Provenance,
    question: Question,
    verdict: Verdict,
    total: int,
    hits: tuple[Hit, ...],
    matching: Mask | None,
    plan: SearchPlan | None = None,
) -> SearchResult:
    facets: tuple[Facet, ...] = ()
    if question.page.count_facets:
        facets = table.counts(condition=question.condition, matching=matching)
    if question.page.min_band is None:
        counted = "tasks that pass the filter" if question.condition is not None else "all tasks"
    else:
        counted = f"tasks that match the query at least {question.page.min_band}"
    return SearchResult(
        query=question.query,
        where=question.where,
        mode=question.page.mode,
        verdict=verdict,
        total=total,
        hits=hits,
        facets=facets,
        counted=counted,
        provenance=provenance,
        notices=question.notices,
        recognised=question.recognised,
        plan=plan,
    )
