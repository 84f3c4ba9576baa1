"""Matrix products with one thread each, for a while, also when several threads ask for that at once."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any


class _Holders:
    """Who wants BLAS to use one thread: the first sets the limit, the last lifts it.

    The limit is the process's: were each to set and lift it for himself, who begins while another holds it would
    take that for the usual state, and bring it back at the end, for good.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._count = 0
        self._limit: Any = None

    def enter(self) -> None:
        from threadpoolctl import threadpool_limits

        with self._lock:
            if not self._count:
                self._limit = threadpool_limits(1, user_api="blas")
            self._count += 1

    def leave(self) -> None:
        with self._lock:
            self._count -= 1
            if not self._count:
                self._limit.restore_original_limits()


_HOLDERS = _Holders()


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS, and OpenMP where this thread calls it, use one thread.

    For many small products, and for work that stands beside other work: on a busy machine threads that wait for each
    other take far longer than what they do.
    """
    from threadpoolctl import threadpool_limits

    _HOLDERS.enter()
    try:
        with threadpool_limits(1, user_api="openmp"):  # a limit that is each thread's own
            yield
    finally:
        _HOLDERS.leave()
