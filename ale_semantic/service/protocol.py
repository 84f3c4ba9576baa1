"""What uvicorn is told, and the limits of request heads, which its fast parser leaves open.

Without them a client that sends headers without end fills the memory, and one that never finishes its head holds a
connection for good. What is refused here reaches no middleware, so it is counted and logged here too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from .logs import logging_config

if TYPE_CHECKING:
    from asyncio import TimerHandle

    from .config import ServiceConfig
    from .telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class _Refusal:
    """What a connection is told before it ends, and the name of it in metrics and log."""

    status: int
    slug: str
    phrase: str = ""

    def answer(self) -> bytes:
        """Return it as it is sent."""
        return f"HTTP/1.1 {self.status} {self.phrase}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n".encode()


_MALFORMED = _Refusal(400, "malformed-request")  # uvicorn writes the answer
_SLOW = _Refusal(408, "head-too-slow", "Request Timeout")
_LONG = _Refusal(431, "head-too-large", "Request Header Fields Too Large")
CROWDED = "crowded"  # in the state of requests on connections that are too many; `guarding` refuses them


def uvicorn_settings(config: ServiceConfig) -> dict[str, Any]:
    """Return what `uvicorn.Config` is told beside the application, its address and its workers; it can be pickled."""
    return {
        "http": head_limits(config),
        "ws": "none",  # no route speaks it; the page's events are ordinary answers that go on
        "proxy_headers": False,  # the guards do it, for the proxies of the settings alone
        "server_header": False,
        "access_log": False,  # it would write query strings; the service logs requests itself
        "log_config": logging_config(config),
    }


def head_limits(config: ServiceConfig) -> HeadLimits:
    """Return what makes uvicorn's protocols, with the limits of the settings."""
    return HeadLimits(
        config.max_header_bytes, config.max_headers, config.receive_seconds, max_connections=config.max_connections
    )


@dataclass(frozen=True, slots=True)
class HeadLimits:
    """How long a head may be and take, and how many connections there may be.

    Called for each connection, in place of uvicorn's protocol class.
    """

    max_bytes: int
    max_headers: int
    seconds: float
    max_connections: int

    def __call__(self, **arguments: Any) -> Any:
        """Return the protocol of one connection."""
        if len(arguments["server_state"].connections) >= self.max_connections:
            arguments["app_state"] = {**arguments["app_state"], CROWDED: True}
        protocol = _protocol_class()(**arguments)
        protocol.limits = self
        return protocol


@cache
def _protocol_class() -> type[Any]:
    """Return uvicorn's protocol with what is added to it; where httptools is missing (Windows), h11 limits heads."""
    if find_spec("httptools") is None:
        from uvicorn.protocols.http.h11_impl import H11Protocol

        return type("CountedProtocol", (_Counted, H11Protocol), {"limits": None})
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

    return type("LimitedProtocol", (_Limited, HttpToolsProtocol), {})


class _HeadTooLongError(Exception):
    """A head that is over the limits; stops the parser."""


class _Counted:
    """Mixed in before uvicorn's protocols: what they refuse is counted and logged by its reason, never its content."""

    _told = False

    def send_400_response(self, msg: str) -> None:
        """Answer a request that the parser refused."""
        if not self._told:
            self._told = True
            self._count_refusal(_MALFORMED)
            super().send_400_response(msg)  # type: ignore[misc]

    def _count_refusal(self, refusal: _Refusal) -> None:
        state = getattr(self.app, "state", None)  # type: ignore[attr-defined]
        telemetry: Telemetry | None = getattr(getattr(state, "service", None), "telemetry", None)
        if telemetry is not None:  # nobody counts for another application
            client = self.client  # type: ignore[attr-defined]
            telemetry.unread(refusal.status, refusal.slug, client=str(client[0]) if client else "")


class _Limited(_Counted):
    """Mixed in before uvicorn's fast protocol: counts what a head holds and how long it takes."""

    limits: HeadLimits
    _timer: TimerHandle | None = None
    _in_head = True
    _counted = 0  # bytes of the head that the parser has told of
    _arrived = 0  # bytes of whole reads within the head: one header without end is told of only at its end

    def connection_made(self, transport: Any) -> None:
        """Start the time of the first head."""
        super().connection_made(transport)  # type: ignore[misc]
        self._start_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time."""
        self._stop_timer()
        super().connection_lost(exc)  # type: ignore[misc]

    def data_received(self, data: bytes) -> None:
        """Parse what arrived, and count it if the head isn't over yet."""
        super().data_received(data)  # type: ignore[misc]
        if self._in_head and self._timer is not None:
            self._arrived += len(data)
            if self._arrived > self.limits.max_bytes:
                self._end(_LONG)

    def on_message_begin(self) -> None:
        """Begin to count a head."""
        self._in_head, self._counted, self._arrived = True, 0, 0
        if self._timer is None:
            self._start_timer()
        super().on_message_begin()  # type: ignore[misc]

    def on_url(self, url: bytes) -> None:
        """Count the address."""
        self._count(len(url))
        super().on_url(url)  # type: ignore[misc]

    def on_header(self, name: bytes, value: bytes) -> None:
        """Count a header."""
        self._count(len(name) + len(value))
        super().on_header(name, value)  # type: ignore[misc]
        if len(self.headers) > self.limits.max_headers:  # type: ignore[attr-defined]
            raise _HeadTooLongError

    def on_headers_complete(self) -> None:
        """Stop the time: what follows is the body, which has limits of its own."""
        self._in_head = False
        self._stop_timer()
        super().on_headers_complete()  # type: ignore[misc]

    def send_400_response(self, msg: str) -> None:
        """Answer a head that the parser refused, or that was stopped for its length."""
        if self._counted > self.limits.max_bytes or len(self.headers or ()) > self.limits.max_headers:  # type: ignore[attr-defined]
            self._end(_LONG)
        else:
            super().send_400_response(msg)

    def _count(self, size: int) -> None:
        self._counted += size
        if self._counted > self.limits.max_bytes:
            raise _HeadTooLongError

    def _start_timer(self) -> None:
        self._timer = self.loop.call_later(self.limits.seconds, self._too_slow)  # type: ignore[attr-defined]

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _too_slow(self) -> None:
        self._timer = None
        self._end(_SLOW if self._counted or self._arrived else None)  # a browser's spare connection ends in silence

    def _end(self, refusal: _Refusal | None) -> None:
        """End the connection, with an answer unless an earlier one is still being written."""
        self._stop_timer()
        if self._told:
            return
        self._told = True
        if refusal is not None:
            self._count_refusal(refusal)
        transport, cycle = self.transport, self.cycle  # type: ignore[attr-defined]
        if not transport.is_closing():
            if refusal is not None and (cycle is None or cycle.response_complete):
                transport.write(refusal.answer())
            transport.close()
