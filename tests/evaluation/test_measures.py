"""Measures, against values worked out by hand."""

from __future__ import annotations

import math

import pytest

from ale_semantic.evaluation.judgments import JudgedQuery
from ale_semantic.evaluation.measures import MRR, NDCG, RECALL, NoAnswer, by_kind, column, no_answer, score_queries
from ale_semantic.evaluation.runs import Answer, Run
from ale_semantic.types import Verdict


def run(**answers: list[str]) -> Run:
    return Run(
        "made up",
        {qid: Answer({task: 100.0 - place for place, task in enumerate(tasks)}) for qid, tasks in answers.items()},
    )


def test_graded_gain_is_linear_and_discounted_by_the_logarithm() -> None:
    judged = [JudgedQuery("q", "x", {"a": 3, "b": 1, "c": 2})]
    (scores,) = score_queries(run(q=["z", "b", "a"]), judged)
    gain = 1 / math.log2(3) + 3 / math.log2(4)
    best = 3 + 2 / math.log2(3) + 1 / math.log2(4)
    assert scores.values[NDCG] == pytest.approx(gain / best)
    assert scores.values[MRR] == pytest.approx(1 / 3)  # the first of grade 2 or more is the third
    assert scores.values[RECALL] == pytest.approx(1 / 2)  # one of two such


def test_only_the_first_ten_count() -> None:
    judged = [JudgedQuery("q", "x", {"a": 3})]
    (scores,) = score_queries(run(q=[f"z{place}" for place in range(10)] + ["a"]), judged)
    assert (scores.values[NDCG], scores.values[RECALL]) == (0, 0)
    assert scores.values[MRR] == pytest.approx(1 / 11)


def test_a_query_without_hits_counts_zero_and_one_without_answer_not_at_all() -> None:
    judged = [JudgedQuery("q1", "x", {"a": 3}), JudgedQuery("q2", "y", {"a": 3}), JudgedQuery("q3", "z", {})]
    scores = score_queries(run(q1=["a"], q3=["a"]), judged)
    assert [row.query.qid for row in scores] == ["q1", "q2"]
    assert column(scores, NDCG).tolist() == [1, 0]
    assert column(score_queries(run(), judged), NDCG).tolist() == [0, 0]


def test_a_query_with_related_tasks_only_has_gain_but_no_recall() -> None:
    (scores,) = score_queries(run(q=["a"]), [JudgedQuery("q", "x", {"a": 1})])
    assert (scores.values[NDCG], scores.values[MRR]) == (1, 0)


def test_kinds_are_grouped_in_their_order() -> None:
    judged = [JudgedQuery(str(place), "x", {"a": 3}, kind=kind) for place, kind in enumerate(["b", "a", "b"])]
    groups = by_kind(score_queries(run(), judged))
    assert {kind: len(rows) for kind, rows in groups.items()} == {"b": 2, "a": 1}
    assert list(groups) == ["b", "a"]


def test_nothing_fits_is_counted_rightly_and_wrongly() -> None:
    judged = [JudgedQuery("1", "x", {"a": 3}), JudgedQuery("2", "x", {"a": 3}), JudgedQuery("3", "x", {})]
    judged.append(JudgedQuery("4", "x", {}))
    verdicts = {"1": Verdict.NONE, "2": Verdict.STRONG, "3": Verdict.NONE, "4": Verdict.WEAK}
    made = Run("made up", {qid: Answer({}, verdict) for qid, verdict in verdicts.items()})
    assert no_answer(made, judged) == NoAnswer(unanswerable=2, rightly_none=1, answerable=2, wrongly_none=1)
