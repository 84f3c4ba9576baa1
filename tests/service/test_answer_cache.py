"""Whole answers: kept within bytes, made once for all who ask at the same time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest

from ale_semantic.service.answer_cache import Answer, AnswerCache

MANY = 1_000_000  # bytes


class Maker:
    """Makes answers when it is let to, and counts them."""

    def __init__(self, body: bytes = b"body", etag: str = "one", fault: Exception | None = None) -> None:
        self.go = asyncio.Event()
        self.made = 0
        self.cancelled = 0
        self.answer = Answer(body, etag)
        self.fault = fault

    async def __call__(self) -> Answer:
        self.made += 1
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.fault is not None:
            raise self.fault
        return self.answer


def at_once(body: bytes, etag: str = "one") -> Callable[[], Awaitable[Answer]]:
    async def make() -> Answer:
        return Answer(body, etag)

    return make


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 60))


def test_second_time_it_is_there() -> None:
    async def scenario() -> None:
        cache = AnswerCache(MANY)
        assert (await cache.get("one", "q", at_once(b"first"))).body == b"first"
        assert (await cache.get("one", "q", at_once(b"other"))).body == b"first"
        assert (await cache.get("two", "q", at_once(b"newer", "two"))).body == b"newer"
        assert (await cache.get("one", "r", at_once(b"else"))).body == b"else"
        counts = cache.stats()
        assert (counts.hits, counts.misses, counts.answers) == (1, 3, 3)

    run(scenario())


def test_answer_of_a_newer_index_is_kept_as_that_ones() -> None:
    async def scenario() -> None:
        cache = AnswerCache(MANY)
        assert (await cache.get("old", "q", at_once(b"new", "new"))).etag == "new"
        assert (await cache.get("old", "q", at_once(b"old", "old"))).body == b"old"
        assert (await cache.get("new", "q", at_once(b"never", "new"))).body == b"new"

    run(scenario())


def test_equal_questions_at_once_share_one_answer() -> None:
    async def scenario() -> None:
        cache, maker = AnswerCache(MANY), Maker()
        asked = [asyncio.ensure_future(cache.get("one", "q", maker)) for _ in range(20)]
        await asyncio.sleep(0)
        maker.go.set()
        assert {(await one).body for one in asked} == {b"body"}
        assert maker.made == 1
        assert cache.stats().joined == 19

    run(scenario())


def test_failure_reaches_all_and_is_not_kept() -> None:
    async def scenario() -> None:
        cache, maker = AnswerCache(MANY), Maker(fault=ValueError("no"))
        asked = [asyncio.ensure_future(cache.get("one", "q", maker)) for _ in range(3)]
        await asyncio.sleep(0)
        maker.go.set()
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [str(fault) for fault in found] == ["no"] * 3
        assert (await cache.get("one", "q", at_once(b"now"))).body == b"now"

    run(scenario())


def test_caller_that_leaves_takes_nobody_with_it() -> None:
    async def scenario() -> None:
        cache, maker = AnswerCache(MANY), Maker()
        first = asyncio.ensure_future(cache.get("one", "q", maker))
        second = asyncio.ensure_future(cache.get("one", "q", maker))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        maker.go.set()
        assert (await second).body == b"body"

    run(scenario())


def test_when_the_last_caller_leaves_the_work_stops() -> None:
    async def scenario() -> None:
        cache, maker = AnswerCache(MANY), Maker()
        only = asyncio.ensure_future(cache.get("one", "q", maker))
        await asyncio.sleep(0.01)
        only.cancel()
        with pytest.raises(asyncio.CancelledError):
            await only
        assert (await cache.get("one", "q", at_once(b"anew"))).body == b"anew"  # joins nothing that was given up
        assert maker.cancelled == 1

    run(scenario())


def test_bytes_are_bounded_and_the_oldest_go_first() -> None:
    async def scenario() -> None:
        cache = AnswerCache(max_bytes=50_000)
        for number in range(100):
            await cache.get("one", f"q{number}", at_once(b"x" * 2_000))
            await cache.get("one", "q0", at_once(b"asked anew"))  # always used last but one
            assert cache.stats().size <= 50_000
        hits = cache.stats().hits
        assert (await cache.get("one", "q0", at_once(b"y"))).body == b"x" * 2_000
        assert (await cache.get("one", "q1", at_once(b"y"))).body == b"y"
        assert cache.stats().hits == hits + 1

    run(scenario())


def test_huge_answers_and_a_cache_of_no_size_keep_nothing() -> None:
    async def scenario() -> None:
        cache = AnswerCache(max_bytes=50_000)
        await cache.get("one", "huge", at_once(b"x" * 10_000))
        none = AnswerCache(max_bytes=0)
        await none.get("one", "q", at_once(b"x"))
        assert (cache.stats().answers, none.stats().answers) == (0, 0)

    run(scenario())
