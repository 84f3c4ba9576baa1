"""Bitmaps and lists agree with plain counts, whatever the share of cards that have a value."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ale_semantic.facet_index import FacetIndex, pack, unpack
from ale_semantic.facets import FacetTable
from ale_semantic.filters import field

VALUES = 40


def made(cards: int, seed: int) -> tuple[FacetIndex, np.ndarray]:
    """Return an index, and which card has which value, of values that one card has up to all cards have."""
    rng = np.random.default_rng(seed)
    has = rng.random((cards, VALUES)) < rng.random(VALUES) ** 6
    rows, codes = np.nonzero(has)
    twice = np.concatenate([np.arange(len(rows)), rng.permutation(len(rows))])
    return FacetIndex.of(rows[twice], codes[twice], cards=cards, values=VALUES), has


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 700), st.integers(0, 99))
def test_counts_and_masks_are_those_of_the_pairs(cards: int, seed: int) -> None:
    index, has = made(cards, seed)
    rng = np.random.default_rng(seed + 1)
    within = rng.random(cards) < 0.5
    first, last = sorted(rng.integers(0, VALUES + 1, 2).tolist())
    assert index.counts(pack(within), range(first, last)).tolist() == has[within, first:last].sum(axis=0).tolist()
    for size in (0, 1, 5, 30):
        codes = rng.integers(0, VALUES, size)
        assert unpack(index.with_any(codes), cards).tolist() == has[:, codes].any(axis=1).tolist()
    rows, codes = index.pairs(range(first, last))
    assert sorted(zip(rows, codes, strict=True)) == [
        (row, code + first) for row, code in zip(*np.nonzero(has[:, first:last]), strict=True)
    ]
    assert rows.tolist() == sorted(rows.tolist())


@given(st.lists(st.booleans(), max_size=200))
def test_packing_is_undone(bits: list[bool]) -> None:
    mask = np.array(bits, dtype=bool)
    assert unpack(pack(mask), len(mask)).tolist() == bits
    assert np.bitwise_count(pack(mask)).sum() == sum(bits)


def test_frequent_values_are_bitmaps_and_the_others_lists() -> None:
    index, has = made(640, 1)
    assert set(index.frequent) == set(np.flatnonzero(has.sum(axis=0) >= 10))
    assert 0 < len(index.frequent) < VALUES
    assert len(index.rows) == has[:, has.sum(axis=0) < 10].sum()


def test_it_is_the_same_after_writing_and_reading(tmp_path: Path) -> None:
    index, has = made(300, 2)
    index.write(tmp_path)
    again = FacetIndex.open(tmp_path, cards=300)
    every = pack(np.ones(300, dtype=bool))
    assert again.counts(every, range(VALUES)).tolist() == has.sum(axis=0).tolist()
    with pytest.raises(ValueError, match="don't fit 3000 cards"):
        FacetIndex.open(tmp_path, cards=3000)


def test_a_mask_that_was_given_out_may_be_changed() -> None:
    from made_up_cards import card

    table = FacetTable.from_cards([card("a/x"), card("b/y")])
    mask = table.mask(field("domain") == "a")
    mask[:] = True
    assert table.mask(field("domain") == "a").tolist() == [True, False]
