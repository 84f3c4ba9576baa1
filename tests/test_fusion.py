"""Score arithmetic, against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from ale_semantic.fusion import best_and_mean, best_per_card, descending, mean_of_best, ranks, softmax, standardise

SCORES = np.array([0.1, 0.9, 0.5, 0.7, 0.7, 0.2], dtype=np.float32)  # three passages, one, two
STARTS = np.array([0, 3, 4, 6])


def test_standard_scores() -> None:
    found = standardise(np.array([1, 2, 3], dtype=np.float32))
    np.testing.assert_allclose(found, [-(1.5**0.5), 0, 1.5**0.5], rtol=1e-6)
    assert standardise(np.full(4, 7, dtype=np.float32)).tolist() == [0, 0, 0, 0]


def test_rows_are_standardised_each_by_itself() -> None:
    rows = np.array([[1, 2, 3], [7, 7, 7], [30, 10, 20]], dtype=np.float32)
    assert np.array_equal(standardise(rows), [standardise(row) for row in rows])


def test_the_best_passage_of_each_card_is_the_first_of_equals() -> None:
    best, rows = best_per_card(SCORES, STARTS)
    np.testing.assert_allclose(best, [0.9, 0.7, 0.7])
    assert rows.tolist() == [1, 3, 4]
    assert best_per_card(np.ones(6, dtype=np.float32), STARTS)[1].tolist() == [0, 3, 4]


@pytest.mark.parametrize(
    ("count", "means"), [(1, [0.9, 0.7, 0.7]), (2, [0.7, 0.7, 0.45]), (3, [0.5, 0.7, 0.45]), (9, [0.5, 0.7, 0.45])]
)
def test_the_mean_of_the_best_few(count: int, means: list[float]) -> None:
    given = SCORES.copy()
    np.testing.assert_allclose(mean_of_best(given, STARTS, count), means, rtol=1e-6)
    assert np.array_equal(given, SCORES)
    best, rows, mean = best_and_mean(given, STARTS, count)
    assert (best.tolist(), rows.tolist()) == tuple(part.tolist() for part in best_per_card(SCORES, STARTS))
    assert np.array_equal(mean, mean_of_best(SCORES, STARTS, count))


def test_softmax_is_a_distribution_even_of_large_scores() -> None:
    np.testing.assert_allclose(softmax(np.log(np.array([1, 2, 5], dtype=np.float32))), [1 / 8, 2 / 8, 5 / 8], rtol=1e-6)
    np.testing.assert_allclose(softmax(np.array([1e4, 1e4], dtype=np.float32)), [0.5, 0.5])


def test_order_and_ranks_break_ties_by_row_and_keep_to_the_mask() -> None:
    scores = np.array([2, 3, 2, 9, 2], dtype=np.float32)
    mask = np.array([True, True, True, False, True])
    assert descending(scores, mask).tolist() == [1, 0, 2, 4]
    assert ranks(scores, mask).tolist() == [2, 1, 3, 0, 4]
    assert descending(scores, np.zeros(5, dtype=bool)).tolist() == []


def test_the_ranks_of_a_page_are_those_of_the_whole() -> None:
    random = np.random.default_rng(1)
    scores = random.integers(0, 900, 6000).astype(np.float32)  # many ties
    scores[::7] = -np.inf
    mask = random.random(6000) < 0.5
    page = random.choice(6000, 20, replace=False)
    assert ranks(scores, mask, page)[page].tolist() == ranks(scores, mask)[page].tolist()
    assert not ranks(scores, mask)[::7].any()
