"""Property tests in two sizes: a few inputs with each run of the tests, and many with `pytest -m nightly`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st


def inputs(ordinary: int, nightly: int) -> pytest.MarkDecorator:
    """Parametrise a test by how many inputs it tries."""
    return pytest.mark.parametrize("number", [ordinary, pytest.param(nightly, marks=pytest.mark.nightly)])


def tried(strategy: st.SearchStrategy[Any], number: int, check: Callable[[Any], None]) -> None:
    """Check that many values of a strategy; a failing one is made small."""
    ran = 0

    @given(strategy)
    @settings(
        max_examples=number,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )
    def run(value: Any) -> None:
        nonlocal ran
        ran += 1
        check(value)

    run()
    assert ran >= number
