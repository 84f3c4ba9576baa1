"""Products in one thread: the same numbers as NumPy's own."""

import numpy as np
import pytest

from ale_semantic.products import ManyRows, Turned, dots, product, weighted_sum


@pytest.mark.parametrize(
    ("rows", "count", "width"), [(0, 4, 3), (1, 4, 3), (5000, 128, 13), (700, 384, 300), (3, 2, 0)]
)
def test_product_is_that_of_numpy(rows: int, count: int, width: int) -> None:
    random = np.random.default_rng(1)
    left = random.standard_normal((rows, count)).astype(np.float32)
    right = random.standard_normal((width, count)).astype(np.float32).T
    found = product(left, right)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, left @ right, rtol=1e-4, atol=1e-4)


def test_equal_rows_have_equal_dots_wherever_they_stand() -> None:
    random = np.random.default_rng(2)
    rows = random.standard_normal((1001, 384)).astype(np.float32)
    rows[[3, 500, 1000]] = rows[7]
    vector = random.standard_normal(384).astype(np.float32)
    found = dots(rows, vector)
    np.testing.assert_allclose(found, rows @ vector, rtol=1e-4, atol=1e-4)
    assert len(set(found[[3, 7, 500, 1000]].tolist())) == 1


def test_weighted_sum_is_a_product_with_a_row() -> None:
    random = np.random.default_rng(3)
    weights, rows = random.random(157).astype(np.float32), random.random((157, 40)).astype(np.float32)
    np.testing.assert_allclose(weighted_sum(weights, rows), weights @ rows, rtol=1e-5)


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("rows", [0, 1, 63, 64, 4096, 9000])
@pytest.mark.parametrize("few", [0, 1, 4, 9, 40])
def test_rows_that_were_laid_out_have_the_same_products(
    few: int, rows: int, threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", threads)
    random = np.random.default_rng(4)
    many = random.standard_normal((rows, 16)).astype(np.float32)
    one = random.standard_normal((few, 16)).astype(np.float32)
    found = Turned.of(many).product(one)
    assert found.shape == (few, rows)
    np.testing.assert_allclose(found, one @ many.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("threads", ["1", "2"])
@pytest.mark.parametrize("rows", [1, 130, 4099, 9001])
def test_equal_rows_have_equal_products_with_one_wherever_they_stand(
    rows: int, threads: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", threads)
    random = np.random.default_rng(5)
    many = np.tile(random.standard_normal((1, 384)).astype(np.float32), (rows, 1))
    asked = random.standard_normal((1, 384)).astype(np.float32)
    prepared = ManyRows(many)
    for _ in range(3):
        found = prepared.product(asked)
        assert found.shape == (1, rows)
        assert len(set(found[0].tolist())) == 1
        np.testing.assert_allclose(found, asked @ many.T, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("few", [0, 1, 9])
def test_many_rows_answer_alike_again_and_again(few: int) -> None:
    random = np.random.default_rng(6)
    many = random.standard_normal((300, 8)).astype(np.float32)
    asked = random.standard_normal((few, 8)).astype(np.float32)
    prepared = ManyRows(many)
    for _ in range(3):
        np.testing.assert_allclose(prepared.product(asked), asked @ many.T, rtol=1e-4, atol=1e-4)
