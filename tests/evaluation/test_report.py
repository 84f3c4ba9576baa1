"""An evaluation as a record, as JSON, and as one page that needs nothing from elsewhere."""

from __future__ import annotations

import json
import re

import pytest

from ale_semantic.errors import JudgmentError
from ale_semantic.evaluation.judgments import JudgedQuery
from ale_semantic.evaluation.measures import NDCG
from ale_semantic.evaluation.report import TOTAL, evaluate, evaluation_to_dict, evaluation_to_html
from ale_semantic.evaluation.runs import Answer, Run
from ale_semantic.types import Verdict

JUDGED = [
    JudgedQuery("1", "maps <b>", {"a": 3}, kind="topic"),
    JudgedQuery("2", "leases", {"b": 3}, kind="skill", lang="de"),
    JudgedQuery("3", "nothing", {}, kind="no-answer"),
]


def run(name: str, *tasks: str) -> Run:
    answers = {str(place): Answer({task: 1.0}, Verdict.STRONG, 2.0 * place) for place, task in enumerate(tasks, 1)}
    return Run(name, answers)


def test_means_by_kind_and_language() -> None:
    found = evaluate(run("mine", "a", "x", "x"), JUDGED)
    means = {kind: row[NDCG].mean for kind, row in found.means.items()}
    assert means == {TOTAL: 0.5, "topic": 1.0, "skill": 0.0, "lang de": 0.0, "lang en": 1.0}
    assert found.median_ms == 4.0
    assert (found.none.unanswerable, found.none.rightly_none) == (1, 0)


def test_a_comparison_is_over_the_same_queries() -> None:
    found = evaluate(run("mine", "a", "b"), JUDGED, baseline=run("before", "a", "x"))
    assert found.baseline == "before"
    assert found.differences["skill"][NDCG].mean == 1.0
    assert found.differences["topic"][NDCG].mean == 0.0
    assert found.differences[TOTAL][NDCG].better == 1


def test_nothing_to_measure_is_an_error() -> None:
    with pytest.raises(JudgmentError, match="nothing to measure"):
        evaluate(run("mine", "a"), JUDGED[2:])
    with pytest.raises(JudgmentError, match="'other' answers none"):
        evaluate(run("mine", "a"), JUDGED, baseline=Run("other", {"9": Answer({"a": 1.0})}))


def test_as_json_values() -> None:
    stored = evaluation_to_dict(evaluate(run("mine", "a", "b"), JUDGED))
    assert json.loads(json.dumps(stored)) == stored
    assert stored["means"]["all"]["nDCG@10"] == {"mean": 1.0, "low": 1.0, "high": 1.0}
    assert [row["qid"] for row in stored["queries"]] == ["1", "2"]
    assert stored["no_answer"]["unanswerable"] == 1


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::PendingDeprecationWarning")
def test_the_page_stands_alone_and_shows_text_as_text() -> None:
    page = evaluation_to_html(evaluate(run("<i>mine", "a", "b"), JUDGED, baseline=run("before", "a", "x")))
    assert "maps &lt;b&gt;" in page
    assert "&lt;i&gt;mine" in page
    assert "<b>" not in page
    assert page.count("data:image/png;base64,") >= 1
    assert not re.findall(r"""(?:src|href)=["'](?!data:)""", page)
    assert "<script" not in page
