"""A value is made once, by whoever asks first; a fault isn't kept."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from ale_semantic.once import Once


def test_a_value_is_made_once_for_all_threads() -> None:
    made: list[int] = []

    def make() -> int:
        time.sleep(0.01)
        made.append(1)
        return 7

    once = Once(make)
    assert made == []
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: once.get(), range(16))) == {7}
    assert made == [1]


def test_none_is_a_value_too() -> None:
    made: list[int] = []
    once = Once(lambda: made.append(1))
    assert (once.get(), once.get(), made) == (None, None, [1])


def test_after_a_fault_it_is_made_again() -> None:
    answers: Iterator[ValueError | int] = iter([ValueError("no"), 3])

    def make() -> int:
        answer = next(answers)
        if isinstance(answer, ValueError):
            raise answer
        return answer

    once = Once(make)
    with pytest.raises(ValueError, match="no"):
        once.get()
    assert once.get() == 3
