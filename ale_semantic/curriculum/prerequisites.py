"""Prerequisites: what a task needs, which tasks train that at a lower or equal tier, and what it opens up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ale_semantic.curriculum.material import Material
from ale_semantic.curriculum.records import Pool, Record, TaskRef, require_tasks, tiers_of
from ale_semantic.curriculum.skills import NO_SKILLS
from ale_semantic.types import Provenance

if TYPE_CHECKING:
    from ale_semantic.engine import Engine

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Trainer(Record):
    """A task before or after another: its closeness to it, the skills in common, and those it has besides."""

    task: TaskRef
    closeness: float
    shared_skills: tuple[str, ...]
    further_skills: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NeededSkill(Record):
    """One skill of the task, and the tasks that train it at a lower or equal tier; without any it is a gap."""

    skill: str
    trained_by: tuple[Trainer, ...]


@dataclass(frozen=True, slots=True)
class PrerequisiteResult(Record):
    """What comes before and after a task.

    `before` are the tasks nearest to it at a lower or equal tier, `opens` those at a higher or equal tier that need
    little more than it; near twins are left out of both.
    """

    task: TaskRef
    skills: tuple[NeededSkill, ...]
    untrained: tuple[str, ...]
    before: tuple[Trainer, ...]
    opens: tuple[Trainer, ...]
    provenance: Provenance | None
    notices: tuple[str, ...] = field(default=())


def prerequisites(engine: Engine, task_id: str, *, pool: Pool | None = None, shown: int = _SHOWN) -> PrerequisiteResult:
    """Say what a task needs, what trains it, and what it opens up.

    Args:
        engine: the engine.
        task_id: the task.
        pool: which tasks may be named; None takes all.
        shown: how many tasks to name for each.

    Raises:
        UnknownNameError: if there is no such task.
    """
    chosen = pool or Pool()
    material = Material.of(engine)
    allowed = chosen.mask(material.catalogue, material.facets)
    require_tasks(allowed, chosen)
    row = material.catalogue.row(task_id)
    own = tiers_of(material.catalogue.cards[row])
    others = [int(other) for other in np.flatnonzero(allowed & ~material.twins()[row]) if other != row]
    easier = [other for other in others if _may_come_before(material, other, own)]
    harder = [other for other in others if _may_come_after(material, other, own)]
    skills = tuple(_needed(material, row, skill, easier, shown) for skill in sorted(material.skills_of(row)))
    notices: tuple[str, ...] = () if material.skills is not None else (NO_SKILLS,)
    if not own:
        notices += (f"{task_id} stands in no tier, so tasks of all tiers are named",)
    return PrerequisiteResult(
        task=material.ref(row),
        skills=skills,
        untrained=tuple(needed.skill for needed in skills if not needed.trained_by),
        before=tuple(_trainer(material, row, other) for other in _ranked(material, row, easier)[:shown]),
        opens=tuple(_trainer(material, row, other) for other in _opened(material, row, harder)[:shown]),
        provenance=material.provenance,
        notices=notices,
    )


def _may_come_before(material: Material, other: int, own: Sequence[int]) -> bool:
    tiers = tiers_of(material.catalogue.cards[other])
    return bool(tiers) and (not own or min(tiers) <= max(own))


def _may_come_after(material: Material, other: int, own: Sequence[int]) -> bool:
    tiers = tiers_of(material.catalogue.cards[other])
    return bool(tiers) and (not own or max(tiers) >= min(own))


def _ranked(material: Material, row: int, others: Sequence[int]) -> list[int]:
    """Return tasks by closeness and what they have in common, the most first."""
    worth = material.near()[row] + 0.5 * material.links()[row]
    return sorted(others, key=lambda other: (-float(worth[other]), other))


def _opened(material: Material, row: int, others: Sequence[int]) -> list[int]:
    """Return near tasks that need most of this one's skills and little else; harder ones first among equals."""
    own = material.skills_of(row)
    lowest = min(tiers_of(material.catalogue.cards[row]), default=0)
    near, links = material.near()[row], material.links()[row]

    def worth(other: int) -> float:
        further = len(material.skills_of(other) - own)
        rise = max(tiers_of(material.catalogue.cards[other])) - lowest
        return float(near[other]) + 0.5 * float(links[other]) - 0.03 * further + 0.05 * rise

    return sorted(others, key=lambda other: (-worth(other), other))


def _needed(material: Material, row: int, skill: str, easier: Sequence[int], shown: int) -> NeededSkill:
    trains = [other for other in easier if skill in material.skills_of(other)]
    chosen = _ranked(material, row, trains)[:shown]
    return NeededSkill(material.skill_names({skill})[0], tuple(_trainer(material, row, other) for other in chosen))


def _trainer(material: Material, row: int, other: int) -> Trainer:
    own, others = material.skills_of(row), material.skills_of(other)
    return Trainer(
        material.ref(other),
        float(material.near()[row, other]),
        material.skill_names(own & others),
        material.skill_names(others - own),
    )
