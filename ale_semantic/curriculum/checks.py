"""Check a curriculum against a catalogue: each constraint, and what has changed since it was made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ale_semantic.curriculum.documents import Curriculum
from ale_semantic.curriculum.material import Material
from ale_semantic.curriculum.quotas import Quota, expand, members
from ale_semantic.curriculum.records import Record, tier_of_level, tiers_of
from ale_semantic.errors import UnknownNameError
from ale_semantic.filters import parse

if TYPE_CHECKING:
    from ale_semantic.engine import Engine


@dataclass(frozen=True, slots=True)
class Problem(Record):
    """A constraint that isn't kept, at which task (blank: the whole), and in what way."""

    constraint: str
    task: str
    message: str


@dataclass(frozen=True, slots=True)
class CheckResult(Record):
    """What a check found; `unchecked` are constraints that this catalogue can't tell."""

    title: str
    tasks: int
    problems: tuple[Problem, ...]
    unchecked: tuple[str, ...]
    notices: tuple[str, ...]

    @property
    def is_kept(self) -> bool:
        """Tell whether all that was checked is kept."""
        return not self.problems


def check(engine: Engine, curriculum: Curriculum) -> CheckResult:
    """Check a curriculum against the catalogue of an engine.

    Raises:
        FilterError: if the curriculum's own filter can't be understood.
    """
    return check_material(Material.of(engine), curriculum)


def check_material(material: Material, curriculum: Curriculum) -> CheckResult:
    """Check a curriculum against prepared material; without an index, steps and skills stay unchecked."""
    rows, problems = _rows(material, curriculum)
    asked = curriculum.constraints
    problems += list(_lists(curriculum))
    problems += list(_filter(material, curriculum, rows))
    problems += list(_quotas(material, curriculum, rows))
    if asked.tiers_never_fall:
        problems += list(_tiers(material, rows))
    if asked.no_near_twins:
        problems += list(_twins(material, rows))
    unchecked = []
    if asked.min_step is not None:
        problems += list(_steps(material, rows, asked.min_step)) if material.closeness is not None else ()
        unchecked += ["min_step"] if material.closeness is None else []
    if asked.max_new_skills is not None:
        problems += list(_skills(material, rows, asked.max_new_skills)) if material.skills is not None else ()
        unchecked += ["max_new_skills"] if material.skills is None else []
    notices = _drift(material, curriculum)
    return CheckResult(curriculum.title, len(curriculum.tasks), tuple(problems), tuple(unchecked), notices)


def _id(material: Material, row: int) -> str:
    return material.catalogue.cards[row].task_id


def _rows(material: Material, curriculum: Curriculum) -> tuple[list[int], list[Problem]]:
    rows: list[int] = []
    problems = []
    for place, task_id in enumerate(curriculum.task_ids):
        if task_id in curriculum.task_ids[:place]:
            problems.append(Problem("tasks", task_id, "stands in the list twice"))
            continue
        try:
            rows.append(material.catalogue.row(task_id))
        except UnknownNameError as fault:
            near = f"; nearest: {', '.join(fault.nearest)}" if fault.nearest else ""
            problems.append(Problem("tasks", task_id, f"is not in the catalogue{near}"))
    return rows, problems


def _lists(curriculum: Curriculum) -> Iterator[Problem]:
    asked = curriculum.constraints
    for task_id in asked.must:
        if task_id not in curriculum.task_ids:
            yield Problem("must", task_id, "is a must-have and not in the list")
    for task_id in asked.exclude:
        if task_id in curriculum.task_ids:
            yield Problem("exclude", task_id, "is excluded and in the list")
    if asked.length is not None and len(curriculum.tasks) != asked.length:
        yield Problem("length", "", f"{len(curriculum.tasks)} tasks, not {asked.length}")


def _filter(material: Material, curriculum: Curriculum, rows: Sequence[int]) -> Iterator[Problem]:
    where = curriculum.constraints.where.strip()
    if where:
        passes = material.facets.mask(parse(where))
        for row in rows:
            if not passes[row]:
                yield Problem("where", _id(material, row), f"does not pass {where}")


def _quotas(material: Material, curriculum: Curriculum, rows: Sequence[int]) -> Iterator[Problem]:
    everything = np.ones(len(material.catalogue), dtype=bool)
    for quota in expand(map(Quota.parse, curriculum.constraints.quotas), material.facets, everything):
        have = int(members(material.facets, quota.field, quota.value)[list(rows)].sum())
        if have < quota.least or (quota.most is not None and have > quota.most):
            yield Problem("quotas", "", f"{have} tasks for {quota}")


def _tiers(material: Material, rows: Sequence[int]) -> Iterator[Problem]:
    """Give each task the lowest of its tiers that doesn't fall; a task in no tier can't be told to rise or fall."""
    reached = 0
    for row in rows:
        tiers = tiers_of(material.catalogue.cards[row])
        if not tiers:
            continue
        level = next((tier for tier in tiers if tier >= reached), None)
        if level is None:
            yield Problem(
                "tiers_never_fall",
                _id(material, row),
                f"falls to {tier_of_level(tiers[-1])} after {tier_of_level(reached)}",
            )
        else:
            reached = level


def _twins(material: Material, rows: Sequence[int]) -> Iterator[Problem]:
    twins = material.twins()
    for place, row in enumerate(rows):
        for other in rows[:place]:
            if twins[other, row]:
                yield Problem("no_near_twins", _id(material, row), f"is a near twin of {_id(material, other)}")


def _steps(material: Material, rows: Sequence[int], least: float) -> Iterator[Problem]:
    for before, row in pairwise(rows):
        near = float(material.near()[before, row])
        if near < least - 1e-6:
            yield Problem(
                "min_step", _id(material, row), f"closeness {near:.2f} to {_id(material, before)}, below {least:g}"
            )


def _skills(material: Material, rows: Sequence[int], most: int) -> Iterator[Problem]:
    known = material.skills_of(rows[0]) if rows else frozenset[str]()
    for row in rows[1:]:
        new = material.skills_of(row) - known
        if len(new) > most:
            yield Problem("max_new_skills", _id(material, row), f"brings {len(new)} new skills, more than {most}")
        known |= new


def _drift(material: Material, curriculum: Curriculum) -> tuple[str, ...]:
    made_from = curriculum.provenance.get("fingerprint")
    if made_from and made_from != material.catalogue.fingerprint:
        return ("the catalogue has changed since this curriculum was made",)
    return ()
