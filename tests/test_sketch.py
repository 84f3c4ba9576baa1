"""What is known of all cards of a large catalogue, and what is estimated from that."""

from __future__ import annotations

import numpy as np
import pytest
from toy import HashEncoder, many_cards, toy_cards, toy_catalogue

from ale_semantic import Engine, build_index
from ale_semantic.components import Component
from ale_semantic.embeddings.crowds import Multitude
from ale_semantic.embeddings.likeness import CardViews, Likeness
from ale_semantic.ranking import Ranker
from ale_semantic.sketch import MOST_DEVIATIONS, Known, Sketch, Strata

CARDS = 4000


@pytest.fixture(scope="module")
def ranker(tmp_path_factory: pytest.TempPathFactory) -> Ranker:
    folder = tmp_path_factory.mktemp("sketch") / "index"
    build_index(toy_catalogue([*toy_cards(), *many_cards(("audit", "draw", "film"))]), folder, encoder=HashEncoder())
    return Engine.open(folder, encoder=HashEncoder()).ranker


def drawn() -> tuple[np.random.Generator, dict[Component, np.ndarray], np.ndarray]:
    """Return some known components, and one with a long tail that largely follows from them."""
    random = np.random.default_rng(3)
    words = np.where(random.random(CARDS) < 0.03, random.gamma(2.0, 3.0, CARDS), 0).astype(np.float32)
    overview = random.standard_normal(CARDS, dtype=np.float32) + 0.2 * words
    late = (0.3 * words + 0.5 * overview + 0.3 * random.standard_normal(CARDS)).astype(np.float32)
    return random, {Component.WORDS: words, Component.OVERVIEW: overview}, late


def test_deviations_are_estimated_several_times_better_than_by_the_sample_alone() -> None:
    random, components, late = drawn()
    known = Known.of(components, CARDS)
    base = np.sort(np.argsort(-known.guess(dict.fromkeys(Component, 0.5)))[:100])
    alone, estimated = [], []
    for _ in range(40):
        sample = np.sort(random.choice(CARDS, 200, replace=False))
        found = Strata.of(known, base, sample).estimate(late[base], late[sample])
        estimated.append(found.deviation / late.std() - 1)
        alone.append(late[sample].std() / late.std() - 1)
        assert found.mean == pytest.approx(late.mean(), abs=0.1)
    assert np.abs(estimated).mean() < 0.02
    assert np.abs(estimated).mean() < np.abs(alone).mean() / 3
    assert abs(np.mean(estimated)) < 0.01


def test_what_follows_from_what_is_known_is_exact() -> None:
    random, components, _ = drawn()
    known = Known.of(components, CARDS)
    value = known.columns[1] * 2 - known.columns[2] + 3
    sample = np.sort(random.choice(CARDS, 30, replace=False))
    found = Strata.of(known, np.arange(50), sample).estimate(value[:50], value[sample])
    assert (found.mean, found.deviation) == pytest.approx((value.mean(), value.std()), rel=1e-4)
    assert found.noise == pytest.approx(0, abs=1e-6)


def test_all_cards_computed_is_exact_too() -> None:
    _, components, late = drawn()
    every = np.arange(CARDS)
    found = Strata.of(Known.of(components, CARDS), every, every[::10]).estimate(late, late[::10])
    assert (found.mean, found.deviation) == pytest.approx((late.mean(), late.std()), rel=1e-5)


def test_known_components_are_standardised_and_cut() -> None:
    words = np.zeros(1000, dtype=np.float32)
    words[7] = 5.0
    columns = Known.of({Component.WORDS: words, Component.SKILLS: np.ones(1000, np.float32)}, 1000).columns
    assert (columns[0] == 1).all()
    assert columns[1, 7] == MOST_DEVIATIONS
    assert columns[1].argmax() == 7
    assert (columns[2] == 0).all()


def test_a_sketch_tells_nearly_the_cosines_of_the_views(ranker: Ranker) -> None:
    sketch, vectors = Sketch.of(ranker.space, ranker.views), ranker.space.backend.vectors
    for name, view in ranker.views.items():
        query = vectors[view.rows[3]]
        true, found = view.scores(vectors @ query, ranker.cards, 0.0), sketch.cosines(query)[name]
        held = np.isin(np.arange(ranker.cards), view.cards)
        assert len(np.unique(view.cards)) > 10
        assert np.corrcoef(true[held], found[held])[0, 1] > 0.9
        assert found.argmax() in np.flatnonzero(true == true.max())


def test_a_multitude_lends_as_its_cards_do(ranker: Ranker, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.arange(ranker.cards)
    domains = (rows % 3).astype(np.int32) - 1
    views = CardViews.of(ranker.space, rows, domains)
    likeness = Likeness.measured(views)
    many = Multitude.of(ranker.space, rows, domains, likeness)
    weights = np.random.default_rng(1).random(len(rows), dtype=np.float32)
    weights[5] = 10.0
    one_by_one = likeness.to_crowd(likeness.crowd(views, weights), views)
    np.testing.assert_allclose(likeness.to_crowd(many.crowd(weights), views), one_by_one, atol=1e-3)
    monkeypatch.setattr("ale_semantic.embeddings.crowds._TAKEN", 24)
    monkeypatch.setattr("ale_semantic.embeddings.crowds._TAKEN_PIECES", 24)
    drawn = many.crowd(weights)
    assert drawn.weight == pytest.approx(float(weights.sum()), rel=1e-5)
    assert np.corrcoef(likeness.to_crowd(drawn, views), one_by_one)[0, 1] > 0.95
