"""The bounded pool: what is refused, what is late, what goes away, what is drained."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from ale_semantic.service.pool import WorkPool, time_left
from ale_semantic.service.problems import DeadlineError, NotReadyError, QueueFullError

LONG = 60.0  # seconds; nothing here waits so long unless it is broken


class Gate:
    """A function that stays in its thread until it is let go."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.open = threading.Event()

    def __call__(self) -> str:
        self.entered.set()
        assert self.open.wait(LONG)
        return "through"


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(int(LONG / 0.005)):
        if condition():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never happened")


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, LONG))


async def blocked(pool: WorkPool, **options: bool) -> tuple[Gate, Awaitable[str]]:
    """Occupy one thread."""
    gate = Gate()
    answer = asyncio.ensure_future(pool.run(gate, **options))
    await asyncio.to_thread(gate.entered.wait, LONG)
    return gate, answer


def test_answers_come_back_and_faults_too() -> None:
    async def scenario() -> None:
        pool = WorkPool(threads=2, queue=4, deadline=LONG)
        assert await asyncio.gather(*(pool.run(lambda n=n: n * n) for n in range(4))) == [0, 1, 4, 9]  # type: ignore[misc]
        with pytest.raises(ZeroDivisionError):
            await pool.run(lambda: 1 // 0)
        with pytest.raises(TimeoutError, match="its own"):
            await pool.run(raising(TimeoutError("its own")))
        assert await pool.close(LONG)

    run(scenario())


def raising(fault: Exception) -> Callable[[], None]:
    def function() -> None:
        raise fault

    return function


def test_full_queue_refuses_and_says_when_to_come_again() -> None:
    async def scenario() -> None:
        pool = WorkPool(threads=1, queue=2, deadline=LONG)
        gate, first = await blocked(pool)
        waiting = [asyncio.ensure_future(pool.run(lambda: "waited")) for _ in range(2)]
        await until(lambda: pool.stats().waiting == 2)
        with pytest.raises(QueueFullError) as refused:
            await pool.run(lambda: "never")
        assert 1.0 <= refused.value.retry_after <= LONG
        gate.open.set()
        assert [await first, *[await one for one in waiting]] == ["through", "waited", "waited"]
        assert pool.stats().refused == 1
        assert await pool.run(lambda: "again") == "again"
        await pool.close(LONG)

    run(scenario())


def test_idle_threads_take_work_though_nothing_may_wait() -> None:
    async def scenario() -> None:
        pool = WorkPool(threads=2, queue=0, deadline=LONG)
        gate, first = await blocked(pool)
        assert await pool.run(lambda: "free thread") == "free thread"
        other, second = await blocked(pool)
        with pytest.raises(QueueFullError):
            await pool.run(lambda: "never")
        gate.open.set()
        other.open.set()
        assert (await first, await second) == ("through", "through")
        await pool.close(LONG)

    run(scenario())


def test_deadline_passes_while_running_and_while_waiting() -> None:
    async def scenario() -> None:
        pool = WorkPool(threads=1, queue=4, deadline=0.05)
        gate = Gate()
        ran: list[int] = []
        late = await asyncio.gather(pool.run(gate), pool.run(lambda: ran.append(1)), return_exceptions=True)
        assert [type(fault) for fault in late] == [DeadlineError, DeadlineError]
        assert pool.stats().waiting == 0
        gate.open.set()
        await until(lambda: pool.stats().running == 0)
        assert await pool.close(LONG)
        assert ran == []  # whoever waited too long was not even begun

    run(scenario())


def test_work_knows_how_long_it_still_has() -> None:
    async def scenario() -> None:
        pool = WorkPool(threads=1, queue=4, deadline=LONG)
        left = await pool.run(time_left)
        assert left is not None
        assert 0 < left <= LONG
        assert time_left() is None
        await pool.close(LONG)

    run(scenario())


def test_cancelled_caller_frees_its_place() -> None:
    async def scenario() -> None:
        pool = WorkPool(threads=1, queue=1, deadline=LONG)
        gate, first = await blocked(pool)
        ran: list[str] = []
        gone = asyncio.ensure_future(pool.run(lambda: ran.append("gone")))
        await until(lambda: pool.stats().waiting == 1)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        assert pool.stats().waiting == 0
        stays = asyncio.ensure_future(pool.run(lambda: ran.append("stays")))
        gate.open.set()
        await first
        await stays
        assert ran == ["stays"]
        assert pool.stats().abandoned == 1
        await pool.close(LONG)

    run(scenario())


def test_bulk_work_leaves_threads_to_searches() -> None:
    async def scenario() -> None:
        pool = WorkPool(threads=2, queue=8, deadline=LONG)
        gate, first = await blocked(pool, bulk=True)
        second = asyncio.ensure_future(pool.run(lambda: "bulk too", bulk=True))
        await until(lambda: pool.stats().waiting == 1)
        assert await pool.run(lambda: "search") == "search"  # though it came later
        assert not second.done()
        gate.open.set()
        assert (await first, await second) == ("through", "bulk too")
        await pool.close(LONG)

    run(scenario())


def test_bulk_work_leaves_places_in_the_queue_to_searches() -> None:
    async def scenario() -> None:
        pool = WorkPool(threads=2, queue=4, deadline=LONG)
        gate, first = await blocked(pool, bulk=True)
        waiting = [asyncio.ensure_future(pool.run(lambda: "bulk", bulk=True)) for _ in range(2)]
        await until(lambda: pool.stats().waiting == 2)
        with pytest.raises(QueueFullError):
            await pool.run(lambda: "too much", bulk=True)
        assert await pool.run(lambda: "search") == "search"
        gate.open.set()
        assert [await first, *[await one for one in waiting]] == ["through", "bulk", "bulk"]
        await pool.close(LONG)

    run(scenario())


def test_closing_drains_and_takes_nothing_new() -> None:
    async def scenario() -> None:
        pool = WorkPool(threads=1, queue=4, deadline=LONG)
        gate, first = await blocked(pool)
        waiting = asyncio.ensure_future(pool.run(lambda: "waited"))
        await until(lambda: pool.stats().waiting == 1)
        closing = asyncio.ensure_future(pool.close(LONG))
        await until(lambda: not pool.is_open)
        with pytest.raises(NotReadyError):
            await pool.run(lambda: "never")
        gate.open.set()
        assert (await first, await waiting, await closing) == ("through", "waited", True)

    run(scenario())


def test_closing_gives_up_after_its_time() -> None:
    async def scenario() -> None:
        pool = WorkPool(threads=1, queue=4, deadline=LONG)
        gate, first = await blocked(pool)
        waiting = asyncio.ensure_future(pool.run(lambda: "never"))
        await until(lambda: pool.stats().waiting == 1)
        assert not await pool.close(0.01)
        with pytest.raises(NotReadyError):
            await waiting
        gate.open.set()
        assert await first == "through"  # what had begun is still answered

    run(scenario())


def test_context_of_the_caller_reaches_the_thread() -> None:
    name: contextvars.ContextVar[str] = contextvars.ContextVar("name", default="nobody")

    async def scenario() -> None:
        pool = WorkPool(threads=1, queue=4, deadline=LONG)
        name.set("caller")
        assert await pool.run(name.get) == "caller"
        await pool.close(LONG)

    run(scenario())


def test_waits_are_told_to_telemetry() -> None:
    class Told:
        def __init__(self) -> None:
            self.stages: list[str] = []
            self.running: list[int] = []

        def add(self, stage: str, seconds: float) -> None:
            assert seconds >= 0
            self.stages.append(stage)

        def queue(self, *, waiting: int, running: int) -> None:
            self.running.append(running)

    async def scenario() -> None:
        told = Told()
        pool = WorkPool(threads=1, queue=4, deadline=LONG, telemetry=told)  # type: ignore[arg-type]
        await pool.run(lambda: None)
        await pool.close(LONG)
        assert told.stages == ["queue"]
        assert told.running == [1, 0]

    run(scenario())
