"""Curriculum files: read, written, checked, exported, and compared over two catalogues."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from toy import toy_catalogue

from ale_semantic.curriculum import (
    Constraints,
    Curriculum,
    CurriculumTask,
    LimitError,
    PathRequest,
    Pool,
    Quota,
    SplitRequest,
    SubsetRequest,
    chart,
    check,
    compare,
    compare_engines,
    coverage,
    markdown,
    path,
    prerequisites,
    skill_steps,
    split,
    subset,
    task_list,
)
from ale_semantic.engine import Engine
from ale_semantic.errors import CurriculumError
from ale_semantic.types import TaskCard, Tier


def made_path(engine: Engine) -> Curriculum:
    return Curriculum.of_path(path(engine, PathRequest(goal="baking/part_5", pool=Pool(domains=("baking",)))))


def by_hand(*ids: str, **constraints: object) -> Curriculum:
    tasks = tuple(map(CurriculumTask, ids))
    return Curriculum(title="t", goal="g", constraints=Constraints(**constraints), tasks=tasks, provenance={})  # type: ignore[arg-type]


def test_a_path_survives_its_file_and_keeps_its_constraints(engine: Engine, tmp_path: Path) -> None:
    made = made_path(engine)
    file = tmp_path / "path.yaml"
    file.write_text(made.to_yaml(), encoding="utf-8")
    assert Curriculum.load(file) == made
    assert check(engine, made).is_kept


def test_a_subset_keeps_its_constraints(skilled: Engine) -> None:
    request = SubsetRequest(k=5, quotas=(Quota("tier", "last-exam", 2),), must=("baking/part_1",))
    made = Curriculum.of_subset(subset(skilled, request))
    assert Curriculum.parse(made.to_yaml()) == made
    assert check(skilled, made).is_kept


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: [", "not YAML"),
        ("title: x", "format:"),
        ("format: ale-semantic curriculum 1\ntasks: []", "at least one task"),
        ("format: ale-semantic curriculum 1\ntasks: [a]\nconstraint: {}", "unknown key 'constraint'"),
        ("format: ale-semantic curriculum 1\ntasks: [{id: a}]", "task 1"),
        ("format: ale-semantic curriculum 1\ntasks: [a]\nconstraints: {length: many}", "'length' can't be 'many'"),
        ("format: ale-semantic curriculum 1\ntasks: [a]\nconstraints: {quotas: [tier]}", "quota 'tier'"),
        ("format: ale-semantic curriculum 1\ntasks: [!!python/object:os.system a]", "not YAML"),
    ],
)
def test_a_file_that_is_wrong_names_the_place(text: str, told: str) -> None:
    with pytest.raises(CurriculumError, match=told):
        Curriculum.parse(text)


@pytest.mark.parametrize(
    ("curriculum", "constraint"),
    [
        (by_hand("baking/part_4", "baking/part_0", tiers_never_fall=True), "tiers_never_fall"),
        (by_hand("ledger/entries_30", "ledger/entries_900"), "no_near_twins"),
        (by_hand("baking/part_4", "baking/part_4"), "tasks"),
        (by_hand("baking/part_44"), "tasks"),
        (by_hand("baking/part_4", where="domain = sailing"), "where"),
        (by_hand("baking/part_4", exclude=("baking/part_4",)), "exclude"),
        (by_hand("baking/part_4", must=("baking/part_3",)), "must"),
        (by_hand("baking/part_4", length=2), "length"),
        (by_hand("baking/part_4", quotas=("tier=near-term:1..",)), "quotas"),
        (by_hand("baking/part_0", "sailing/part_5", min_step=0.9), "min_step"),
        (by_hand("baking/part_0", "sailing/part_5", max_new_skills=1), "max_new_skills"),
    ],
)
def test_each_constraint_that_is_not_kept_is_named(skilled: Engine, curriculum: Curriculum, constraint: str) -> None:
    assert {problem.constraint for problem in check(skilled, curriculum).problems} == {constraint}


def test_skills_stay_unchecked_without_any(engine: Engine) -> None:
    assert check(engine, by_hand("baking/part_0", max_new_skills=1)).unchecked == ("max_new_skills",)


def test_exports_hold_the_tasks_in_order(engine: Engine) -> None:
    made = made_path(engine)
    ids = [line for line in task_list(engine, made).splitlines() if not line.startswith("#")]
    assert ids == list(made.task_ids)
    text = markdown(engine, made)
    assert all(engine.catalogue.get(task_id).title in text for task_id in made.task_ids)
    with pytest.raises(LimitError, match="part_44"):
        task_list(engine, by_hand("baking/part_44"))


def test_the_chart_is_the_same_each_time(skilled: Engine) -> None:
    pytest.importorskip("matplotlib")
    made = made_path(skilled)
    picture = chart(skilled, made)
    assert b"<svg" in picture
    assert b"Baking Desk" in picture
    assert picture == chart(skilled, made)


def test_a_diff_tells_added_removed_and_changed(cards: tuple[TaskCard, ...]) -> None:
    changed = replace(cards[0], prompt=cards[0].prompt + " Twice.", tiers=(Tier.LAST_EXAM,), domain="pastry")
    new = toy_catalogue((changed, *cards[2:], replace(cards[1], task_id="baking/new")))
    curriculum = by_hand("baking/part_0", "baking/part_1", where="domain = baking")
    result = compare(toy_catalogue(cards), new, curricula=[curriculum])
    assert [task.task_id for task in result.added] == ["baking/new"]
    assert [task.task_id for task in result.removed] == ["baking/part_1"]
    assert result.moved_tier == result.moved_domain == result.changed_text == ("baking/part_0",)
    assert result.unchanged == len(cards) - 2
    before, after = result.curricula[0].before, result.curricula[0].after
    assert before.is_kept
    assert {problem.task for problem in after.problems} == {"baking/part_0", "baking/part_1"}


def test_queries_run_on_both_sides(engine: Engine) -> None:
    result = compare_engines(engine, engine, queries=["loom warp"], curricula=[made_path(engine)])
    assert result.changed == ()
    assert result.queries[0].before == result.queries[0].after
    assert result.queries[0].came == ()
    assert result.to_dict()["queries"][0]["query"] == "loom warp"


def test_skills_by_step_are_new_once_and_then_come_again(engine: Engine) -> None:
    saved = Curriculum.of_subset(subset(engine, SubsetRequest(k=6)))
    rows = skill_steps(engine, saved)
    needs = [engine.catalogue.get(task_id).software_names for task_id in saved.task_ids]
    assert {row.skill for row in rows} == {name for names in needs for name in names}
    for row in rows:
        used = [use for use in row.uses if use]
        assert used == ["new"] + ["again"] * (len(used) - 1)
        assert [bool(use) for use in row.uses] == [row.skill in names for names in needs]


def test_splits_topics_and_prerequisites_become_curricula_that_pass_their_check(engine: Engine) -> None:
    parted = split(engine, SplitRequest(test=0.3))
    made = [
        Curriculum.of_split(parted, test=False),
        Curriculum.of_split(parted, test=True),
        Curriculum.of_topics(coverage(engine, topics=["oven dough", "dough oven", "quark soup of mu mesons"])),
        Curriculum.of_prerequisites(prerequisites(engine, "baking/part_3")),
    ]
    for curriculum in made:
        assert Curriculum.parse(curriculum.to_yaml()) == curriculum
        assert check(engine, curriculum).problems == ()
    assert set(made[0].task_ids) | set(made[1].task_ids) == {card.task_id for card in engine.catalogue}
    assert len(made[2].tasks) == 1
    assert "oven dough" in made[2].tasks[0].why
    assert "dough oven" in made[2].tasks[0].why
    assert "baking/part_3" in made[3].task_ids
    with pytest.raises(CurriculumError, match="no topic is covered"):
        Curriculum.of_topics(coverage(engine, topics=["quark soup of mu mesons"]))
