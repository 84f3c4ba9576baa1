"""From a ranking to an answer: order, bands, reasons, verdict, page, counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from ale_semantic.bands import scales
from ale_semantic.catalogue import Catalogue
from ale_semantic.explain import explain
from ale_semantic.facets import FacetTable
from ale_semantic.filters import Condition
from ale_semantic.fusion import Mask, descending
from ale_semantic.languages import ENGLISH
from ale_semantic.names import TaskNames
from ale_semantic.ranking import Ranker, Ranking
from ale_semantic.types import Band, Facet, Hit, Mode, Provenance, Recognised, SearchPlan, SearchResult, Verdict, Why

EXACT_SCORE = 1.0  # kept for a task that the query names by id or exact title
_BAND_ORDER = (Band.NONE, Band.WEAK, Band.STRONG)


@dataclass(frozen=True, slots=True)
class Question:
    """One parsed request.

    `where` is the user's own filter, `condition` that and what the query adds; `mask` holds the cards that pass
    it, shape (cards,); `left_out` are rows that the asker has already.
    """

    query: str
    where: str
    condition: Condition | None
    mask: Mask
    k: int
    offset: int
    mode: Mode
    min_band: Band | None
    count_facets: bool
    left_out: tuple[int, ...] = ()
    recognised: tuple[Recognised, ...] = ()
    language: str = ENGLISH
    notices: tuple[str, ...] = ()

    def without(self, rows: Iterable[int]) -> Question:
        """Return the question over all cards but some, which the asker has already."""
        left_out = tuple(rows)
        mask = self.mask.copy()
        mask[list(left_out)] = False
        return replace(self, mask=mask, left_out=left_out)


def browse(catalogue: Catalogue, table: FacetTable, provenance: Provenance, question: Question) -> SearchResult:
    """Answer a blank query: all cards that pass the filter, in the order of their ids."""
    rows = np.flatnonzero(question.mask)
    page = rows[question.offset : question.offset + question.k]
    hits = [
        Hit(catalogue.cards[row], 0.0, Band.NONE, question.offset + place, Why(None, (), None, None))
        for place, row in enumerate(page, start=1)
    ]
    verdict = Verdict.BROWSE if len(rows) else Verdict.FILTERED_OUT
    return _result(table, provenance, question, verdict, len(rows), tuple(hits), None)


def respond(
    catalogue: Catalogue,
    table: FacetTable,
    provenance: Provenance,
    question: Question,
    names: TaskNames,
    ranker: Ranker,
    ranking: Ranking,
) -> SearchResult:
    """Answer a query from its ranking."""
    exact = names.named(question.query)
    scale = scales()[ranking.scale]
    scores = scale.scores(ranking.fused, ranking.evidence)
    scores[list(exact)] = EXACT_SCORE
    standing = ranking.fused.copy()  # orders the cards: far up, scores come so near to 1 that they are equal
    standing[list(exact)] = np.inf
    # Over all cards, whether they pass the filter or not: each facet is counted under the other facets' selections.
    matching = np.ones(len(scores), dtype=bool)
    matching[list(question.left_out)] = False
    if question.min_band is not None:
        matching &= scale.levels(scores) >= _BAND_ORDER.index(question.min_band)
    counted = matching & question.mask
    order = descending(standing, counted)
    page = order[question.offset : question.offset + question.k]
    reasons = explain(question.query, catalogue.cards, page, ranker, ranking, question.mask, exact)
    hits = [
        Hit(catalogue.cards[row], float(scores[row]), scale.band(float(scores[row])), rank, why)
        for rank, (row, why) in enumerate(zip(page, reasons, strict=True), start=question.offset + 1)
    ]
    best = float(scores[question.mask].max(initial=-np.inf))
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
    if question.count_facets:
        facets = table.counts(condition=question.condition, matching=matching)
    if question.min_band is None:
        counted = "tasks that pass the filter" if question.condition is not None else "all tasks"
    else:
        counted = f"tasks that match the query at least {question.min_band}"
    return SearchResult(
        query=question.query,
        where=question.where,
        mode=question.mode,
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
