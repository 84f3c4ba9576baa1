"""Routes over the cards themselves: tasks, one task, several tasks, the catalogue, reload."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic_core import to_json

from . import catalogue_answers, search_answers
from .models import BatchAnswer, CardParts, CatalogueAnswer, ReloadAnswer, TasksAnswer
from .openapi_responses import CACHED, PAGED, described
from .parameters import BatchParameters, NoParameters, OneTask, TaskParameters, TasksBody, TasksParameters
from .quick_routes import QuickRoute
from .replies import Desk, json_response

router = APIRouter(prefix="/api/v1", route_class=QuickRoute)


@router.get(
    "/tasks",
    tags=["tasks"],
    operation_id="tasks",
    summary="Browse the cards",
    response_model=TasksAnswer,
    responses=described("tasks", CACHED, PAGED),
)
async def tasks(desk: Desk, asked: Annotated[TasksParameters, Query()]) -> Response:
    """List the cards that pass a filter in the order of their ids."""
    return await desk.reply("tasks", asked, search_answers.tasks)


@router.post(
    "/tasks",
    tags=["tasks"],
    operation_id="tasks_by_post",
    summary="Browse the cards (long filters)",
    response_model=TasksAnswer,
    responses=described("tasks", PAGED),
)
async def tasks_by_post(desk: Desk, asked: TasksBody) -> Response:
    """Do the same as the GET, with the parameters in a JSON body."""
    return await desk.reply("tasks", asked, search_answers.tasks)


@router.post(
    "/tasks/batch",
    tags=["tasks"],
    operation_id="tasks_batch",
    summary="Fetch several cards by their ids",
    response_model=BatchAnswer,
    responses=described("batch"),
)
async def tasks_batch(desk: Desk, asked: BatchParameters) -> Response:
    """Return the cards in the order of the ids; an unknown id fails by itself, with its place in the request."""
    return await desk.reply("batch", asked, search_answers.batch)


@router.get(
    "/tasks/{task_id:path}",
    tags=["tasks"],
    operation_id="task",
    summary="Fetch one card",
    response_model=CardParts,
    responses=described("task", CACHED, tasks=True),
)
async def task(
    desk: Desk,
    task_id: Annotated[str, Path(description="An id such as `legal/lease_review`; its slash stays as it is.")],
    asked: Annotated[TaskParameters, Query()],
) -> Response:
    """Return a whole card, or the columns of it that are asked for."""
    return await desk.reply("task", OneTask(task_id=task_id, **asked.model_dump()), search_answers.task)


@router.get(
    "/catalogue",
    tags=["catalogue"],
    operation_id="catalogue",
    summary="Learn what there is to search",
    response_model=CatalogueAnswer,
    responses=described("catalogue", CACHED),
)
async def catalogue(desk: Desk, asked: Annotated[NoParameters, Query()]) -> Response:
    """Return the fields of the filter with all their values, what may be asked of them, limits and provenance."""
    return await desk.reply("catalogue", asked, catalogue_answers.catalogue)


@router.post(
    "/reload",
    tags=["catalogue"],
    operation_id="reload",
    summary="Open a newer build of the index",
    response_model=ReloadAnswer,
    responses=described("reload"),
)
async def reload(desk: Desk, asked: Annotated[NoParameters, Query()]) -> Response:
    """Look for a newer build now instead of at the next watch; running answers keep the one they began with.

    A build that can't be opened leaves the old one serving, and the answer says so.
    """
    holder = desk.service.holder
    new = await asyncio.to_thread(holder.reload)
    return json_response(to_json(search_answers.reloaded(holder.current, new=new)))
