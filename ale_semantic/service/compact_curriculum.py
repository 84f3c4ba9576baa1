"""Curricula in few words: the answers of the curriculum tools."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import Field

from ale_semantic.curriculum import CoverageResult, LadderResult, PathResult, PrerequisiteResult, SubsetResult
from ale_semantic.curriculum.coverage import TopicCoverage
from ale_semantic.curriculum.path_request import Step
from ale_semantic.curriculum.prerequisites import Trainer
from ale_semantic.types import Band

from .compact import Compact

_FEW = 12

Closeness = Annotated[float | None, Field(description="to the task before; 0 is chance level, 1 the same meaning")]


class StepRow(Compact):
    """One step of a path or rung of a ladder."""

    task_id: str
    title: str
    tier: str | None = None
    closeness: Closeness = None
    new_skills: list[str]
    reason: str

    @classmethod
    def of(cls, step: Step) -> StepRow:
        """Return a step's row."""
        return cls(
            task_id=step.task.task_id,
            title=step.task.title,
            tier=str(step.tier) if step.tier else None,
            closeness=_rounded(step.closeness),
            new_skills=list(step.new_skills),
            reason=step.reason,
        )

    def line(self) -> str:
        """Return the step as text."""
        near = f" | closeness {self.closeness:.2f}" if self.closeness is not None else ""
        return f"{self.task_id} | {self.title} | {self.tier or 'no tier'}{near}\n   {self.reason}"


class PathList(Compact):
    """An ordered path; tiers never fall."""

    steps: list[StepRow]
    mean_closeness: float
    notices: list[str]

    @classmethod
    def of(cls, result: PathResult) -> PathList:
        """Return a path as rows."""
        steps = [StepRow.of(step) for step in result.steps]
        return cls(steps=steps, mean_closeness=round(result.score, 3), notices=list(result.notices))

    def text(self) -> str:
        """Return the path as text."""
        return _text([f"{len(self.steps)} steps.", *self.notices], _numbered(step.line() for step in self.steps))


class LadderRow(Compact):
    """The same work at rising difficulty."""

    rungs: list[StepRow]
    strength: Annotated[float, Field(description="closeness of the loosest two neighbours")]
    siblings: Annotated[list[str], Field(description="ids of near twins at the same tier")]


class LadderList(Compact):
    """Ladders, the firmest first; for one task also the rungs next to it."""

    ladders: list[LadderRow]
    total: int
    next_rung: str | None = None
    previous_rung: str | None = None
    notices: list[str]

    @classmethod
    def of(cls, result: LadderResult, *, limit: int) -> LadderList:
        """Return at most `limit` ladders as rows."""
        return cls(
            ladders=[
                LadderRow(
                    rungs=[StepRow.of(rung) for rung in ladder.rungs],
                    strength=round(ladder.strength, 3),
                    siblings=[sibling.task.task_id for sibling in ladder.siblings],
                )
                for ladder in result.ladders[:limit]
            ],
            total=len(result.ladders),
            next_rung=result.next_rung,
            previous_rung=result.previous_rung,
            notices=list(result.notices),
        )

    def text(self) -> str:
        """Return the ladders as text."""
        head = [f"{self.total} ladders, {len(self.ladders)} shown.", *self.notices]
        head += [f"Next rung: {self.next_rung}."] if self.next_rung else []
        head += [f"Rung before: {self.previous_rung}."] if self.previous_rung else []
        lines: list[str] = []
        for ladder in self.ladders:
            lines += [f"ladder, closeness {ladder.strength:.2f}", *_numbered(rung.line() for rung in ladder.rungs)]
            lines += [f"   beside: {', '.join(ladder.siblings)}"] if ladder.siblings else []
        return _text(head, lines)


class PickRow(Compact):
    """One chosen task: what it adds, and how many tasks it stands for."""

    task_id: str
    title: str
    domain: str
    tiers: list[str]
    gain: float
    represents: int
    reason: str


class SubsetList(Compact):
    """Tasks that together stand for the pool, in the order they were taken."""

    picks: list[PickRow]
    coverage: Annotated[float, Field(description="0 to 1: the share of what all tasks together would cover")]
    times_random: Annotated[float | None, Field(description="coverage over that of a random choice of this size")] = (
        None
    )
    uncovered_total: int
    uncovered: Annotated[list[str], Field(description="tasks that none of them is near to, the first few")]
    missing: Annotated[dict[str, list[str]], Field(description="by field, values that no chosen task has")]
    notices: list[str]

    @classmethod
    def of(cls, result: SubsetResult) -> SubsetList:
        """Return a choice as rows."""
        return cls(
            picks=[
                PickRow(
                    task_id=pick.task.task_id,
                    title=pick.task.title,
                    domain=pick.task.domain,
                    tiers=list(map(str, pick.task.tiers)),
                    gain=round(pick.gain, 3),
                    represents=pick.represents,
                    reason=pick.reason,
                )
                for pick in result.picks
            ],
            coverage=round(result.coverage, 3),
            times_random=round(result.value / result.random, 2) if result.random else None,
            uncovered_total=result.uncovered_total,
            uncovered=[each.task.task_id for each in result.uncovered[:_FEW]],
            missing={each.field: list(each.values) for each in result.missing if each.values},
            notices=list(result.notices),
        )

    def text(self) -> str:
        """Return the choice as text."""
        times = f", {self.times_random} times a random choice" if self.times_random else ""
        head = [f"Coverage {self.coverage:.0%}{times}.", *self.notices]
        rows = (
            f"{pick.task_id} | {pick.title} | {', '.join(pick.tiers) or 'no tier'} | adds {pick.gain:.2f}, "
            f"stands for {pick.represents} | {pick.reason}"
            for pick in self.picks
        )
        tail = (
            [f"Not covered: {self.uncovered_total} tasks, such as {', '.join(self.uncovered)}"]
            if self.uncovered
            else []
        )
        tail += [f"Not covered, {name}: {', '.join(values)}" for name, values in self.missing.items()]
        return _text(head, [*_numbered(rows), *tail])


