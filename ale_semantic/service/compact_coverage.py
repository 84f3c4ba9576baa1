"""Tasks that stand for others, and what is covered, in few words."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ale_semantic.curriculum import CoverageResult, SubsetResult
from ale_semantic.curriculum.coverage import TopicCoverage
from ale_semantic.types import Band

from .compact import Compact, joined, numbered

_FEW = 12


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
        return joined(head, [*numbered(rows), *tail])


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
        return joined([f"{self.tasks} tasks.", *self.notices], lines)


def _ids(topic: TopicCoverage) -> list[str]:
    """Return the tasks of a topic; the nearest of what doesn't fit at all would be taken for an answer."""
    if topic.best is None or topic.band is Band.NONE:
        return []
    return [topic.best.task_id, *(other.task_id for other in topic.others)]
