"""Small helpers for middlewares that work on the wire: headers, and answers of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .problems import problem_of

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

# Answered without a key, whatever the settings: probes of a supervisor know none, and they tell nothing.
HEALTH = ("/healthz", "/readyz")


def header(scope: Scope, name: bytes) -> str:
    """Return the first value of a header, or an empty string; `name` in lower case."""
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


def client_address(scope: Scope) -> str:
    """Return the address that a request came from."""
    client = scope.get("client")
    return str(client[0]) if client else ""


def state_of(scope: Scope) -> dict[str, Any]:
    """Return the request's own notes."""
    state: dict[str, Any] = scope.setdefault("state", {})
    return state


async def refuse(fault: BaseException, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with a fault in the usual shape."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    await problem_of(fault).response(scope)(scope, receive, send)


def with_headers(message: Message, extra: dict[bytes, bytes]) -> Message:
    """Return the start of an answer with those headers that it doesn't have yet."""
    given = {key.lower() for key, _ in message.get("headers", ())}
    added = [(key, value) for key, value in extra.items() if key not in given]
    return {**message, "headers": [*message.get("headers", ()), *added]}
