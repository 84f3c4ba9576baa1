"""Whole answers, kept as they were sent: the same question costs one search, however many ask it at once."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

_LARGEST_SHARE = 16  # an answer larger than this part of the cache isn't kept: it would push out too many others
_OVERHEAD = 500  # bytes that an entry takes besides its question and answer


@dataclass(frozen=True, slots=True)
class Answer:
    """The body of an answer, and the etag of the index that it came from."""

    body: bytes
    etag: str


@dataclass(frozen=True, slots=True)
class CacheStats:
    """How often an answer was there, was being made for somebody else, or had to be made; and what is kept."""

    hits: int
    joined: int
    misses: int
    answers: int
    size: int


@dataclass(eq=False, slots=True)
class _Flight:
    """An answer being made, and how many wait for it."""

    task: asyncio.Future[Answer]
    waiting: int = 0


class AnswerCache:
    """A least-recently-used cache bounded in bytes; for the one event loop of a process."""

    def __init__(self, max_bytes: int) -> None:
        """Keep at most so many bytes; with 0 nothing is kept, but equal questions still share one search."""
        self.max_bytes = max_bytes
        self._kept: OrderedDict[tuple[str, str], Answer] = OrderedDict()
        self._flights: dict[tuple[str, str], _Flight] = {}
        self._size = 0
        self._hits = 0
        self._joined = 0
        self._misses = 0

    async def get(self, etag: str, question: str, make: Callable[[], Awaitable[Answer]]) -> Answer:
        """Return the answer to a question; make it only if it isn't kept and nobody else is at it.

        A caller that goes away stops the making only if no other waits for it. Failures aren't kept.

        Args:
            etag: names the index that is open now.
            question: all that the answer depends on besides the index.
            make: makes the answer; it may come from a newer index, and is kept as that one's.
        """
        key = (etag, question)
        answer = self._kept.get(key)
        if answer is not None:
            self._kept.move_to_end(key)
            self._hits += 1
            return answer
        flight = self._flights.get(key)
        if flight is None:
            self._misses += 1
            flight = self._flights[key] = _Flight(asyncio.ensure_future(make()))
            flight.task.add_done_callback(lambda task: self._landed(key, task))
        else:
            self._joined += 1
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task)
        finally:
            flight.waiting -= 1
            if not flight.waiting and not flight.task.done():
                flight.task.cancel()
                self._flights.pop(key, None)  # whoever asks from now on must not join what was given up

    def stats(self) -> CacheStats:
        """Return the counts."""
        return CacheStats(self._hits, self._joined, self._misses, len(self._kept), self._size)

    def _landed(self, key: tuple[str, str], task: asyncio.Future[Answer]) -> None:
        flight = self._flights.get(key)
        if flight is not None and flight.task is task:
            del self._flights[key]
        if task.cancelled() or task.exception() is not None:
            return
        answer = task.result()
        self._keep((answer.etag, key[1]), answer)

    def _keep(self, key: tuple[str, str], answer: Answer) -> None:
        size = _size(key, answer)
        if size > self.max_bytes // _LARGEST_SHARE or key in self._kept:
            return
        self._kept[key] = answer
        self._size += size
        while self._size > self.max_bytes:
            old, dropped = self._kept.popitem(last=False)
            self._size -= _size(old, dropped)


def _size(key: tuple[str, str], answer: Answer) -> int:
    return len(answer.body) + len(key[1]) + _OVERHEAD
