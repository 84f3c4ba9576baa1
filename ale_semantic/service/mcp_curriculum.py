"""The tools that an assistant designs curricula with: path, subset, ladders, prerequisites, coverage."""

from __future__ import annotations

from typing import Annotated

from mcp.types import CallToolResult
from pydantic import Field

from ale_semantic.curriculum import (
    LadderRequest,
    PathRequest,
    Pool,
    Quota,
    SubsetRequest,
    coverage,
    ladders,
    path,
    prerequisites,
    subset,
)
from ale_semantic.curriculum.ladders import RUNG_CLOSENESS
from ale_semantic.curriculum.path_request import MOST_STEPS
from ale_semantic.engine import Engine
from ale_semantic.types import Tier

from .compact_coverage import CoverageList, SubsetList
from .compact_paths import LadderList, PathList, PrerequisiteList
from .mcp_tools import Asker, TaskId, Where, answer

MAX_CHOSEN = 100
MAX_IDS = 200
MAX_TOPICS = 50

_MAX_TOPIC = 1_000

Exclude = Annotated[tuple[str, ...], Field(max_length=MAX_IDS, description="Ids to leave out")]
Twins = Annotated[bool, Field(description="Near twins may both be taken")]


class CurriculumTools:
    """Tools about many tasks; each method's signature and docstring is what a client is told."""

    def __init__(self, ask: Asker) -> None:
        """Answer from whatever `ask` has open."""
        self._ask = ask

    async def curriculum_path(
        self,
        start: Annotated[
            str, Field(max_length=_MAX_TOPIC, description="A task's id or a topic; blank starts anywhere")
        ] = "",
        goal: Annotated[
            str, Field(max_length=_MAX_TOPIC, description="A task's id or a topic; blank leads to the hardest tasks")
        ] = "",
        skill: Annotated[
            str, Field(max_length=200, description="A skill to teach instead of a goal; `facets` lists field skill")
        ] = "",
        length: Annotated[
            int | None, Field(ge=2, le=MOST_STEPS, description="Number of tasks; by default near six")
        ] = None,
        start_tier: Annotated[Tier | None, Field(description="Tier of the first task")] = None,
        goal_tier: Annotated[Tier | None, Field(description="Tier of the last task")] = None,
        max_new_skills: Annotated[int | None, Field(ge=0, le=50, description="New skills a step may bring")] = None,
        min_closeness: Annotated[
            float | None, Field(ge=-1, le=1, description="Least closeness of neighbours; 0 is chance level")
        ] = None,
        allow_twins: Twins = False,
        where: Where = "",
        exclude: Exclude = (),
    ) -> Annotated[CallToolResult, PathList]:
        """Find an ordered path of tasks from a start to a goal: tiers never fall, each step builds on the one before.

        If nothing meets the limits, the error names the limit in the way and the nearest path there is.
        """

        def question(engine: Engine) -> PathList:
            asked = PathRequest(
                start=start,
                goal=goal,
                skill=skill,
                length=length,
                start_tier=start_tier,
                goal_tier=goal_tier,
                max_new_skills=max_new_skills,
                min_step=min_closeness,
                allow_twins=allow_twins,
                pool=_pool(where, exclude),
            )
            return PathList.of(path(engine, asked))

        found = await self._ask("mcp_curriculum", question, text=" ".join((start, goal, skill)).strip(), bulk=True)
        return answer(found, found.text())

    async def curriculum_subset(
        self,
        k: Annotated[int, Field(ge=1, le=MAX_CHOSEN, description="Number of tasks")] = 20,
        topic: Annotated[str, Field(max_length=_MAX_TOPIC, description="Stand for tasks near this topic")] = "",
        quotas: Annotated[
            tuple[str, ...],
            Field(max_length=30, description="E.g. 'tier=last-exam:5..' or 'domain=*:..3' (* is each value)"),
        ] = (),
        must: Annotated[
            tuple[str, ...], Field(max_length=MAX_CHOSEN, description="Ids that are taken in any case")
        ] = (),
        allow_twins: Twins = False,
        where: Where = "",
        exclude: Exclude = (),
    ) -> Annotated[CallToolResult, SubsetList]:
        """Choose k tasks that together stand for all tasks, those of a filter, or those near a topic."""

        def question(engine: Engine) -> SubsetList:
            asked = SubsetRequest(
                k=k,
                topic=topic,
                quotas=tuple(map(Quota.parse, quotas)),
                must=must,
                allow_twins=allow_twins,
                pool=_pool(where, exclude),
            )
            return SubsetList.of(subset(engine, asked))

        chosen = await self._ask("mcp_curriculum", question, text=topic, bulk=True)
        return answer(chosen, chosen.text())

    async def curriculum_ladders(
        self,
        task_id: Annotated[str, Field(max_length=200, description="A task's id; blank finds all ladders")] = "",
        min_closeness: Annotated[
            float, Field(ge=-1, le=1, description="How close two rungs must be; 0 is chance level")
        ] = RUNG_CLOSENESS,
        where: Where = "",
        exclude: Exclude = (),
        limit: Annotated[int, Field(ge=1, le=50, description="Ladders to show")] = 10,
    ) -> Annotated[CallToolResult, LadderList]:
        """Find the same kind of work at rising difficulty: for one task its next rung up and down, or all ladders."""

        def question(engine: Engine) -> LadderList:
            asked = LadderRequest(task=task_id, pool=_pool(where, exclude), min_closeness=min_closeness)
            return LadderList.of(ladders(engine, asked), limit=limit)

        found = await self._ask("mcp_curriculum", question, bulk=True)
        return answer(found, found.text())

    async def curriculum_prerequisites(
        self, task_id: TaskId, where: Where = "", exclude: Exclude = ()
    ) -> Annotated[CallToolResult, PrerequisiteList]:
        """Say which skills a task needs, which easier tasks train them, and which tasks it opens up."""

        def question(engine: Engine) -> PrerequisiteList:
            return PrerequisiteList.of(prerequisites(engine, task_id, pool=_pool(where, exclude)))

        found = await self._ask("mcp_curriculum", question, bulk=True)
        return answer(found, found.text())

    async def curriculum_coverage(
        self,
        topics: Annotated[
            tuple[Annotated[str, Field(max_length=_MAX_TOPIC)], ...],
            Field(max_length=MAX_TOPICS, description="Topics of a syllabus, each in any words"),
        ] = (),
        where: Where = "",
        exclude: Exclude = (),
    ) -> Annotated[CallToolResult, CoverageList]:
        """Count tasks by domain and tier, and tell which topics of a list are covered well, weakly or not at all."""

        def question(engine: Engine) -> CoverageList:
            return CoverageList.of(coverage(engine, pool=_pool(where, exclude), topics=topics))

        found = await self._ask("mcp_curriculum", question, text="; ".join(topics), bulk=True)
        return answer(found, found.text())


def _pool(where: str, exclude: tuple[str, ...]) -> Pool:
    return Pool(where=where, exclude=exclude)
