"""The limit of request bodies, whatever their length claims, and of the time they may take to arrive."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from .asgi import header, refuse
from .problems import ServiceError, TooLargeError

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send


class SlowBodyError(ServiceError):
    """A body that takes too long to arrive."""

    status = 408
    slug = "body-too-slow"


class EncodedBodyError(ServiceError):
    """A compressed body, which could be larger than any limit once it is unpacked."""

    status = 415
    slug = "encoded-body"


class BodyLimit:
    """Reads a body whole before anything else happens: one too large or too slow reaches no route, and no thread."""

    def __init__(self, app: ASGIApp, *, max_bytes: int, seconds: float) -> None:
        """Wrap an application."""
        self.app = app
        self.max_bytes = max_bytes
        self.seconds = seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on a request with its body, or refuse it."""
        if scope["type"] != "http" or not _has_body(scope):
            await self.app(scope, receive, send)
            return
        try:
            self._check_length(header(scope, b"content-length"))
            encoding = header(scope, b"content-encoding").strip().lower()
            if encoding not in ("", "identity"):
                raise EncodedBodyError("bodies are taken as they are: send it without Content-Encoding")
            async with asyncio.timeout(self.seconds):
                body = await self._read(receive)
        except TimeoutError:
            await refuse(
                SlowBodyError(f"the body didn't arrive within {self.seconds:g} s"), scope, receive, closing(send)
            )
        except ServiceError as fault:
            await refuse(fault, scope, receive, closing(send))
        else:
            if body is not None:
                await self.app(scope, _replay(body, receive), send)

    def _check_length(self, length: str) -> None:
        if length and (not length.isdecimal() or int(length) > self.max_bytes):
            raise self._too_large()

    async def _read(self, receive: Receive) -> bytes | None:
        """Return the whole body; None if the client went away."""
        chunks, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            chunk = message.get("body", b"")
            size += len(chunk)
            if size > self.max_bytes:
                raise self._too_large()
            chunks.append(chunk)
            if not message.get("more_body", False):
                return b"".join(chunks)

    def _too_large(self) -> TooLargeError:
        return TooLargeError(f"the body is larger than {self.max_bytes} bytes; send less at a time")


def closing(send: Send) -> Send:
    """Return a `send` that ends the connection after the answer: what is left of the request isn't read."""

    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
        await send(message)

    return wrapped


def _has_body(scope: Scope) -> bool:
    return bool(header(scope, b"transfer-encoding") or header(scope, b"content-length") not in ("", "0"))


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body once, then whatever the server says next."""
    given = False

    async def wrapped() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return wrapped
