"""BM25 over weighted fields: what matches, what counts more, and the same after a round through a folder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from toy import toy_card, toy_cards

from ale_semantic.lexical import LexicalBuilder, LexicalIndex

TOYS = toy_cards()


@pytest.fixture(scope="module")
def index() -> LexicalIndex:
    return LexicalIndex.build(TOYS)


def rows(*task_ids: str) -> list[int]:
    return [row for row, card in enumerate(TOYS) if card.task_id in task_ids]


def test_only_cards_with_a_term_score(index: LexicalIndex) -> None:
    scores = index.scores([("comet", 1.0)])
    assert np.flatnonzero(scores).tolist() == rows("science/orbit_fit")
    assert index.cards_with("comet").tolist() == rows("science/orbit_fit")
    assert not index.scores([("zzyzx", 1.0)]).any()
    assert index.cards_with("zzyzx").tolist() == []
    assert not index.scores([]).any()


def test_scores_add_up_by_weight(index: LexicalIndex) -> None:
    one, other = index.scores([("comet", 1.0)]), index.scores([("numpi", 1.0)])
    np.testing.assert_allclose(index.scores([("comet", 0.5), ("numpi", 2.0)]), 0.5 * one + 2 * other, rtol=1e-6)


def test_chinese_is_found_by_character_pairs(index: LexicalIndex) -> None:
    assert index.cards_with("年报").tolist() == rows("business_finance/年报")


def test_a_word_in_the_title_counts_more_than_one_in_the_prompt() -> None:
    cards = [
        toy_card("legal/one", title="Zymurgy notes", summary="Same.", task_prompt="Same words here."),
        toy_card("legal/two", title="Other notes", summary="Same.", task_prompt="Same zymurgy here."),
        toy_card("legal/three", title="Third notes", summary="Same.", task_prompt="Same words here."),
    ]
    title, prompt, neither = LexicalIndex.build(cards).scores([("zymurgi", 1.0)])
    assert title > prompt > neither == 0


def test_a_rare_word_counts_more_than_a_common_one(index: LexicalIndex) -> None:
    (row,) = rows("science/orbit_fit")
    assert index.scores([("comet", 1.0)])[row] > index.scores([("python", 1.0)])[row] > 0


def test_written_and_opened_it_is_the_same(index: LexicalIndex, tmp_path: Path) -> None:
    index.write(tmp_path / "lexical")
    again = LexicalIndex.open(tmp_path / "lexical")
    assert (again.vocabulary, again.cards, list(again.words)) == (index.vocabulary, index.cards, list(index.words))
    for query in ([("comet", 1.0)], [("python", 0.3), ("年报", 1.0)]):
        assert np.array_equal(again.scores(query), index.scores(query))


def test_words_for_spelling_are_whole_and_long_enough(index: LexicalIndex) -> None:
    assert {"invoices", "orbital", "moisture"} <= set(index.words)
    assert all(len(word) >= 4 and word.isascii() and word.isalpha() for word in index.words)
    assert list(index.words) == sorted(set(index.words))


def test_a_catalogue_without_a_single_term_is_indexed() -> None:
    empty = LexicalBuilder().finish()
    assert (empty.cards, list(empty.scores([("word", 1.0)])), list(empty.cards_with("word"))) == (0, [], [])


def test_the_cards_of_each_term_are_in_ascending_order(index: LexicalIndex) -> None:
    for term in index.vocabulary:
        found = index.cards_with(term).tolist()
        assert found == sorted(set(found)) != []