class TrainerRow(Compact):
    """A task before or after another."""

    task_id: str
    title: str
    tiers: list[str]
    closeness: float
    shared_skills: list[str]

    @classmethod
    def of(cls, trainer: Trainer) -> TrainerRow:
        """Return a trainer's row."""
        return cls(
            task_id=trainer.task.task_id,
            title=trainer.task.title,
            tiers=list(map(str, trainer.task.tiers)),
            closeness=round(trainer.closeness, 3),
            shared_skills=list(trainer.shared_skills),
        )

    def line(self) -> str:
        """Return the task as text."""
        shared = f" | shares {', '.join(self.shared_skills)}" if self.shared_skills else ""
        return f"- {self.task_id} | {self.title} | {', '.join(self.tiers) or 'no tier'}{shared}"


class PrerequisiteList(Compact):
    """What a task needs, which tasks train that before it, and what it opens up."""

    task_id: str
    skills: Annotated[dict[str, list[str]], Field(description="needed skill: ids that train it before; empty is a gap")]
    before: list[TrainerRow]
    opens: list[TrainerRow]
    notices: list[str]

    @classmethod
    def of(cls, result: PrerequisiteResult) -> PrerequisiteList:
        """Return prerequisites as rows."""
        return cls(
            task_id=result.task.task_id,
            skills={each.skill: [trainer.task.task_id for trainer in each.trained_by] for each in result.skills},
            before=[TrainerRow.of(trainer) for trainer in result.before],
            opens=[TrainerRow.of(trainer) for trainer in result.opens],
            notices=list(result.notices),
        )

    def text(self) -> str:
        """Return prerequisites as text."""
        lines = [f"needs {skill}: {', '.join(ids) or 'no task trains it before'}" for skill, ids in self.skills.items()]
        lines += ["before:", *(row.line() for row in self.before)] if self.before else []
        lines += ["opens up:", *(row.line() for row in self.opens)] if self.opens else []
        return _text([self.task_id, *self.notices], lines)


class TopicRow(Compact):
    """How well a topic is covered: the band of its best task, and the best few."""

    topic: str
    band: Band
    tasks: list[str]


class CoverageList(Compact):
    """Counts by domain and tier, rare skills, topics, and what is missing."""

    tasks: int
    counts: Annotated[
        dict[str, dict[str, int]], Field(description="domain: tier: tasks; a task of two tiers counts in both")
    ]
    empty: Annotated[list[str], Field(description="domain / tier without any task")]
    rare_skills: Annotated[dict[str, int], Field(description="skills that at most one task needs")]
    topics: list[TopicRow]
    weak_topics: Annotated[list[str], Field(description="topics that no task clearly covers")]
    notices: list[str]

    @classmethod
    def of(cls, result: CoverageResult) -> CoverageList:
        """Return coverage in few words; counts by skill are left to `facets`."""
        counts: dict[str, dict[str, int]] = {}
        for cell in result.cells:
            if cell.skill is None:
                counts.setdefault(cell.domain, {})[cell.tier] = cell.tasks
        return cls(
            tasks=result.tasks,
            counts=counts,
            empty=[f"{cell.domain} / {cell.tier}" for cell in result.empty],
            rare_skills={cell.skill or "": cell.tasks for cell in result.rare_skills},
            topics=[
                TopicRow(
                    topic=each.topic,
                    band=each.band,
                    tasks=_ids(each),
                )
                for each in result.topics
            ],
            weak_topics=list(result.weak_topics),
            notices=list(result.notices),
        )

    def text(self) -> str:
        """Return coverage as text."""
        lines = [
            f"{domain}: {', '.join(f'{tier} {count}' for tier, count in tiers.items())}"
            for domain, tiers in self.counts.items()
        ]
        lines += [f"no task at: {', '.join(self.empty)}"] if self.empty else []
        rare = [f"{skill} {count}" for skill, count in self.rare_skills.items()]
        lines += [f"rare skills: {', '.join(rare)}"] if rare else []
        lines += [f"topic {each.topic!r}: {each.band} | {', '.join(each.tasks) or '-'}" for each in self.topics]
        return _text([f"{self.tasks} tasks.", *self.notices], lines)


def _ids(topic: TopicCoverage) -> list[str]:
    """Return the tasks of a topic; the nearest of what doesn't fit at all would be taken for an answer."""
    if topic.best is None or topic.band is Band.NONE:
        return []
    return [topic.best.task_id, *(other.task_id for other in topic.others)]


def _numbered(lines: Iterable[str]) -> list[str]:
    return [f"{place}. {line}" for place, line in enumerate(lines, start=1)]


def _text(head: Sequence[str], lines: Sequence[str]) -> str:
    return "\n".join([*head, *lines])


def _rounded(value: float | None) -> float | None:
    return round(value, 3) if value is not None else None
