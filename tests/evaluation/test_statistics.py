"""Intervals and paired tests."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ale_semantic.evaluation.statistics import interval, paired


def test_an_interval_holds_the_mean_and_is_the_same_each_time() -> None:
    values = np.random.default_rng(1).normal(0.7, 0.2, 60)
    found = interval(values)
    assert found.low < found.mean < found.high
    assert found.mean == pytest.approx(values.mean())
    # Near the interval of the normal distribution, which is right for a mean of so many.
    reach = 1.96 * values.std() / math.sqrt(len(values))
    assert found.mean - found.low == pytest.approx(reach, rel=0.15)
    assert found.high - found.mean == pytest.approx(reach, rel=0.15)
    assert interval(values) == found


def test_intervals_of_one_value_and_of_equal_values_are_points() -> None:
    for values in (np.array([0.5]), np.full(9, 0.5)):
        found = interval(values)
        assert (found.mean, found.low, found.high) == (0.5, 0.5, 0.5)
    assert math.isnan(interval(np.array([])).mean)


def test_equal_runs_do_not_differ() -> None:
    values = np.array([0.1, 0.9, 0.4])
    found = paired(values, values)
    assert (found.mean, found.p_value, found.better, found.worse) == (0, 1, 0, 0)


def test_one_query_proves_nothing() -> None:
    found = paired(np.array([1.0]), np.array([0.0]))
    assert (found.mean, found.p_value, found.better) == (1, 1, 1)


def test_the_sign_flip_test_is_exact_for_few_queries() -> None:
    baseline = np.linspace(0.1, 0.8, 8)
    found = paired(baseline + np.arange(1, 9) / 100, baseline)
    # Of 2^8 assignments of signs only this and its opposite are as extreme.
    assert found.p_value == pytest.approx(2 / 2**8)
    assert found.mean == pytest.approx(0.045)
    assert (found.better, found.worse) == (8, 0)


def test_the_sign_of_a_difference() -> None:
    found = paired(np.array([0.1, 0.2, 0.9]), np.array([0.2, 0.4, 0.5]))
    assert (found.better, found.worse) == (1, 2)
    assert found.mean == pytest.approx(0.1 / 3)
    assert found.p_value > 0.5
