"""The application: routers, faults, documentation, guards and the page, put together in one place."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import Match, Mount, Route

from ale_semantic.errors import AleSemanticError

from . import (
    curriculum_routes,
    documentation,
    embedding_routes,
    guarding,
    health_routes,
    search_routes,
    sessions,
    task_routes,
)
from .core import Service
from .mcp_server import mcp_application
from .problems import problem_of, problem_of_status
from .route_table import HeadsAsGets, RouteTable, is_own
from .strict_requests import BodyFault
from .validation import unreadable_body, validation_problem

if TYPE_CHECKING:
    from fastapi.routing import APIRoute
    from starlette.types import Scope

    from ale_semantic.engine import Engine

_Value = TypeVar("_Value")


def create_app(service: Service) -> FastAPI:
    """Return the application of a service; whoever serves it runs its lifespan."""
    app = FastAPI(
        title=documentation.TITLE,
        openapi_url=None,  # `documentation` has a route for it
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
        generate_unique_id_function=lambda route: route.name,
    )
    app.openapi = partial(documentation.schema, app)  # type: ignore[method-assign]
    app.state.service = service
    routers = (
        documentation.router,
        search_routes.router,
        task_routes.router,
        curriculum_routes.router,
        embedding_routes.router,
        health_routes.router,
    )
    for router in routers:
        app.include_router(router)
    told = [*routers, sessions.router]  # the last is the guards' own
    app.state.table = RouteTable([*app.routes, *(route for router in told for route in router.routes)])
    app.add_middleware(HeadsAsGets, table=app.state.table)
    guarding.install(app, service)
    if service.config.mcp:
        app.state.mcp = mcp_application(service)
        app.router.routes.append(Route("/mcp", endpoint=app.state.mcp.app, include_in_schema=False))
    if service.config.ui:
        _mount_page(app, service)
    app.add_exception_handler(AleSemanticError, _on_fault)
    app.add_exception_handler(HTTPException, _on_http_fault)
    app.add_exception_handler(RequestValidationError, _on_bad_request)
    return app


def _mount_page(app: FastAPI, service: Service) -> None:
    """Let the page answer every path that is nobody else's.

    Its work gets at most half of the threads, so that the API always has some.
    """
    from ale_semantic.app.mounting import mounted_page

    async def ask(question: Callable[[Engine], _Value], /) -> _Value:
        return await service.ask("page", lambda index: question(index.engine), bulk=True)

    app.state.page = mounted_page(ask, service.holder.current.engine)
    app.router.routes.append(_Rest("/", app.state.page, name="page"))


class _Rest(Mount):
    """What is mounted at the root and leaves the service's own paths alone."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return (Match.NONE, {}) if is_own(str(scope.get("path", ""))) else super().matches(scope)


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Run what runs beside the routes; at the end let what was begun be answered, then close the index."""
    service: Service = app.state.service
    async with AsyncExitStack() as running:
        running.callback(service.telemetry.close)
        running.callback(service.holder.close)
        running.push_async_callback(service.pool.close, service.config.shutdown_seconds)
        if service.config.mcp:
            await running.enter_async_context(app.state.mcp.lifespan())
        if service.config.ui:
            page = app.state.page
            await running.enter_async_context(page.router.lifespan_context(page))
        service.holder.watch()
        yield


async def _on_fault(request: Request, fault: Exception) -> Response:
    return problem_of(fault).response(request.scope)


async def _on_http_fault(request: Request, fault: Exception) -> Response:
    fault = cast(HTTPException, fault)
    if isinstance(fault, BodyFault):
        return problem_of(fault.fault).response(request.scope)
    if fault.status_code == 400:  # FastAPI's own: a body so malformed that even its fault has no place
        return unreadable_body().response(request.scope)
    headers = {name.lower(): value for name, value in (fault.headers or {}).items()}
    if fault.status_code == 405 and (methods := request.app.state.table.methods(request.scope)):
        headers["allow"] = ", ".join(methods)  # all of them, where the framework names the first route's
    return problem_of_status(fault.status_code, str(fault.detail), headers).response(request.scope)


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
