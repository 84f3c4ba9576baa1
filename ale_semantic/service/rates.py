"""How often one caller may ask: a moving window, so that no burst at the turn of a minute gets twice as much."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from limits import parse
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter

if TYPE_CHECKING:
    from starlette.types import Scope

# Files and event streams of the page: one visit fetches a hundred, and they cost nothing.
_FREE = ("/assets/", "/static/", "/static-offline-docs/", "/svelte/", "/gradio_api/", "/theme.css", "/favicon.ico")
_TIDY_EVERY = 1_000  # questions between two looks for callers that have gone


class RateLimit:
    """Counts the requests of each caller in a worker's memory."""

    def __init__(self, rate: str, *, workers: int = 1) -> None:
        """Take a rate such as `120/minute`; with several workers each grants its share of it."""
        self.rate = rate
        whole = parse(rate)
        share = max(1, whole.amount // max(1, workers))
        self._item = type(whole)(share, whole.multiples)
        self._storage = MemoryStorage()
        self._limiter = MovingWindowRateLimiter(self._storage)
        self._asked = 0

    def __str__(self) -> str:
        """Return the rate in words."""
        return f"{self.rate} requests"

    def counts(self, scope: Scope) -> bool:
        """Tell whether a request counts."""
        return scope.get("method") not in ("GET", "HEAD") or not scope["path"].startswith(_FREE)

    def wait(self, caller: str) -> float:
        """Count a request of a caller; return the seconds to wait if it is one too many, else 0."""
        self._asked += 1
        if self._asked % _TIDY_EVERY == 0:
            self._tidy()
        if self._limiter.hit(self._item, caller):
            return 0.0
        reset, _ = self._limiter.get_window_stats(self._item, caller)
        return max(1.0, reset - time.time())

    def _tidy(self) -> None:
        """Forget callers that have gone: the storage keeps an empty list of each."""
        for key, events in list(self._storage.events.items()):
            if not events:
                self._storage.clear(key)
