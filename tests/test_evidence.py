"""The evidence that a catalogue answers a query, worked out by hand over nine cards."""

from __future__ import annotations

import math

import numpy as np
import pytest
from toy import toy_cards

from ale_semantic.bands import Background, Spread
from ale_semantic.evidence import gather_evidence
from ale_semantic.lexical import LexicalIndex

TOYS = toy_cards()
INDEX = LexicalIndex.build(TOYS)
COMET = next(row for row, card in enumerate(TOYS) if card.task_id == "science/orbit_fit")
OTHER = (COMET + 1) % len(TOYS)
BACKGROUND = Background(Spread(0.2, 0.1), Spread(0.3, 0.1), Spread(0.1, 0.2))


def idf(cards: int) -> float:
    return math.log((len(TOYS) + 1) / (cards + 0.5))


def test_coverage_is_the_share_of_rare_words_that_the_best_card_holds() -> None:
    terms = [("comet", 1.0), ("zzyzx", 1.0)]
    found = gather_evidence(terms, False, INDEX, COMET, cosines=None, background=BACKGROUND)
    assert found.coverage == pytest.approx(idf(1) / (idf(1) + idf(0)))
    assert (found.exact, found.unknown) == (False, False)
    assert gather_evidence(terms, False, INDEX, OTHER, cosines=None, background=BACKGROUND).coverage == 0


def test_all_words_in_the_best_card_and_one_of_them_rare_is_exact() -> None:
    assert gather_evidence([("comet", 1.0)], False, INDEX, COMET, cosines=None, background=BACKGROUND).exact
    python = INDEX.cards_with("python")
    assert len(python) > 2
    common = gather_evidence([("python", 1.0)], False, INDEX, int(python[0]), cosines=None, background=BACKGROUND)
    assert common.coverage == pytest.approx(1.0)
    assert not common.exact
    assert not gather_evidence([], False, INDEX, COMET, cosines=None, background=BACKGROUND).exact


def test_words_that_no_card_holds_are_unknown_where_there_is_no_encoder() -> None:
    assert gather_evidence([("zzyzx", 1.0)], False, INDEX, COMET, cosines=None, background=BACKGROUND).unknown


def test_cosines_are_measured_against_unrelated_texts() -> None:
    best, late, overview = (np.zeros(len(TOYS), dtype=np.float32) for _ in range(3))
    best[OTHER], late[OTHER], overview[OTHER], overview[COMET] = 0.5, 0.8, 0.9, 0.3
    found = gather_evidence([("comet", 1.0)], True, INDEX, COMET, cosines=(best, late, overview), background=BACKGROUND)
    # The nearest of all cards, but the overview of the best card.
    assert (found.best, found.late, found.overview) == pytest.approx((3.0, 5.0, 1.0), rel=1e-5)
    assert found.unknown
