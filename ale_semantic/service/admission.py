"""Who may come in, and how often: API keys and rate limits."""

from __future__ import annotations

import ipaddress
import logging
from typing import TYPE_CHECKING

from .asgi import HEALTH, client_address, header, refuse, state_of
from .problems import RateLimitError, UnauthorisedError
from .sessions import SIGN_IN, SIGN_OUT, Sessions, challenge

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from .keys import KeyRing, StoredKey
    from .rates import RateLimit
    from .telemetry import Telemetry

_NEEDS = (
    "an API key is needed: send it as 'Authorization: Bearer KEY' or 'X-API-Key: KEY'; "
    "`ale-semantic keys add NAME` makes one"
)
_INVALID = "this API key isn't valid: it is unknown, revoked or expired"
_IPV6_SITE = 64  # bits of an IPv6 address that belong to one customer, who may use all addresses below


class Admission:
    """Lets in who has a valid key (where keys are asked for) and doesn't ask too often."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        keys: KeyRing,
        sessions: Sessions,
        require_key: bool | None,
        limit: RateLimit | None,
        telemetry: Telemetry,
    ) -> None:
        """Wrap an application.

        Args:
            app: what is guarded.
            keys: the keys that open it.
            sessions: browsers that have shown a key.
            require_key: None: as soon as there is a key.
            limit: how often one key or address may ask; None: as often as it likes.
            telemetry: told of a file of keys that can't be read.
        """
        self.app = app
        self.keys = keys
        self.sessions = sessions
        self.require_key = require_key
        self.limit = limit
        self.telemetry = telemetry
        self._told = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in, or refuse it."""
        if scope["type"] == "lifespan" or scope["path"] in HEALTH:
            if scope["type"] != "lifespan":
                state_of(scope)["trusted"] = self._identify(scope) is not None or not self._asks()
            await self.app(scope, receive, send)
            return
        key = self._identify(scope)
        record = state_of(scope).get("record")
        if key is not None and record is not None:
            record.key_id = key.id
        wait = self.limit.wait(_caller(scope, key)) if self.limit and self.limit.counts(scope) else 0.0
        if wait:
            detail = f"more than {self.limit} from this {'key' if key else 'address'}; wait and ask again"
            await refuse(RateLimitError(detail, retry_after=wait), scope, receive, send)
        elif key is None and self._asks() and scope["path"] not in (SIGN_IN, SIGN_OUT):
            await self._turn_away(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    def _asks(self) -> bool:
        return self.keys.holds_keys if self.require_key is None else self.require_key

    def _identify(self, scope: Scope) -> StoredKey | None:
        """Return the key of a request: from its headers, else from a signed-in browser's cookie."""
        given = presented_key(scope)
        key = self.keys.find(given) if given else self.sessions.find(scope)
        if self.keys.problem != self._told:
            self._told = self.keys.problem
            if self._told:
                self.telemetry.event("no key is accepted", level=logging.ERROR, problem=self._told)
        return key

    async def _turn_away(self, scope: Scope, receive: Receive, send: Send) -> None:
        given = presented_key(scope)
        if scope["type"] == "http" and not given and _is_browser(scope):
            state_of(scope)["problem"] = UnauthorisedError.slug
            await challenge(scope)(scope, receive, send)
        else:
            await refuse(UnauthorisedError(_INVALID if given else _NEEDS), scope, receive, send)


def presented_key(scope: Scope) -> str:
    """Return the key in a request's headers, or an empty string."""
    scheme, _, value = header(scope, b"authorization").partition(" ")
    if scheme.lower() == "bearer" and value.strip():
        return value.strip()
    return header(scope, b"x-api-key").strip()


def _is_browser(scope: Scope) -> bool:
    """Tell whether a person is looking: a page is wanted, not data."""
    return scope["method"] == "GET" and "text/html" in header(scope, b"accept")


def _caller(scope: Scope, key: StoredKey | None) -> str:
    return f"key:{key.id}" if key is not None else f"address:{_site(client_address(scope))}"


def _site(address: str) -> str:
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, ipaddress.IPv6Address):
        if parsed.ipv4_mapped is not None:
            return str(parsed.ipv4_mapped)
        return str(ipaddress.ip_network((parsed, _IPV6_SITE), strict=False))
    return str(parsed)
