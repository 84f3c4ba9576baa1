"""The limit of time: it stops what is long, and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from ale_semantic.curriculum import PathRequest, Quota, SplitRequest, SubsetRequest, coverage, path, split, subset
from ale_semantic.curriculum.time_limit import require_time, time_left, time_limit
from ale_semantic.engine import Engine
from ale_semantic.errors import TimeLimitError

WORK: dict[str, Callable[[Engine], object]] = {
    "path": lambda engine: path(engine, PathRequest()),
    "coverage": lambda engine: coverage(engine, topics=["bread"]),
}
QUICK: dict[str, Callable[[Engine], object]] = {
    **WORK,
    "split": lambda engine: split(engine, SplitRequest()),
    "subset": lambda engine: subset(engine, SubsetRequest(k=4, quotas=(Quota("tier", "last-exam", 1),))),
}


@pytest.mark.parametrize("name", list(WORK))
def test_work_without_time_is_refused(engine: Engine, name: str) -> None:
    with time_limit(0.0), pytest.raises(TimeLimitError, match="ask for less"):
        WORK[name](engine)


@pytest.mark.parametrize("name", list(QUICK))
def test_work_within_its_time_is_done_as_without(engine: Engine, name: str) -> None:
    with time_limit(600.0):
        limited = QUICK[name](engine)
    assert limited == QUICK[name](engine)


def test_a_limit_ends_with_its_block() -> None:
    with time_limit(0.0):
        assert time_left() <= 0
        with time_limit(None):
            require_time()
    assert time_left() == math.inf
