"""Ladders, splits, coverage, duplicates, leaks and prerequisites."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ale_semantic.curriculum import (
    LadderRequest,
    LimitError,
    OwnTask,
    Pool,
    SplitRequest,
    TwinThresholds,
    coverage,
    duplicates,
    ladders,
    leaks,
    parse_own_tasks,
    prerequisites,
    read_own_tasks,
    read_topics,
    split,
)
from ale_semantic.curriculum.own_tasks import kind_of
from ale_semantic.curriculum.shared_text import shared_text
from ale_semantic.engine import Engine
from ale_semantic.errors import CurriculumError
from ale_semantic.types import Band

TWINS = {"ledger/entries_30", "ledger/entries_900"}


def test_the_next_rung_is_the_harder_near_twin(engine: Engine) -> None:
    result = ladders(engine, LadderRequest(task="ledger/entries_30"))
    assert (result.next_rung, result.previous_rung) == ("ledger/entries_900", None)
    assert ladders(engine, LadderRequest(task="ledger/entries_900")).previous_rung == "ledger/entries_30"


def test_all_ladders_rise_and_hold_each_task_once(engine: Engine) -> None:
    found = ladders(engine, LadderRequest(min_closeness=-0.2)).ladders
    ids = [task_id for ladder in found for task_id in ladder.task_ids]
    assert len(ids) == len(set(ids))
    assert ("ledger/entries_30", "ledger/entries_900") in [ladder.task_ids for ladder in found]
    for ladder in found:
        levels = [rung.tier.level for rung in ladder.rungs if rung.tier is not None]
        assert levels == sorted(set(levels))


def test_without_a_rung_the_nearest_is_named(engine: Engine) -> None:
    with pytest.raises(LimitError, match=r"the nearest is \w+/\w+"):
        ladders(
            engine,
            LadderRequest(task="ledger/entries_30", pool=Pool(exclude=("ledger/entries_900",)), min_closeness=0.9),
        )


def test_near_duplicates_are_listed_with_their_text(engine: Engine) -> None:
    pair = duplicates(engine).pairs[0]
    assert {pair.first.task_id, pair.second.task_id} == TWINS
    assert pair.band is Band.STRONG
    assert "Mark each line that has no receipt" in pair.shared[0]


def test_thresholds_move_the_report(engine: Engine) -> None:
    strict = duplicates(engine, thresholds=TwinThresholds(wording=1.5, closeness=1.5)).pairs
    loose = duplicates(engine, thresholds=TwinThresholds(wording=0.05, closeness=0.05)).pairs
    assert strict == ()
    assert len(loose) > len(duplicates(engine).pairs)
    assert set(duplicates(engine).pairs) <= set(duplicates(engine, include_weak=True).pairs)
    with pytest.raises(CurriculumError, match="wording"):
        TwinThresholds(wording=0)


def test_a_report_can_be_cut_and_still_counts_all_pairs(engine: Engine) -> None:
    limits = TwinThresholds(wording=0.05, closeness=0.05)
    whole, cut = duplicates(engine, thresholds=limits), duplicates(engine, thresholds=limits, most=2)
    assert cut.pairs == whole.pairs[:2]
    assert cut.found == whole.found == len(whole.pairs) > 2


@pytest.mark.parametrize(("text", "kind"), [('\n{"a": 1}', "jsonl"), ('"a"', "jsonl"), ("a {b}", "txt"), ("", "txt")])
def test_the_kind_of_pasted_tasks_is_told_by_how_they_begin(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_own_tasks_are_told_apart(engine: Engine) -> None:
    copy = engine.catalogue.get("ledger/entries_30").prompt
    report = leaks(engine, [OwnTask("copy", copy), OwnTask("other", "Walk the dog around the pond at noon.")])
    assert report.tasks[0].nearest.task_id == "ledger/entries_30"
    assert [leak.band is Band.STRONG for leak in report.tasks] == [True, False]
    assert report.leaks == 1


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("jsonl", json.dumps({"id": "a", "prompt": "one two"}) + "\n\n" + json.dumps("three")),
        ("csv", 'id,prompt\na,"one\ntwo"\nb,three\n'),
        ("txt", "one two\nmore\n\nthree\n"),
    ],
)
def test_own_tasks_are_read_from_each_form(kind: str, text: str) -> None:
    found = parse_own_tasks(text, kind=kind, name="mine")
    assert len(found) == 2
    assert found[0].text.startswith("one")


@pytest.mark.parametrize(
    ("kind", "text", "told"), [("jsonl", "{oops", "mine:1"), ("txt", "\n\n", "no task"), ("csv", "id\na,b\n", "mine:2")]
)
def test_own_tasks_that_can_not_be_read_are_named(kind: str, text: str, told: str) -> None:
    with pytest.raises(CurriculumError, match=told):
        parse_own_tasks(text, kind=kind, name="mine")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(CurriculumError, match=r"nothing\.csv"):
        read_own_tasks(tmp_path / "nothing.csv")


def test_shared_text_is_quoted_from_the_first() -> None:
    assert shared_text("Now, Read the THIRD line aloud twice.", "then read the third line aloud, once") == (
        "Read the THIRD line aloud",
    )
    assert shared_text("nothing in common here at all", "quite another text") == ()


@pytest.mark.parametrize("seed", range(3))
def test_splits_keep_near_twins_together(engine: Engine, seed: int) -> None:
    result = split(engine, SplitRequest(test=0.3, seed=seed))
    train, test = ({task.task_id for task in side} for side in (result.train, result.test))
    assert len(test) == 6
    assert train | test == {card.task_id for card in engine.catalogue}
    assert not train & test
    assert train >= TWINS or test >= TWINS
    assert result == split(engine, SplitRequest(test=0.3, seed=seed))


def test_a_split_without_two_sides_is_refused(engine: Engine) -> None:
    with pytest.raises(LimitError, match="near twins of each other"):
        split(engine, SplitRequest(pool=Pool(domains=("ledger",))))
    with pytest.raises(CurriculumError, match="between 0 and 1"):
        split(engine, SplitRequest(test=1.5))


def test_coverage_counts_each_tier(skilled: Engine) -> None:
    result = coverage(skilled, topics=["loom and warp", " "])
    counts = {(cell.domain, cell.tier): cell.tasks for cell in result.cells if cell.skill is None}
    assert counts["baking", "near-term"] == 2
    assert ("ledger", "near-term") in {(cell.domain, cell.tier) for cell in result.empty}
    assert [topic.topic for topic in result.topics] == ["loom and warp"]
    best = result.topics[0].best
    assert best is not None
    assert best.domain == "weaving"
    assert any(cell.skill == "Baking Desk" and cell.tasks == 2 for cell in result.cells)


def test_topics_are_read_one_a_line() -> None:
    assert read_topics("# mine\nsails\n\n ropes \n") == ("sails", "ropes")
    with pytest.raises(CurriculumError, match="no topic"):
        read_topics("# nothing\n")


def test_prerequisites_come_before_and_after(skilled: Engine) -> None:
    result = prerequisites(skilled, "sailing/part_2")
    assert {needed.skill for needed in result.skills} == {"Sailing Desk", "ToolC"}
    desk = next(needed for needed in result.skills if needed.skill == "Sailing Desk")
    assert {trainer.task.task_id for trainer in desk.trained_by} == {f"sailing/part_{place}" for place in (0, 1, 3)}
    assert all(trainer.task.tiers[0].level <= 1 for trainer in result.before)
    assert all(trainer.task.tiers[-1].level >= 1 for trainer in result.opens)


def test_prerequisites_without_skills_say_so(engine: Engine) -> None:
    result = prerequisites(engine, "sailing/part_2")
    assert result.skills == ()
    assert "no skills" in result.notices[0]
    assert result.before
