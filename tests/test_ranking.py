"""The recipe: how components become one score, and what related cards lend."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from toy import HashEncoder, toy_cards, toy_catalogue

from ale_semantic import Engine, build_index
from ale_semantic.fusion import softmax, standardise
from ale_semantic.ranking import SHARPNESS, SPREAD, STEP_TIER, STEP_WISH, Ranker, Ranking
from ale_semantic.types import Mode


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder = tmp_path_factory.mktemp("ranking") / "index"
    build_index(toy_catalogue(), folder, encoder=HashEncoder())
    return Engine.open(folder, encoder=HashEncoder())


@pytest.fixture(scope="module")
def ranker(engine: Engine) -> Ranker:
    return engine.ranker


def plain(scores: list[float]) -> Ranking:
    given = np.array(scores, dtype=np.float32)
    return Ranking(given, given, None, None, None)


def test_related_cards_lend_to_each_other(ranker: Ranker) -> None:
    assert ranker.related is not None
    own = standardise(np.arange(ranker.cards, dtype=np.float32))
    expected = own + SPREAD * softmax(SHARPNESS * own) @ ranker.related
    np.testing.assert_allclose(ranker.spread(own), expected, rtol=1e-5)
    assert replace(ranker, related=None).spread(own) is own


def test_relatedness_is_symmetric_and_of_no_card_to_itself(ranker: Ranker) -> None:
    assert ranker.related is not None
    np.testing.assert_allclose(ranker.related, np.asarray(ranker.related).T, atol=1e-5)
    assert not np.diag(ranker.related).any()


def test_a_large_index_ranks_similar_cards_without_the_matrix(ranker: Ranker) -> None:
    large = replace(ranker, related=None)
    for row in range(ranker.cards):
        related = large.relatedness(row)
        assert related.shape == (ranker.cards,)
        assert int(np.argmax(related)) == row  # its own overview is the nearest


def test_a_step_weighs_nearness_wish_and_tier(ranker: Ranker) -> None:
    named, wish = plain([0.0] * ranker.cards), plain([float(row) for row in range(ranker.cards)])
    preference = np.zeros(ranker.cards, dtype=np.float32)
    preference[2] = 1
    found = ranker.rank_step(named, wish, 0, preference).fused
    expected = STEP_WISH * wish.own + ranker.relatedness(0) + STEP_TIER * preference
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_unlike_counts_half_and_against(ranker: Ranker) -> None:
    found = ranker.rank_similar([0, 1], [2], None).fused
    expected = (ranker.relatedness(0) + ranker.relatedness(1) - 0.5 * ranker.relatedness(2)) / 3
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", list(Mode))
def test_a_leg_that_takes_no_part_is_none(engine: Engine, mode: Mode) -> None:
    vector = None if mode is Mode.LEXICAL else engine.vectors.of(["comet"])[0]
    ranking = engine.ranker.rank([("comet", 1.0)], vector, mode)
    assert (ranking.dense is None) == (mode is Mode.LEXICAL)
    assert (ranking.lexical is None) == (mode is Mode.DENSE)
    (row,) = [row for row, card in enumerate(toy_cards()) if card.task_id == "science/orbit_fit"]
    assert int(np.argmax(ranking.fused)) == row


def test_words_that_nothing_holds_rank_nothing_above_another(ranker: Ranker) -> None:
    ranking = ranker.rank([("zzyzx", 1.0)], None, Mode.LEXICAL)
    assert not ranking.fused.any()
    assert ranking.evidence.unknown


def test_the_best_passage_of_a_card_is_its_own(engine: Engine) -> None:
    ranking = engine.ranker.rank([], engine.vectors.of(["lease"])[0], Mode.DENSE)
    assert ranking.best_passage is not None
    owners = engine.ranker.space.passages.cards[ranking.best_passage]
    assert owners.tolist() == list(range(engine.ranker.cards))
