"""Tasks in an order, in few words: paths, ladders, prerequisites."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from ale_semantic.curriculum import LadderResult, PathResult, PrerequisiteResult
from ale_semantic.curriculum.path_request import Step
from ale_semantic.curriculum.prerequisites import Trainer

from .compact import Compact, joined, numbered, rounded

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
            closeness=rounded(step.closeness),
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
        return joined([f"{len(self.steps)} steps.", *self.notices], numbered(step.line() for step in self.steps))


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
            lines += [f"ladder, closeness {ladder.strength:.2f}", *numbered(rung.line() for rung in ladder.rungs)]
            lines += [f"   beside: {', '.join(ladder.siblings)}"] if ladder.siblings else []
        return joined(head, lines)


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
        return joined([self.task_id, *self.notices], lines)
