"""Which routes there are, for what is asked of an address without calling one: its template, its methods, its head."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from starlette.routing import BaseRoute, Match, Route

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


# What stands below these is never the page's: a wrong address there is told as a problem.
_OWN_PATHS: tuple[str, ...] = ("/api", "/v1", "/mcp", "/docs", "/redoc", "/openapi.json", "/static-docs")
_OWN_PATHS += ("/healthz", "/readyz", "/metrics", "/sign-in", "/sign-out")


def is_own(path: str) -> bool:
    """Tell whether an address is the service's, not the page's."""
    return any(path == own or path.startswith(f"{own}/") for own in _OWN_PATHS)


class RouteTable:
    """The service's own routes, without those of the page."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        """Take the routes; those that answer whatever method comes, as MCP's, are no part of it."""
        self._routes = [route for route in routes if isinstance(route, Route) and route.methods]

    def template(self, scope: Scope) -> str | None:
        """Return the path template that an address fits, whatever its method; None if it fits none."""
        fitting = self._fitting(scope)
        return fitting[0].path if fitting else None

    def methods(self, scope: Scope) -> tuple[str, ...]:
        """Return the methods that an address takes, in alphabetical order."""
        found = {method for route in self._fitting(scope) for method in route.methods or ()}
        return tuple(sorted(found | {"HEAD"} if "GET" in found else found))

    def _fitting(self, scope: Scope) -> list[Route]:
        return [route for route in self._routes if route.matches(scope)[0] is not Match.NONE]


class HeadsAsGets:
    """Answers HEAD as GET; the server leaves the body out.

    A copy of the request says GET, so that the server itself, which holds the other one, still knows.
    """

    def __init__(self, app: ASGIApp, *, table: RouteTable) -> None:
        """Wrap an application."""
        self.app = app
        self.table = table

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http" or scope["method"] != "HEAD" or "GET" not in self.table.methods(scope):
            await self.app(scope, receive, send)
            return
        inner = {**scope, "method": "GET"}
        try:
            await self.app(inner, receive, send)
        finally:
            scope["route"] = inner.get("route")  # for the metrics
