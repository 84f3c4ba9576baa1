"""How often one caller may ask: a moving window, so that no burst at the turn of a minute gets twice as much.

One worker counts in its memory; several count in one small file that they share, so that the limit holds for them all.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from limits import parse
from limits.storage import MemoryStorage, Storage
from limits.storage.base import MovingWindowSupport
from limits.strategies import MovingWindowRateLimiter

if TYPE_CHECKING:
    from starlette.types import Scope

# Files and event streams of the page: one visit fetches a hundred, and they cost nothing.
_FREE = ("/assets/", "/static/", "/static-offline-docs/", "/svelte/", "/gradio_api/", "/theme.css", "/favicon.ico")
_TIDY_EVERY = 1_000  # questions between two looks for callers that have gone
_BUSY_SECONDS = 1.0  # another worker holds the file for some microseconds
_FILE = "rates.sqlite"


class RateLimit:
    """Counts the requests of each caller."""

    def __init__(self, rate: str, *, folder: Path | None = None) -> None:
        """Take a rate such as `120/minute`, and the folder that several workers share."""
        self.rate = rate
        self._item = parse(rate)
        self._storage: Window | SharedWindow = Window() if folder is None else SharedWindow(folder / _FILE)
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
            self._storage.tidy(self._item.get_expiry())
        if self._limiter.hit(self._item, caller):
            return 0.0
        reset, _ = self._limiter.get_window_stats(self._item, caller)
        return max(1.0, reset - time.time())


class Window(MemoryStorage):
    """The library's own storage, which forgets callers that have gone (it would keep an empty list of each)."""

    def tidy(self, expiry: int) -> None:
        """Forget callers without a request in their window."""
        for key, events in list(self.events.items()):
            if not events:
                self.clear(key)


class SharedWindow(Storage, MovingWindowSupport):
    """Requests in an SQLite file of several processes; only the moving window is kept there."""

    STORAGE_SCHEME = ["ale-sqlite"]  # noqa: RUF012 (the library declares it so)

    def __init__(self, path: Path) -> None:
        """Open the file, or make it."""
        super().__init__(None)
        self._lock = Lock()
        # No waiting for the disk: after a crash of the machine nobody cares who had asked how often.
        self._base = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        self._base.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF;"
            "CREATE TABLE IF NOT EXISTS hits (caller TEXT, at REAL);"
            "CREATE INDEX IF NOT EXISTS hits_of ON hits (caller, at);"
        )

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Count requests of a caller, if they are within the limit."""
        now = time.time()
        with self._lock:
            self._base.execute("BEGIN IMMEDIATE")  # count and insert as one, across processes
            try:
                free = limit - self._counted(key, now - expiry)
                if amount <= free:
                    self._base.executemany("INSERT INTO hits VALUES (?, ?)", [(key, now)] * amount)
            finally:
                self._base.execute("COMMIT")
        return amount <= free

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        """Return when the oldest counted request was, and how many there are."""
        now = time.time()
        with self._lock:
            oldest, count = self._base.execute(
                "SELECT min(at), count(*) FROM hits WHERE caller = ? AND at > ?", (key, now - expiry)
            ).fetchone()
        return (now if oldest is None else oldest), count

    def tidy(self, expiry: int) -> None:
        """Forget requests that have left the window."""
        with self._lock:
            self._base.execute("DELETE FROM hits WHERE at <= ?", (time.time() - expiry,))

    def _counted(self, key: str, since: float) -> int:
        return int(
            self._base.execute("SELECT count(*) FROM hits WHERE caller = ? AND at > ?", (key, since)).fetchone()[0]
        )

    @property
    def base_exceptions(self) -> type[Exception]:
        """Return what the file's library raises."""
        return sqlite3.Error

    def check(self) -> bool:
        """Tell whether the file answers."""
        return bool(self._base.execute("SELECT 1").fetchone())

    def reset(self) -> int | None:
        """Forget all."""
        return int(self._base.execute("DELETE FROM hits").rowcount)

    def clear(self, key: str) -> None:
        """Forget a caller."""
        self._base.execute("DELETE FROM hits WHERE caller = ?", (key,))

    def incr(self, key: str, expiry: float, amount: int = 1) -> int:
        """Refuse: fixed windows aren't kept here."""
        raise NotImplementedError("only moving windows are kept in this file")

    def get(self, key: str) -> int:
        """Refuse: fixed windows aren't kept here."""
        raise NotImplementedError("only moving windows are kept in this file")

    def get_expiry(self, key: str) -> float:
        """Refuse: fixed windows aren't kept here."""
        raise NotImplementedError("only moving windows are kept in this file")
