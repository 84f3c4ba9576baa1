"""What the server refuses and forbids, whatever Gradio would allow."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.middleware import Middleware
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# The page needs none of these: files, uploads and a proxy to other hosts.
_CLOSED = ("file", "file=", "upload", "upload_progress", "proxy=", "stream", "deep_link", "custom_component", "vibe")
# The browser itself then refuses every request to another server. Gradio needs inline scripts and `new Function`.
_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
    )
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
)


class Guard:
    """ASGI middleware that closes routes and adds headers."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer closed routes with 404, pass on the others."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        if is_closed(scope["path"]):
            from starlette.responses import PlainTextResponse

            await PlainTextResponse("Not found", status_code=404)(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                _add_headers(message)
            await send(message)

        await self.app(scope, receive, send_with_headers)


def is_closed(path: str) -> bool:
    """Tell whether a path is one that the page never needs."""
    _, found, rest = path.partition("/gradio_api/")
    return bool(found) and rest.lstrip("/").startswith(_CLOSED)


def _add_headers(message: MutableMapping[str, Any]) -> None:
    message["headers"] = [*message.get("headers", ()), *_HEADERS]


def middleware() -> list[Middleware]:
    """Return the middleware in the form that FastAPI takes."""
    from starlette.middleware import Middleware

    return [Middleware(Guard)]
