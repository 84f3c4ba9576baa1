"""How long a curriculum may take: a limit for all that is done within a block, looked at between steps of the work."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ale_semantic.errors import TimeLimitError

_end: ContextVar[float] = ContextVar("end", default=math.inf)


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Let what is done within the block take so many seconds; None sets no limit."""
    token = _end.set(math.inf if seconds is None else time.monotonic() + seconds)
    try:
        yield
    finally:
        _end.reset(token)


def time_left() -> float:
    """Return the seconds that are left, infinite without a limit."""
    return _end.get() - time.monotonic()


def require_time() -> None:
    """Stop if the time is over.

    Raises:
        TimeLimitError: if it is.
    """
    if time_left() <= 0:
        raise TimeLimitError("this takes longer than the time that is given to it: ask for less, or narrow the pool")
