"""A bounded pool of worker threads: what waits is counted, has a deadline, and may go away before it began."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from .problems import DeadlineError, NotReadyError, QueueFullError

if TYPE_CHECKING:
    from .telemetry import Telemetry

_Answer = TypeVar("_Answer")
_deadline: contextvars.ContextVar[float | None] = contextvars.ContextVar("deadline", default=None)
_SMOOTHING = 0.1  # weight of the newest answer in the mean time that Retry-After is reckoned from
_FIRST_GUESS = 0.05  # seconds an answer takes, before any was given


def time_left() -> float | None:
    """Return the seconds that the work on this thread still has; None outside a pool."""
    end = _deadline.get()
    return None if end is None else end - time.monotonic()


@dataclass(frozen=True, slots=True)
class PoolStats:
    """What a pool does now, and how often it did what since it began.

    `late` answers ran past their deadline; `abandoned` ones lost their caller before they began.
    """

    waiting: int
    running: int
    done: int
    refused: int
    late: int
    abandoned: int


@dataclass(eq=False, slots=True)
class _Task:
    function: Callable[[], Any]
    context: contextvars.Context
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    begun: float
    end: float
    bulk: bool


@dataclass(slots=True)
class _Counts:
    running: int = 0
    running_bulk: int = 0
    done: int = 0
    refused: int = 0
    late: int = 0
    abandoned: int = 0
    mean_seconds: float = field(default=_FIRST_GUESS)


class WorkPool:
    """Runs questions on a few threads; takes no more than it can answer in time.

    Bulk work (a batch of embeddings, a curriculum) gets at most half of the threads and of the queue, so that a
    search never waits behind it for long, nor is refused for it.
    """

    def __init__(self, *, threads: int, queue: int, deadline: float, telemetry: Telemetry | None = None) -> None:
        """Start the threads.

        Args:
            threads: how many questions are answered at once.
            queue: how many may wait beside them.
            deadline: the longest a question may take, waiting included, in seconds.
            telemetry: told how long each question waited, and how many wait and run.
        """
        self._telemetry = telemetry
        self.threads = threads
        self.queue = queue
        self.deadline = deadline
        self._bulk_threads = max(1, threads // 2)
        self._waiting: deque[_Task] = deque()
        self._counts = _Counts()
        self._changed = threading.Condition()
        self._draining = False
        self._stopped = False
        for number in range(threads):
            threading.Thread(target=self._work, name=f"ale-search-{number}", daemon=True).start()

    async def run(self, function: Callable[[], _Answer], *, bulk: bool = False) -> _Answer:
        """Run a function on a worker thread and return what it returns.

        A caller that is cancelled or out of time frees its place if the function hasn't begun.

        Raises:
            QueueFullError: if too many wait already.
            DeadlineError: if there is no answer within the deadline.
            NotReadyError: if the pool is closing.
        """
        loop = asyncio.get_running_loop()
        now = time.monotonic()
        context = contextvars.copy_context()
        task = _Task(function, context, loop, loop.create_future(), now, now + self.deadline, bulk)
        self._put(task)
        try:
            async with asyncio.timeout(self.deadline) as limit:
                answer: _Answer = await task.future
                return answer
        except TimeoutError:
            if not limit.expired():  # the function's own
                raise
            with self._changed:
                self._counts.late += 1
            raise DeadlineError(
                f"no answer within {self.deadline:g} s; ask for less, or try again", retry_after=self._wait_seconds()
            ) from None
        finally:
            self._forget(task)

    def stats(self) -> PoolStats:
        """Return the counts."""
        with self._changed:
            now = self._counts
            return PoolStats(len(self._waiting), now.running, now.done, now.refused, now.late, now.abandoned)

    @property
    def is_open(self) -> bool:
        """Tell whether questions are taken."""
        return not self._draining

    async def close(self, seconds: float) -> bool:
        """Take nothing new, let what was taken be answered for some seconds, then stop the threads.

        Returns:
            Whether all was answered in time.
        """
        with self._changed:
            self._draining = True
        return await asyncio.to_thread(self._drain, seconds)

    def _drain(self, seconds: float) -> bool:
        with self._changed:
            empty = self._changed.wait_for(lambda: not self._waiting and not self._counts.running, seconds)
            self._stopped = True
            left, self._waiting = list(self._waiting), deque()
            self._changed.notify_all()
        for task in left:
            _tell(task, None, NotReadyError("the service is stopping; try again soon"))
        return empty

    def _put(self, task: _Task) -> None:
        with self._changed:
            if self._draining:
                raise NotReadyError("the service is stopping; try again soon")
            free = max(self.threads - self._counts.running, 0)
            bulk = sum(one.bulk for one in self._waiting) if task.bulk else 0
            bulk_room = self.queue // 2 + max(self._bulk_threads - self._counts.running_bulk, 0)
            if len(self._waiting) >= self.queue + free or (task.bulk and bulk >= bulk_room):
                self._counts.refused += 1
                raise QueueFullError(
                    f"{len(self._waiting)} questions wait already; try again soon", retry_after=self._wait_seconds()
                )
            self._waiting.append(task)
            self._changed.notify()

    def _forget(self, task: _Task) -> None:
        """Take a task out of the queue if it is still there."""
        with self._changed, suppress(ValueError):
            self._waiting.remove(task)
            self._counts.abandoned += 1
            self._changed.notify_all()

    def _wait_seconds(self) -> float:
        """Return about how long what waits now will take."""
        wait = (len(self._waiting) + 1) * self._counts.mean_seconds / self.threads
        return min(max(wait, 1.0), max(self.deadline, 1.0))

    def _next(self) -> _Task | None:
        """Return the next task that may begin; None when the pool has stopped."""
        with self._changed:
            while not self._stopped:
                for task in self._waiting:
                    if not task.bulk or self._counts.running_bulk < self._bulk_threads:
                        self._waiting.remove(task)
                        self._counts.running += 1
                        self._counts.running_bulk += task.bulk
                        return task
                self._changed.wait()
            return None

    def _begin(self, task: _Task, now: float) -> None:
        """Prepare the context that the function runs in."""
        _deadline.set(task.end)
        if self._telemetry is not None:
            self._telemetry.add("queue", now - task.begun)
            self._telemetry.queue(waiting=len(self._waiting), running=self._counts.running)

    def _work(self) -> None:
        while (task := self._next()) is not None:
            begun = time.monotonic()
            answer, fault = None, None
            try:
                if task.end > begun:
                    task.context.run(self._begin, task, begun)
                    answer = task.context.run(task.function)
            except BaseException as raised:  # handed to the caller, whatever it is
                fault = raised
            with self._changed:  # before the answer is told: who has it must find its thread free
                now = self._counts
                now.running -= 1
                now.running_bulk -= task.bulk
                now.done += 1
                if not task.bulk:
                    now.mean_seconds += _SMOOTHING * (time.monotonic() - begun - now.mean_seconds)
                self._changed.notify_all()
            _tell(task, answer, fault)
            if self._telemetry is not None:
                self._telemetry.queue(waiting=len(self._waiting), running=now.running)
            del task, answer, fault  # an idle thread keeps nothing of an index alive


def _tell(task: _Task, answer: Any, fault: BaseException | None) -> None:
    """Give the caller its answer, on its event loop."""

    def settle() -> None:
        if task.future.done():
            return
        if fault is not None:
            task.future.set_exception(fault)
        else:
            task.future.set_result(answer)

    with suppress(RuntimeError):  # the loop is closed: nobody waits any more
        task.loop.call_soon_threadsafe(settle)
