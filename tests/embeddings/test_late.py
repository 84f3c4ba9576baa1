"""Late interaction, against values worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from ale_semantic.embeddings.encoder import TokenVectors
from ale_semantic.embeddings.late import CardTokens, LateIndex, TokenGroup
from ale_semantic.embeddings.late_writer import STEPS_DISCOUNT, LateWriter

ARRAYS = ("starts", "tokens", "discount", "vectors", "projection", "idf")
X, Y = [1.0, 0.0], [0.0, 1.0]


def tokens(ids: list[int], *vectors: list[float]) -> TokenVectors:
    return TokenVectors(np.array(ids, dtype=np.int64), np.array(vectors, dtype=np.float32).reshape(len(ids), 2))


def card(group: TokenGroup, ids: list[int], *vectors: list[float]) -> CardTokens:
    own = tokens(ids, *vectors)
    return CardTokens.pool([(group, own)], [own], 2)


def written(cards: Sequence[CardTokens], dimension: int) -> LateIndex:
    """Return the index of cards, in memory."""
    with TemporaryDirectory() as folder:
        writer = LateWriter(Path(folder) / "late", Path(folder) / "pooled.npy", dimension)
        writer.add(cards)
        made = writer.finish()
        return replace(made, **{name: np.array(getattr(made, name)) for name in ARRAYS})


CARDS = [card(TokenGroup.HEAD, [1], X), card(TokenGroup.STEPS, [2], Y), card(TokenGroup.HEAD, [])]
INDEX = written(CARDS, 2)


def test_occurrences_of_one_token_are_averaged_in_each_group() -> None:
    head, steps = tokens([7, 3, 7], X, X, Y), tokens([7], Y)
    pooled = CardTokens.pool([(TokenGroup.HEAD, head), (TokenGroup.STEPS, steps)], [head, steps, tokens([9], X)], 2)
    assert pooled.groups.tolist() == [0, 0, 1]
    assert pooled.ids.tolist() == [3, 7, 7]
    np.testing.assert_allclose(pooled.vectors, [X, [math.sqrt(0.5)] * 2, Y], atol=1e-6)
    assert pooled.seen.tolist() == [3, 7, 9]


def test_each_query_token_takes_its_nearest_weighted_by_rarity() -> None:
    known, unseen = math.log(4 / 1.5), math.log(4 / 0.5)  # in one of three cards, and in none
    found = INDEX.scores(tokens([1, 9], X, Y))
    first = (known * 1 + unseen * 0) / (known + unseen)
    second = (known * (0 - STEPS_DISCOUNT) + unseen * (1 - STEPS_DISCOUNT)) / (known + unseen)
    np.testing.assert_allclose(found, [first, second, 0], atol=1e-6)  # the last card has no token


def test_a_token_that_stands_in_all_cards_is_not_looked_up() -> None:
    index = written([card(TokenGroup.HEAD, [1], X), card(TokenGroup.HEAD, [1, 2], X, Y)], 2)
    assert index.scores(tokens([1], X)).any()  # log(3 / 2.5) is still above the least
    many = written([card(TokenGroup.HEAD, [1], X) for _ in range(20)], 2)
    assert not many.scores(tokens([1], X)).any()


def test_nothing_to_compare_gives_zeros() -> None:
    assert INDEX.scores(tokens([])).tolist() == [0, 0, 0]
    assert written([card(TokenGroup.HEAD, [])], 2).scores(tokens([1], X)).tolist() == [0]


def test_cards_on_their_own_score_as_among_all() -> None:
    query = tokens([1, 2], X, Y)
    some = INDEX.subset(np.array([0, 2]))
    np.testing.assert_allclose(some.scores(query), INDEX.scores(query)[[0, 2]], atol=1e-6)


def test_blocks_give_what_one_block_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ale_semantic.embeddings.late_writer._BLOCK", 1)
    monkeypatch.setattr("ale_semantic.embeddings.late_writer._SUMMED", 1)
    parts = written(CARDS, 2)
    for name in ARRAYS:
        np.testing.assert_allclose(getattr(parts, name), getattr(INDEX, name), atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_the_projection_keeps_cosines_where_it_keeps_all_dimensions(seed: int) -> None:
    rows = np.random.default_rng(seed).normal(size=(6, 4)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    own = TokenVectors(np.arange(6), rows)
    index = written([CardTokens.pool([(TokenGroup.HEAD, own)], [own], 4)], 4)
    np.testing.assert_allclose(index.vectors @ index.vectors.T, rows @ rows.T, atol=1e-3)  # half precision


def test_many_queries_at_once_score_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    queries = [tokens([1, 9], X, Y), tokens([]), tokens([1], X), tokens([9, 1, 1], Y, X, Y)]
    alone = [INDEX.scores(query) for query in queries]
    for most in (1, 2 * len(INDEX.vectors), 1000):  # similarities: a query at a time, two tokens, all
        monkeypatch.setattr("ale_semantic.embeddings.late._TOGETHER", most)
        for found, wanted in zip(INDEX.scores_of_many(queries), alone, strict=True):
            np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_without_any_word_there_is_an_index_that_finds_nothing() -> None:
    nothing = tokens([])
    index = written([CardTokens.pool([], [nothing], 2)] * 3, 2)
    assert index.vectors.shape == (0, 2)
    assert index.projection.tolist() == [[1, 0], [0, 1]]
    assert index.scores(tokens([1], X)).tolist() == [0, 0, 0]
    assert index.scores_of_many([tokens([1], X), nothing]).tolist() == [[0, 0, 0]] * 2
