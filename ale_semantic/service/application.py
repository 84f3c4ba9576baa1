"""The application: routers, faults, documentation, guards and the page, put together in one place."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi_offline import FastAPIOffline
from starlette.exceptions import HTTPException

from ale_semantic import __version__
from ale_semantic.errors import AleSemanticError

from . import search_routes, task_routes
from .core import Service
from .problems import problem_of, problem_of_status
from .validation import validation_problem

if TYPE_CHECKING:
    from fastapi.routing import APIRoute

TITLE = "ALE Semantic"
_SUMMARY = "Semantic search over agent-benchmark task cards"
_TAGS = [
    {"name": "search", "description": "Rank tasks by meaning, find tasks alike, count values."},
    {"name": "tasks", "description": "The cards themselves."},
    {"name": "catalogue", "description": "What there is to search, and which build of it is served."},
]


def create_app(service: Service) -> FastAPI:
    """Return the application of a service; whoever serves it runs its lifespan."""
    app: FastAPI = FastAPIOffline(
        title=TITLE,
        summary=_SUMMARY,
        version=__version__,
        openapi_tags=_TAGS,
        lifespan=_lifespan,
        swagger_ui_parameters={"validatorUrl": None},  # else a badge is fetched from a server elsewhere
    )
    app.state.service = service
    app.include_router(search_routes.router)
    app.include_router(task_routes.router)
    app.add_exception_handler(AleSemanticError, _on_fault)
    app.add_exception_handler(HTTPException, _on_http_fault)
    app.add_exception_handler(RequestValidationError, _on_bad_request)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with AsyncExitStack() as running:
        yield


async def _on_fault(request: Request, fault: Exception) -> Response:
    return problem_of(fault).response(request.scope)


async def _on_http_fault(request: Request, fault: Exception) -> Response:
    fault = cast(HTTPException, fault)
    return problem_of_status(fault.status_code, str(fault.detail), fault.headers).response(request.scope)


async def _on_bad_request(request: Request, fault: Exception) -> Response:
    route: APIRoute | None = request.scope.get("route")
    faults = cast(RequestValidationError, fault).errors()
    return validation_problem(faults, _parameters(route)).response(request.scope)


def _parameters(route: APIRoute | None) -> set[str]:
    """Return the names that a route takes in its query string or body."""
    if route is None:
        return set()
    given = [*route.dependant.query_params, *route.dependant.body_params]
    models = [field.field_info.annotation for field in given]
    return {name for model in models for name in getattr(model, "model_fields", {})}
