"""Curricula as readable YAML files: goal, constraints, tasks with their reasons, notes, provenance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from ale_semantic.curriculum.coverage import CoverageResult
from ale_semantic.curriculum.ladders import Ladder
from ale_semantic.curriculum.path_request import PathResult, Step
from ale_semantic.curriculum.prerequisites import PrerequisiteResult
from ale_semantic.curriculum.quotas import Quota
from ale_semantic.curriculum.records import Pool, Record, TaskRef, plain
from ale_semantic.curriculum.splits import SplitResult
from ale_semantic.curriculum.subsets import SubsetResult
from ale_semantic.curriculum.yaml_text import read_yaml
from ale_semantic.errors import CurriculumError
from ale_semantic.types import Band, Provenance

FORMAT = "ale-semantic curriculum 1"
_WIDTH = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraints(Record):
    """What a curriculum must keep to; None and empty ones are not checked.

    Attributes:
        where: every task passes this filter.
        exclude: ids that are not in it.
        must: ids that are in it.
        quotas: how many tasks of a value, as `tier=last-exam:2..4`.
        length: the number of tasks.
        tiers_never_fall: no task stands only in tiers below that of the one before.
        no_near_twins: no two tasks are near twins.
        min_step: least closeness of neighbours.
        max_new_skills: new skills a task after the first may bring.
    """

    where: str = ""
    exclude: tuple[str, ...] = ()
    must: tuple[str, ...] = ()
    quotas: tuple[str, ...] = ()
    length: int | None = None
    tiers_never_fall: bool = False
    no_near_twins: bool = True
    min_step: float | None = None
    max_new_skills: int | None = None


@dataclass(frozen=True, slots=True)
class CurriculumTask(Record):
    """One entry: the task's id, why it is there, and the editor's own note."""

    task: str
    why: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curriculum(Record):
    """An ordered list of tasks with what it is for and what it must keep to."""

    title: str
    goal: str
    constraints: Constraints
    tasks: tuple[CurriculumTask, ...]
    notes: str = ""
    provenance: Mapping[str, Any]

    @property
    def task_ids(self) -> tuple[str, ...]:
        """Return the ids of the tasks in order."""
        return tuple(entry.task for entry in self.tasks)

    @classmethod
    def of_path(cls, result: PathResult, *, title: str = "") -> Curriculum:
        """Make a curriculum of a path."""
        asked = result.request
        about = asked.skill or asked.goal or asked.start or "the core of the tasks"
        goal = f"from {asked.start} to {about}" if asked.start else f"lead to {about}"
        constraints = Constraints(
            where=_where(asked.pool),
            exclude=asked.pool.exclude,
            length=asked.length,
            tiers_never_fall=True,
            no_near_twins=not asked.allow_twins and not result.joins_twins,
            min_step=result.min_step,
            max_new_skills=result.max_new_skills,
        )
        return cls._made(title or f"Path: {goal}", goal, constraints, result.steps, result.provenance)

    @classmethod
    def of_ladder(cls, ladder: Ladder, provenance: Provenance | None, *, title: str = "") -> Curriculum:
        """Make a curriculum of a ladder; its rungs may be near twins."""
        goal = f"the same work at rising difficulty, up to {ladder.task_ids[-1]}"
        constraints = Constraints(tiers_never_fall=True, no_near_twins=False)
        return cls._made(title or f"Ladder: {ladder.task_ids[-1]}", goal, constraints, ladder.rungs, provenance)

    @classmethod
    def of_subset(cls, result: SubsetResult, *, title: str = "") -> Curriculum:
        """Make a curriculum of a subset, in the order the tasks were taken."""
        asked = result.request
        goal = f"{asked.k} tasks that stand for {asked.topic or _where(asked.pool) or 'the whole catalogue'}"
        constraints = Constraints(
            where=_where(asked.pool),
            exclude=asked.pool.exclude,
            must=asked.must,
            quotas=tuple(map(str, asked.quotas)),
            length=asked.k,
            no_near_twins=not asked.allow_twins and len(asked.must) < 2,
        )
        tasks = tuple(CurriculumTask(pick.task.task_id, pick.reason) for pick in result.picks)
        return cls(
            title=title or f"Subset: {goal}",
            goal=goal,
            constraints=constraints,
            tasks=tasks,
            provenance=_made_by(result.provenance),
        )

    @classmethod
    def of_split(cls, result: SplitResult, *, test: bool) -> Curriculum:
        """Make a curriculum of one side of a split."""
        asked, name = result.request, "test" if test else "train"
        goal = f"{name} tasks of a split with a test share of {asked.test:g}, no near twin on the other side"
        constraints = Constraints(where=_where(asked.pool), exclude=asked.pool.exclude, no_near_twins=False)
        entries = [(task, "") for task in (result.test if test else result.train)]
        return cls._listed(f"Split: {name}", goal, constraints, entries, result.provenance)

    @classmethod
    def of_topics(cls, result: CoverageResult) -> Curriculum:
        """Make a curriculum of the best task for each topic, in the order of the topics, without those that miss.

        Raises:
            CurriculumError: if no topic has a task.
        """
        best = [
            (each.best, f"{'best' if each.band is Band.STRONG else 'nearest'} for {each.topic}")
            for each in result.topics
            if each.best is not None and each.band is not Band.NONE
        ]
        if not best:
            raise CurriculumError("no topic is covered, so there is no list to keep: use other words or a wider filter")
        goal = f"cover {', '.join(each.topic for each in result.topics)}"
        return cls._listed("Topics", goal, Constraints(no_near_twins=False), best, result.provenance)

    @classmethod
    def of_prerequisites(cls, result: PrerequisiteResult) -> Curriculum:
        """Make a curriculum of what comes before a task, the task, and what it opens up."""
        name = result.task.task_id
        entries = [
            *((trainer.task, f"comes before {name}") for trainer in reversed(result.before)),
            (result.task, "the task itself"),
            *((trainer.task, f"opened up by {name}") for trainer in result.opens),
        ]
        goal = f"what comes before and after {name}"
        return cls._listed(f"Around {name}", goal, Constraints(no_near_twins=False), entries, result.provenance)

    @classmethod
    def _listed(
        cls,
        title: str,
        goal: str,
        constraints: Constraints,
        entries: Iterable[tuple[TaskRef, str]],
        provenance: Provenance | None,
    ) -> Curriculum:
        """Make a curriculum of tasks with reasons; one that comes again gives its further reasons to the first."""
        reasons: dict[str, list[str]] = {}
        for task, why in entries:
            reasons.setdefault(task.task_id, []).append(why)
        tasks = tuple(CurriculumTask(task_id, "; ".join(filter(None, whys))) for task_id, whys in reasons.items())
        return cls(title=title, goal=goal, constraints=constraints, tasks=tasks, provenance=_made_by(provenance))

    @classmethod
    def _made(
        cls, title: str, goal: str, constraints: Constraints, steps: tuple[Step, ...], provenance: Provenance | None
    ) -> Curriculum:
        tasks = tuple(CurriculumTask(step.task.task_id, step.reason) for step in steps)
        return cls(title=title, goal=goal, constraints=constraints, tasks=tasks, provenance=_made_by(provenance))

    @classmethod
    def load(cls, path: Path) -> Curriculum:
        """Read a curriculum file.

        Raises:
            CurriculumError: naming the file, the line or key, and the cure.
        """
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as fault:
            raise CurriculumError(f"{path}: can't be read: {fault}") from None
        return cls.parse(text, name=str(path))

    @classmethod
    def parse(cls, text: str, *, name: str = "curriculum") -> Curriculum:
        """Read a curriculum from YAML.

        Raises:
            CurriculumError: naming the line or key, and the cure.
        """
        data = read_yaml(text, name=name)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise CurriculumError(f"{name}: its first line must be 'format: {FORMAT}'")
        known = {each.name for each in fields(cls)}
        _refuse_unknown(name, data, known | {"format"})
        return cls(
            title=_text(name, data, "title"),
            goal=_text(name, data, "goal"),
            constraints=_constraints(name, data.get("constraints") or {}),
            tasks=_tasks(name, data.get("tasks")),
            notes=_text(name, data, "notes"),
            provenance=_provenance(name, data.get("provenance")),
        )

    def to_yaml(self) -> str:
        """Return the file's text; `parse` reads it back to an equal curriculum."""
        import yaml

        held = self.constraints.to_dict()
        default = Constraints().to_dict()
        shown = {key: value for key, value in held.items() if value != default[key] or key == "no_near_twins"}
        tasks = [{key: value for key, value in entry.to_dict().items() if value} for entry in self.tasks]
        document = {
            "format": FORMAT,
            "title": self.title,
            "goal": self.goal,
            "constraints": shown,
            "tasks": tasks,
            "notes": self.notes,
            "provenance": plain(self.provenance),
        }
        return str(yaml.safe_dump(document, sort_keys=False, allow_unicode=True, width=_WIDTH))


