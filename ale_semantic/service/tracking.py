"""The outermost middleware: gives each request an id, measures it, logs it, and catches what nobody else did."""

from __future__ import annotations

import logging
import re
import traceback
import uuid
from time import perf_counter
from typing import TYPE_CHECKING, Any

from .asgi import client_address, header, refuse, state_of, with_headers
from .route_table import RouteTable, is_own
from .telemetry import OTHER, RequestRecord, Telemetry

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_VALID_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_MCP = "/mcp"  # a route that leaves no template
_GONE = 499  # the client went away before its answer began; the usual number for it in logs
_SUSPICIOUS = frozenset((401, 403, 413, 429, 431))  # whoever runs the service wants to know from where


class Tracking:
    """Pure ASGI, so that streams pass as they come."""

    def __init__(self, app: ASGIApp, *, telemetry: Telemetry) -> None:
        """Wrap an application."""
        self.app = app
        self.telemetry = telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        own = scope.get("app")
        record = RequestRecord(_request_id(scope), scope["method"])
        state_of(scope).update(request_id=record.request_id, record=record)
        answer = _Answer(send, record.request_id)
        with self.telemetry.request(record), self._span(scope) as span:
            try:
                await self.app(scope, receive, answer.send)
            except Exception as fault:
                if type(fault).__name__ != "ClientDisconnect":
                    self._unexpected(fault)
                    if not answer.status:
                        await refuse(fault, scope, receive, answer.send)
            finally:
                self._finish(scope, record, answer.status or _GONE, own, span)

    def _span(self, scope: Scope) -> Any:
        headers = {}
        if self.telemetry.tracing.on:
            headers = {name: found for name in ("traceparent", "tracestate") if (found := header(scope, name.encode()))}
        return self.telemetry.tracing.request(scope["method"], headers)

    def _unexpected(self, fault: Exception) -> None:
        """Log where an unexpected fault came from; its message may repeat what the user asked."""
        frames = [
            f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(fault.__traceback__)
        ]
        fields: dict[str, Any] = {"error": type(fault).__name__, "trace": frames}
        if self.telemetry.config.log_queries:
            fields["detail"] = str(fault)
        self.telemetry.event("unexpected fault", level=logging.ERROR, **fields)

    def _finish(self, scope: Scope, record: RequestRecord, status: int, own: Any, span: Any) -> None:
        took = perf_counter() - record.begun
        route = route_template(scope, own)
        method = record.method if record.method in _METHODS else OTHER
        metrics = self.telemetry.metrics
        metrics.requests.labels(method, route, str(status)).inc()
        metrics.latency.labels(route).observe(took)
        metrics.read_memory()
        problem = state_of(scope).get("problem")
        if status >= 400:
            self.telemetry.fault(str(problem or f"http-{status}"))
        if span is not None:
            span.update_name(f"{method} {route}")
            span.set_attributes({"http.route": route, "http.response.status_code": status})
        self._log(scope, record, status, route, took, problem)

    def _log(
        self, scope: Scope, record: RequestRecord, status: int, route: str, took: float, problem: str | None
    ) -> None:
        fields: dict[str, Any] = {"method": record.method, "route": route, "status": status, "ms": _ms(took)}
        if record.stages:
            fields["stages"] = {name: _ms(seconds) for name, seconds in record.stages.items()}
        optional = {"key": record.key_id, "problem": problem, "query": record.query}
        if status in _SUSPICIOUS:
            optional["client"] = client_address(scope)
        fields.update({name: value for name, value in optional.items() if value})
        level = logging.ERROR if status >= 500 else logging.INFO
        self.telemetry.event("request", level=level, **fields)


class _Answer:
    """Passes an answer on with the request's id, and remembers its status."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._header = {b"x-request-id": request_id.encode()}
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message = with_headers(message, self._header)
        await self._send(message)


def route_template(scope: Scope, own: Any) -> str:
    """Return the template of the route that answered: one of a fixed few, so that it can be a label.

    Args:
        scope: the request, after it was answered.
        own: the service's application; what another one answered is the page's.

    A request that was refused before it reached a route goes by the one that it was meant for.
    """
    if scope.get("app") is not own:
        return "page"
    template = getattr(scope.get("route"), "path", None)
    if template:
        return str(template)
    if scope["path"] == _MCP:
        return _MCP
    state = getattr(own, "state", None)
    if hasattr(state, "page") and not is_own(scope["path"]):
        return "page"
    table: RouteTable | None = getattr(state, "table", None)
    return (table.template(scope) if table is not None else None) or "unmatched"


def _request_id(scope: Scope) -> str:
    given = header(scope, b"x-request-id")
    return given if _VALID_ID.fullmatch(given) else uuid.uuid4().hex


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 2)
