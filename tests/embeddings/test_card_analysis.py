"""What is read from cards without a model: once a card, and the same from the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from toy import toy_cards

from ale_semantic.card_words import CardWords
from ale_semantic.embeddings import card_analysis
from ale_semantic.embeddings.cache import EmbeddingCache
from ale_semantic.embeddings.card_analysis import VERSION, CardAnalyser
from ale_semantic.embeddings.relatedness import _products
from ale_semantic.fusion import Scores
from ale_semantic.skill_definitions import Skill, load_skills
from ale_semantic.skill_model import cue_scores
from ale_semantic.types import TaskCard


def test_known_cards_are_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cards, skills = toy_cards(), load_skills()
    read: list[TaskCard] = []

    def note(cards: Sequence[TaskCard], skills: Sequence[Skill]) -> list[Scores]:
        read.extend(cards)
        return []

    with EmbeddingCache.open(tmp_path, limit=10**9) as cache:
        first = CardAnalyser(cache, skills).analyse(cards)
        monkeypatch.setattr(card_analysis, "cue_scores", note)
        again = CardAnalyser(cache, skills).analyse(cards)
    assert [one.words for one in again] == [one.words for one in first] == [CardWords.of(card) for card in cards]
    assert read == []
    for analyses in (first, again):
        np.testing.assert_array_equal(np.stack([one.cues for one in analyses]), cue_scores(cards, skills))


def test_other_skills_are_looked_for_anew(tmp_path: Path) -> None:
    skills = load_skills()
    with EmbeddingCache.open(tmp_path, limit=10**9) as cache:
        CardAnalyser(cache, skills).analyse(toy_cards())
        (one, *_) = CardAnalyser(cache, skills[:3]).analyse(toy_cards())
    assert one.cues.shape == (3,)


def test_the_version_tells_what_words_are_read() -> None:
    """If this fails, the words of a text have changed: raise `VERSION`, and put the new digest here."""
    words = [CardWords.of(card) for card in toy_cards()]
    read = repr([(sorted(one.terms.items()), one.spelled) for one in words])
    digest = hashlib.sha256(read.encode()).hexdigest()[:16]
    assert (VERSION, digest) == ("analysis 1", "605ea235b762612e")


@pytest.mark.parametrize("cards", [3, 12, 60])
def test_products_of_rare_and_frequent_terms_are_those_of_a_matrix(cards: int) -> None:
    random = np.random.default_rng(cards)
    dense = random.random((cards, 40)) * (random.random((cards, 40)) < np.linspace(0.02, 0.9, 40))
    rows, columns = np.nonzero(dense)
    occurrences = np.bincount(columns, minlength=40)
    found = _products(rows, columns, dense[rows, columns], occurrences, cards)
    np.testing.assert_allclose(found, dense @ dense.T, atol=1e-12)
