"""Batches of one length and of near lengths, and array files that grow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ale_semantic.embeddings.arrayfile import GrowingArray
from ale_semantic.embeddings.batches import (
    CALL_TOKENS,
    LEAST_ROWS,
    encode_in_batches,
    equal_length_batches,
    near_length_batches,
)
from ale_semantic.embeddings.tokens import TokenInput
from ale_semantic.embeddings.vectors import Vectors


@given(st.lists(st.integers(1, 40), max_size=60), st.integers(1, 200))
def test_each_text_is_in_one_batch_of_its_length(lengths: list[int], tokens: int) -> None:
    batches = list(equal_length_batches(lengths, tokens=tokens))
    assert sorted(place for batch in batches for place in set(batch)) == list(range(len(lengths)))
    for batch in batches:
        assert len({lengths[place] for place in batch}) == 1
        assert len(batch) >= LEAST_ROWS
        assert len(batch) == LEAST_ROWS or len(batch) * lengths[batch[0]] <= tokens
        assert len(set(batch)) == len(batch) or batch == batch[:1] * LEAST_ROWS


@given(st.lists(st.integers(1, 40), max_size=60), st.integers(1, 200))
def test_padding_costs_less_than_the_calls_it_saves(lengths: list[int], tokens: int) -> None:
    batches = list(near_length_batches(lengths, tokens=tokens))
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    cost = 0
    for batch in batches:
        widest = max(lengths[place] for place in batch)
        assert len(batch) == 1 or len(batch) * widest <= tokens
        cost += CALL_TOKENS + len(batch) * widest
    assert cost <= sum(CALL_TOKENS + length for length in lengths)  # never dearer than each by itself


def test_queries_of_near_lengths_go_together() -> None:
    lengths = [12, 10, 11, 90, 12, 11, 13, 12]
    assert sorted(map(sorted, near_length_batches(lengths))) == [[0, 1, 2, 4, 5, 6, 7], [3]]


@pytest.mark.parametrize(("workers", "padded"), [(1, False), (3, False), (1, True), (3, True)])
def test_texts_keep_their_order_and_their_words(workers: int, padded: bool) -> None:
    inputs = [TokenInput([7, place + 1, place + 1, 9][: 2 + place % 3], np.array([1])) for place in range(20)]
    shapes = []

    def run(tokens: np.ndarray, mask: np.ndarray) -> tuple[Vectors, Vectors]:
        shapes.append(tokens.shape)
        assert not tokens[mask == 0].any()
        assert (tokens[np.arange(len(tokens)), mask.sum(axis=1) - 1] != 0).all()  # the last that is no padding
        states = np.repeat(tokens[:, :, None], 4, axis=2).astype(np.float32)
        return states[:, 1], states

    vectors, tokens = encode_in_batches(inputs, 4, run, padded=padded, workers=workers)
    assert vectors[:, 0].tolist() == list(range(1, 21))
    assert [one.ids.tolist() for one in tokens] == [[place + 1] for place in range(20)]
    assert sum(rows for rows, _ in shapes) == 20
    assert len(shapes) == (2 if padded else 3)


def test_a_single_text_goes_alone() -> None:
    def run(tokens: np.ndarray, mask: np.ndarray) -> tuple[Vectors, Vectors]:
        assert tokens.shape == mask.shape == (1, 3)
        return np.ones((1, 2), np.float32), np.ones((1, 3, 2), np.float32)

    assert encode_in_batches([TokenInput([1, 2, 3], np.array([1]))], 2, run)[0].shape == (1, 2)
    assert encode_in_batches([], 2, run)[0].shape == (0, 2)


@pytest.mark.parametrize("width", [None, 3])
def test_a_growing_array_is_an_array_file(tmp_path: Path, width: int | None) -> None:
    parts = [np.full((rows, width) if width else rows, rows, np.float64) for rows in (2, 0, 1000)]
    with GrowingArray(tmp_path / "new" / "a.npy", np.float32, width) as growing:
        for part in parts:
            growing.append(part)
    found = np.load(tmp_path / "new" / "a.npy", allow_pickle=False)
    np.testing.assert_array_equal(found, np.concatenate(parts).astype(np.float32))
    assert (found.dtype, growing.rows) == (np.float32, 1002)


def test_rows_of_another_width_are_refused(tmp_path: Path) -> None:
    with GrowingArray(tmp_path / "a.npy", np.int32, 2) as growing, pytest.raises(ValueError, match=r"a\.npy: rows"):
        growing.append(np.zeros((1, 3), np.int32))
    assert np.load(tmp_path / "a.npy").shape == (0, 2)
