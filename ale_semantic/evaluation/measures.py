"""Measures per query and in the mean, through ir-measures (trec_eval's definitions)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ale_semantic.evaluation.judgments import JudgedQuery
from ale_semantic.evaluation.runs import Run
from ale_semantic.types import Verdict

NDCG, MRR, RECALL = "nDCG@10", "RR(rel=2)", "R(rel=2)@10"
MEASURES = (NDCG, MRR, RECALL)
_USEFUL = 2  # the grade from which a task counts for the reciprocal rank and the recall


@dataclass(frozen=True, slots=True)
class QueryScores:
    """The measures of one answerable query; a query that the run missed scores 0."""

    query: JudgedQuery
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """How well "nothing fits" is said: shares with the counts they are made of."""

    unanswerable: int
    rightly_none: int
    answerable: int
    wrongly_none: int


def score_queries(run: Run, judged: Sequence[JudgedQuery]) -> list[QueryScores]:
    """Return the measures of each answerable query: nDCG@10, reciprocal rank and recall@10 of grades >= 2."""
    import ir_measures

    answerable = [query for query in judged if query.answerable]
    qrels = {query.qid: dict(query.relevant) for query in answerable}
    tasks = {qid: dict(answer.tasks) for qid, answer in run.answers.items() if qid in qrels and answer.tasks}
    values: dict[str, dict[str, float]] = {query.qid: dict.fromkeys(MEASURES, 0.0) for query in answerable}
    if tasks:
        parsed = {name: ir_measures.parse_measure(name) for name in MEASURES}
        names = {str(measure): name for name, measure in parsed.items()}
        for metric in ir_measures.iter_calc(list(parsed.values()), qrels, tasks):
            values[metric.query_id][names[str(metric.measure)]] = float(metric.value)
    return [QueryScores(query, values[query.qid]) for query in answerable]


def by_kind(scores: Iterable[QueryScores]) -> dict[str, list[QueryScores]]:
    """Group scores by the kind of query, kinds in the order of their first query."""
    groups: dict[str, list[QueryScores]] = {}
    for row in scores:
        groups.setdefault(row.query.kind, []).append(row)
    return groups


def column(scores: Sequence[QueryScores], measure: str) -> NDArray[np.float64]:
    """Return one measure of all queries, shape (queries,)."""
    return np.array([row.values[measure] for row in scores], dtype=np.float64)


def no_answer(run: Run, judged: Sequence[JudgedQuery]) -> NoAnswer:
    """Count the queries that were told "nothing fits", rightly and wrongly."""
    none = {qid for qid, answer in run.answers.items() if answer.verdict is Verdict.NONE}
    answerable = [query.qid for query in judged if query.answerable]
    others = [query.qid for query in judged if not query.answerable]
    return NoAnswer(
        unanswerable=len(others),
        rightly_none=len(none & set(others)),
        answerable=len(answerable),
        wrongly_none=len(none & set(answerable)),
    )
