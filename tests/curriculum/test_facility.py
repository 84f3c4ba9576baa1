"""The greedy choice against all choices."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from numpy.typing import NDArray

from ale_semantic.curriculum.facility import facility_value, kernel, lazy_greedy, random_value, swap_improve


def anything(rows: Sequence[int], row: int) -> bool:
    return True


def made_up(seed: int, cards: int = 12) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    generator = np.random.default_rng(seed)
    points = generator.normal(size=(cards, 4))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return kernel((points @ points.T).astype(np.float32)), np.ones(cards)


@pytest.mark.parametrize("seed", range(20))
def test_greedy_keeps_its_guarantee_and_swaps_come_nearer(seed: int) -> None:
    similarity, weights = made_up(seed)
    best = max(facility_value(similarity, weights, rows) for rows in combinations(range(12), 4))
    greedy = lazy_greedy(similarity, weights, 4, must=(), candidates=range(12), fits=anything)
    better = swap_improve(similarity, weights, greedy, fixed=(), candidates=range(12), allowed=lambda rows: True)
    assert greedy.value >= (1 - 1 / np.e) * best
    assert best + 1e-9 >= better.value >= greedy.value - 1e-9
    assert better.value >= 0.95 * best


def test_lazy_choice_equals_the_plain_greedy_one() -> None:
    similarity, weights = made_up(3, cards=30)
    rows: list[int] = []
    for _ in range(8):
        gains = [facility_value(similarity, weights, [*rows, row]) if row not in rows else -1.0 for row in range(30)]
        rows.append(int(np.argmax(gains)))
    assert list(lazy_greedy(similarity, weights, 8, must=(), candidates=range(30), fits=anything).rows) == rows


def test_gains_add_up_and_never_rise() -> None:
    similarity, weights = made_up(5, cards=20)
    chosen = lazy_greedy(similarity, weights, 6, must=(), candidates=range(20), fits=anything)
    assert sum(chosen.gains) == pytest.approx(chosen.value)
    assert list(chosen.gains) == sorted(chosen.gains, reverse=True)


def test_must_haves_come_first_and_stay_in_swaps() -> None:
    similarity, weights = made_up(1)
    greedy = lazy_greedy(similarity, weights, 4, must=(7, 2), candidates=range(12), fits=anything)
    better = swap_improve(similarity, weights, greedy, fixed=(7, 2), candidates=range(12), allowed=lambda rows: True)
    assert greedy.rows[:2] == (7, 2)
    assert {7, 2} <= set(better.rows)


def test_random_value_is_always_the_same() -> None:
    similarity, weights = made_up(2)
    assert random_value(similarity, weights, range(12), 3) == random_value(similarity, weights, range(12), 3)
