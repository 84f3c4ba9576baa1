"""Routes over the cards themselves: tasks, one task, several tasks, the catalogue, reload."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool

from . import answering
from .core import Service, service_of
from .models import BatchAnswer, CardParts, CatalogueAnswer, ReloadAnswer, TasksAnswer
from .parameters import BatchParameters, NoParameters, TaskParameters, TasksParameters
from .replies import JSON_MEDIA_TYPE, refuse_repeats, reply
from .responses import CACHED, PAGED, QUESTION, described

router = APIRouter(prefix="/api/v1", dependencies=[Depends(refuse_repeats)])
Serving = Annotated[Service, Depends(service_of)]


@router.get(
    "/tasks",
    tags=["tasks"],
    operation_id="tasks",
    summary="Browse the cards",
    response_model=TasksAnswer,
    responses=described("tasks", CACHED, PAGED, QUESTION),
)
async def tasks(request: Request, service: Serving, asked: Annotated[TasksParameters, Query()]) -> Response:
    """List the cards that pass a filter in the order of their ids."""
    return await reply(
        request, service, "tasks", asked.model_dump_json(), lambda index: answering.tasks(index, asked, service.config)
    )


@router.post(
    "/tasks",
    tags=["tasks"],
    operation_id="tasks_by_post",
    summary="Browse the cards (long filters)",
    response_model=TasksAnswer,
    responses=described("tasks", PAGED, QUESTION),
)
async def tasks_by_post(request: Request, service: Serving, asked: TasksParameters) -> Response:
    """Do the same as the GET, with the parameters in a JSON body."""
    return await reply(
        request, service, "tasks", asked.model_dump_json(), lambda index: answering.tasks(index, asked, service.config)
    )


@router.post(
    "/tasks/batch",
    tags=["tasks"],
    operation_id="tasks_batch",
    summary="Fetch several cards by their ids",
    response_model=BatchAnswer,
    responses=described("batch", QUESTION),
)
async def tasks_batch(request: Request, service: Serving, asked: BatchParameters) -> Response:
    """Return the cards in the order of the ids; an unknown id fails by itself, with its place in the request."""
    return await reply(request, service, "batch", asked.model_dump_json(), lambda index: answering.batch(index, asked))


@router.get(
    "/tasks/{task_id:path}",
    tags=["tasks"],
    operation_id="task",
    summary="Fetch one card",
    response_model=CardParts,
    responses=described("task", CACHED, QUESTION, tasks=True),
)
async def task(
    request: Request,
    service: Serving,
    task_id: Annotated[str, Path(description="An id such as `legal/lease_review`; its slash stays as it is.")],
    asked: Annotated[TaskParameters, Query()],
) -> Response:
    """Return a whole card, or the columns of it that are asked for."""
    return await reply(
        request,
        service,
        "task",
        f"{task_id} {asked.model_dump_json()}",
        lambda index: answering.task(index, task_id, asked),
    )


@router.get(
    "/catalogue",
    tags=["catalogue"],
    operation_id="catalogue",
    summary="Learn what there is to search",
    response_model=CatalogueAnswer,
    responses=described("catalogue", CACHED, QUESTION),
)
async def catalogue(request: Request, service: Serving, asked: Annotated[NoParameters, Query()]) -> Response:
    """Return the fields of the filter with all their values, what may be asked of them, limits and provenance."""
    return await reply(
        request, service, "catalogue", asked.model_dump_json(), lambda index: answering.catalogue(index, service.config)
    )


@router.post(
    "/reload",
    tags=["catalogue"],
    operation_id="reload",
    summary="Open a newer build of the index",
    response_model=ReloadAnswer,
    responses=described("reload", QUESTION),
)
async def reload(service: Serving, asked: Annotated[NoParameters, Query()]) -> Response:
    """Look for a newer build now instead of at the next watch; running answers keep the one they began with.

    A build that can't be opened leaves the old one serving, and the answer says so.
    """
    new = await run_in_threadpool(service.holder.reload)
    body = to_json(answering.reloaded(service.holder.current, new=new))
    return Response(body, headers={"cache-control": "no-store"}, media_type=JSON_MEDIA_TYPE)
