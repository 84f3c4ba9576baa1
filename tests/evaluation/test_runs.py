"""Runs: asked of an engine, read from files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from toy import HashEncoder, toy_catalogue

from ale_semantic import Engine, build_index
from ale_semantic.errors import JudgmentError, UnknownNameError
from ale_semantic.evaluation.judgments import JudgedQuery
from ale_semantic.evaluation.runs import condition_of, load_run, run_engine, run_to_dict
from ale_semantic.types import Mode, Verdict


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder = tmp_path_factory.mktemp("runs") / "index"
    build_index(toy_catalogue(), folder, encoder=HashEncoder())
    return Engine.open(folder, encoder=HashEncoder())


def test_filters_are_alternatives_within_a_field_and_narrow_between_fields(engine: Engine) -> None:
    query = JudgedQuery("q", "work", {}, filters={"domain": ("legal", "science"), "os": ("linux",)})
    tasks = run_engine(engine, [query]).answers["q"].tasks
    wanted = {card.task_id for card in engine.catalogue if card.domain in ("legal", "science") and card.os == "linux"}
    assert set(tasks) == wanted
    assert condition_of({}) is None


def test_a_task_is_asked_for_its_like_and_left_out(engine: Engine) -> None:
    answer = run_engine(engine, [JudgedQuery("q", "", {}, task="legal/lease_review")]).answers["q"]
    assert len(answer.tasks) == len(engine.catalogue) - 1
    assert "legal/lease_review" not in answer.tasks


def test_a_run_keeps_order_verdict_and_time(engine: Engine) -> None:
    run = run_engine(engine, [JudgedQuery("q", "fit a comet's orbit", {})], mode=Mode.LEXICAL)
    answer = run.answers["q"]
    assert run.name == "hash lexical"
    expected = [hit.task_id for hit in engine.search("fit a comet's orbit", k=100, mode="lexical").hits]
    assert sorted(answer.tasks, key=lambda task: -answer.tasks[task]) == expected
    assert len(set(answer.tasks.values())) == len(expected)  # no ties that a measure could turn round
    assert answer.verdict is Verdict.STRONG
    assert answer.milliseconds is not None
    assert answer.milliseconds > 0


def test_an_unknown_value_or_task_is_an_error(engine: Engine) -> None:
    with pytest.raises(UnknownNameError, match="leagl"):
        run_engine(engine, [JudgedQuery("q", "x", {}, filters={"domain": ("leagl",)})])
    with pytest.raises(UnknownNameError, match="no/such"):
        run_engine(engine, [JudgedQuery("q", "", {}, task="no/such")])


def test_a_run_written_and_read_is_the_same(engine: Engine, tmp_path: Path) -> None:
    run = run_engine(engine, [JudgedQuery("q", "lease", {})], name="mine")
    for number, stored in enumerate((run_to_dict(run), {"run": run_to_dict(run), "means": {}})):
        file = tmp_path / f"{number}.json"
        file.write_text(json.dumps(stored), encoding="utf-8")
        assert load_run(file) == run


def test_a_trec_run(tmp_path: Path) -> None:
    file = tmp_path / "other.run"
    file.write_text("q1 Q0 a/b 1 9.5 tag\nq1 Q0 a/c 2 3 tag\nq2 Q0 a/b 1 1 tag\n")
    run = load_run(file)
    assert run.name == "other"
    assert {qid: dict(answer.tasks) for qid, answer in run.answers.items()} == {
        "q1": {"a/b": 9.5, "a/c": 3.0},
        "q2": {"a/b": 1.0},
    }


@pytest.mark.parametrize(
    ("text", "problem"),
    [("q1 Q0 a/b 1", ":1: must be"), ("q1 Q0 a/b 1 x tag", ":1: must be"), ("{", "no evaluation"), ("{}", "no eval")],
)
def test_no_run(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "bad"
    file.write_text(text)
    with pytest.raises(JudgmentError, match=problem):
        load_run(file)
    with pytest.raises(JudgmentError, match="can't be read"):
        load_run(tmp_path / "absent")
