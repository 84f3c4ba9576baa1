"""What a path is asked to be, and what one looks like."""

from __future__ import annotations

from dataclasses import dataclass, field

from ale_semantic.curriculum.records import EVERYTHING, Pool, Record, TaskRef
from ale_semantic.errors import CurriculumError
from ale_semantic.types import Provenance, Tier

MOST_STEPS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PathRequest(Record):
    """Where a path starts, where it leads, and its limits.

    Attributes:
        start: a task's id, or a topic in any words; blank starts anywhere.
        goal: a task's id, or a topic in any words; blank leads to the hardest tasks of the pool.
        skill: a skill's id or name that the path teaches, instead of a goal.
        length: the number of tasks; None takes the length near six that is possible.
        start_tier: the tier of the first task; None takes any.
        goal_tier: the tier of the last task; None takes any.
        min_step: the least closeness of a task and the next, 0 is chance level; None takes the greatest possible.
        max_step: the greatest closeness of a task and the next.
        max_new_skills: new skills a task after the first may bring; None takes the fewest possible.
        max_tier_jump: tiers that one step may rise.
        pool: which tasks may be taken.
        allow_twins: near twins may both be taken.
    """

    start: str = ""
    goal: str = ""
    skill: str = ""
    length: int | None = None
    start_tier: Tier | None = None
    goal_tier: Tier | None = None
    min_step: float | None = None
    max_step: float = 1.0
    max_new_skills: int | None = None
    max_tier_jump: int = 1
    pool: Pool = EVERYTHING
    allow_twins: bool = False

    def __post_init__(self) -> None:
        """Refuse what no catalogue can meet.

        Raises:
            CurriculumError: naming the limit.
        """
        if self.length is not None and not 2 <= self.length <= MOST_STEPS:
            raise CurriculumError(f"the length must be between 2 and {MOST_STEPS}, not {self.length}")
        if self.min_step is not None and self.min_step > self.max_step:
            raise CurriculumError(f"min_step {self.min_step} exceeds max_step {self.max_step}")
        if not 0 <= self.max_tier_jump <= 2:
            raise CurriculumError(f"max_tier_jump must be 0, 1 or 2, not {self.max_tier_jump}")
        if self.max_new_skills is not None and self.max_new_skills < 0:
            raise CurriculumError(f"max_new_skills must not be negative, but is {self.max_new_skills}")
        if self.skill and self.goal:
            raise CurriculumError("give a goal or a skill, not both")
        if self.start_tier and self.goal_tier and self.start_tier.level > self.goal_tier.level:
            raise CurriculumError(f"a path can't fall from {self.start_tier} to {self.goal_tier}: tiers never fall")


@dataclass(frozen=True, slots=True)
class Step(Record):
    """One step of a path.

    `tier` is the one that counts here; `closeness` is to the task before (null for the first); `relevance` is to the
    goal, 0 to 1; `new_skills` and `new_software` are what no task before it needs.
    """

    task: TaskRef
    tier: Tier | None
    closeness: float | None
    relevance: float
    new_skills: tuple[str, ...]
    new_software: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class PathResult(Record):
    """A path; `score` is the mean closeness of its steps.

    `min_step` and `max_new_skills` are the limits that were in force; `joins_twins` tells that start and goal were
    asked for and are near twins.
    """

    request: PathRequest
    steps: tuple[Step, ...]
    score: float
    min_step: float
    max_new_skills: int | None
    provenance: Provenance | None
    notices: tuple[str, ...] = field(default=())
    joins_twins: bool = False

    @property
    def task_ids(self) -> tuple[str, ...]:
        """Return the ids of the tasks in order."""
        return tuple(step.task.task_id for step in self.steps)
