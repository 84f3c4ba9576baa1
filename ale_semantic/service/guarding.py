"""What stands between the network and the routes, from the outside in.

proxies    X-Forwarded-* of trusted proxies becomes the client's address; nobody else's counts
Tracking   id, log line, metrics, the last catch of faults
Headers    headers that make browsers careful
Crowd      requests on connections that are too many
Hosts      names that aren't ours (DNS rebinding), and other sites' scripts that would change something
CORS       only for the origins of the settings
Admission  key, rate
BodyLimit  size and time of bodies
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .admission import Admission
from .asgi import HEALTH, header, refuse, state_of, with_headers
from .bodies import BodyLimit, closing
from .config import ServiceConfig, ServiceConfigError, is_loopback
from .keys import KeyRing
from .metrics import shared_folder
from .problems import CrowdedError, ForbiddenError
from .protocol import CROWDED
from .rates import RateLimit
from .sessions import Sessions, router
from .tracking import Tracking

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from .core import Service

_SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
_HEADERS = {
    b"x-content-type-options": b"nosniff",
    b"x-frame-options": b"DENY",
    b"referrer-policy": b"no-referrer",
    b"cross-origin-resource-policy": b"same-origin",
    b"cross-origin-opener-policy": b"same-origin",
    b"permissions-policy": b"camera=(), geolocation=(), microphone=()",
    # The page and the documentation bring their own; what is left is data, which needs nothing.
    b"content-security-policy": b"default-src 'none'; frame-ancestors 'none'",
}
_DATA = ("/api/", "/v1/", "/mcp", "/metrics")
_DATA_HEADERS = {**_HEADERS, b"cache-control": b"private, no-cache"}  # a shared cache must not keep it


def install(app: FastAPI, service: Service) -> None:
    """Put all guards before an application; to be called once, when its routes are there.

    Raises:
        KeyFileError: if the file of keys can't be trusted or read.
    """
    config, telemetry = service.config, service.telemetry
    keys = KeyRing(config.keys_file)
    sessions = Sessions(keys, secret=config.session_secret.get_secret_value(), hours=config.session_hours)
    app.state.sessions = sessions
    app.include_router(router)
    limit = RateLimit(config.rate_limit, folder=shared_folder()) if config.rate_limit else None
    # Each wraps those before it, so the last is the outermost.
    app.add_middleware(BodyLimit, max_bytes=config.max_body_bytes, seconds=config.receive_seconds)
    app.add_middleware(
        Admission,
        keys=keys,
        sessions=sessions,
        require_key=config.require_key,
        limit=limit,
        telemetry=telemetry,
    )
    if config.cors_origins:
        _add_cors(app, config)
    app.add_middleware(Hosts, config=config)
    app.add_middleware(Crowd)
    app.add_middleware(Tracking, telemetry=telemetry)
    app.add_middleware(Headers)
    if config.trusted_proxies:
        from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

        proxies: Any = ProxyHeadersMiddleware  # typed with uvicorn's own names of the same things
        app.add_middleware(proxies, trusted_hosts=list(config.trusted_proxies))


def check_exposure(config: ServiceConfig) -> None:
    """Refuse to open the service to other machines without a key, unless the settings insist.

    Raises:
        ServiceConfigError: naming the ways out.
        KeyFileError: if the file of keys can't be trusted or read.
    """
    keys = KeyRing(config.keys_file)
    asks = keys.holds_keys if config.require_key is None else config.require_key
    if config.require_key and not keys.holds_keys:
        raise ServiceConfigError(
            f"require_key is set and {config.keys_file} holds no key: make one with `ale-semantic keys add NAME`"
        )
    if not config.is_loopback and not asks and not config.allow_remote_without_key:
        raise ServiceConfigError(
            f"{config.host} lets other machines in, and no API key is asked for: make one with "
            "`ale-semantic keys add NAME`, listen on 127.0.0.1, or set allow_remote_without_key"
        )


def _add_cors(app: FastAPI, config: ServiceConfig) -> None:
    from starlette.middleware.cors import CORSMiddleware

    app.add_middleware(
        CORSMiddleware,
        allow_origins=list(config.cors_origins),
        allow_methods=["GET", "POST"],
        allow_headers=["authorization", "content-type", "if-none-match", "x-api-key", "x-request-id"],
        expose_headers=["etag", "retry-after", "x-request-id"],
        allow_credentials=False,  # scripts elsewhere bring a key; a signed-in browser's cookie isn't theirs to use
        max_age=600,
    )


class Headers:
    """Adds the headers that an answer doesn't bring itself."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and complete its answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        extra = _DATA_HEADERS if scope["path"].startswith(_DATA) else _HEADERS

        async def complete(message: Message) -> None:
            await send(with_headers(message, extra) if message["type"] == "http.response.start" else message)

        await self.app(scope, receive, complete)


class Crowd:
    """Refuses what comes on a connection that was one too many when it was opened, and ends it."""

    def __init__(self, app: ASGIApp) -> None:
        """Wrap an application."""
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it; probes learn of the process, not of its visitors."""
        if scope["type"] == "http" and state_of(scope).get(CROWDED):
            send = closing(send)
            if scope["path"] not in HEALTH:
                fault = CrowdedError("too many connections are open; use one for several requests, or try again soon")
                await refuse(fault, scope, receive, send)
                return
        await self.app(scope, receive, send)


class Hosts:
    """Refuses what a foreign web page could send through its visitor's browser.

    A page whose name suddenly points at this machine (DNS rebinding) gives its own name as Host. A page that posts to
    this service from elsewhere is told by Origin and Sec-Fetch-Site, which scripts can't change.
    """

    def __init__(self, app: ASGIApp, *, config: ServiceConfig) -> None:
        """Wrap an application."""
        self.app = app
        self.loopback = config.is_loopback
        self.allowed = frozenset(config.allowed_hosts)
        self.origins = frozenset(config.cors_origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan" or scope["path"] in HEALTH:
            await self.app(scope, receive, send)
        elif sum(name == b"host" for name, _ in scope["headers"]) > 1:  # a proxy might have looked at another one
            await refuse(ForbiddenError("the request names several hosts"), scope, receive, send)
        elif not self._is_ours(host_name(header(scope, b"host"))):
            fault = ForbiddenError(
                "this service isn't known by that host name; `allowed_hosts` in its settings adds one"
            )
            await refuse(fault, scope, receive, send)
        elif not self._may_write(scope):
            fault = ForbiddenError("another site may not send this; `cors_origins` in the settings allows origins")
            await refuse(fault, scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _is_ours(self, host: str) -> bool:
        if host in self.allowed:
            return True
        return is_loopback(host) if self.loopback else not self.allowed

    def _may_write(self, scope: Scope) -> bool:
        if scope["type"] == "http" and scope["method"] in _SAFE_METHODS:
            return True
        origin = header(scope, b"origin")
        if origin in self.origins:
            return True
        site = header(scope, b"sec-fetch-site")
        if site:
            return site in ("same-origin", "none")
        return not origin or origin.partition("://")[2] == header(scope, b"host")


_HOST = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[^\[\]:/@\s]*))(?::[0-9]*)?", re.ASCII)


def host_name(value: str) -> str:
    """Return the name in a Host header, without port, brackets and final dot; blank if it is no such header."""
    found = _HOST.fullmatch(value)
    return (found["v6"] or found["name"] or "").lower().rstrip(".") if found else ""