def _where(pool: Pool) -> str:
    condition = pool.condition()
    return str(condition) if condition is not None else ""


def _made_by(provenance: Provenance | None) -> dict[str, Any]:
    return asdict(provenance) if provenance is not None else {}


def _refuse_unknown(name: str, data: Mapping[str, Any], known: set[str]) -> None:
    unknown = sorted(str(key) for key in data if key not in known)
    if unknown:
        raise CurriculumError(f"{name}: unknown key {unknown[0]!r}; known are {', '.join(sorted(known))}")


def _text(name: str, data: Mapping[str, Any], key: str) -> str:
    value = data.get(key)
    if value is not None and not isinstance(value, str):
        raise CurriculumError(f"{name}: {key!r} must be a text, found {type(value).__name__}")
    return value or ""


def _provenance(name: str, value: Any) -> Mapping[str, Any]:
    if value is not None and not isinstance(value, dict):
        raise CurriculumError(f"{name}: 'provenance' must be keys and values, found {type(value).__name__}")
    return value or {}


def _constraints(name: str, data: Any) -> Constraints:
    if not isinstance(data, dict):
        raise CurriculumError(f"{name}: 'constraints' must be keys and values, found {type(data).__name__}")
    default = Constraints()
    _refuse_unknown(f"{name}: constraints", data, {each.name for each in fields(Constraints)})
    given: dict[str, Any] = {}
    for key, value in data.items():
        wanted = getattr(default, key)
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if isinstance(wanted, tuple):
            fine = isinstance(value, list) and all(isinstance(item, str) for item in value)
            value = tuple(value) if fine else value
        elif wanted is None:
            fine = value is None or (number and (key == "min_step" or isinstance(value, int)))
        else:
            fine = isinstance(value, type(wanted))
        if not fine:
            raise CurriculumError(f"{name}: constraint {key!r} can't be {value!r}: see docs/curriculum.md for its form")
        given[key] = value
    for quota in given.get("quotas", ()):
        Quota.parse(quota)
    return replace(default, **given)


def _tasks(name: str, data: Any) -> tuple[CurriculumTask, ...]:
    if not isinstance(data, list) or not data:
        raise CurriculumError(f"{name}: 'tasks' must be a list with at least one task")
    found = []
    for place, entry in enumerate(data, start=1):
        where = f"{name}: task {place}"
        if isinstance(entry, str):
            found.append(CurriculumTask(entry))
            continue
        if not isinstance(entry, dict) or not isinstance(entry.get("task"), str):
            raise CurriculumError(f"{where}: must be an id, or keys with 'task: domain/name'")
        _refuse_unknown(where, entry, {"task", "why", "note"})
        found.append(CurriculumTask(entry["task"], _text(where, entry, "why"), _text(where, entry, "note")))
    return tuple(found)
