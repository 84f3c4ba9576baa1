"""Ranking of a large catalogue, forced on small ones: the same best cards, and nothing that depends on the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toy import HashEncoder, many_cards, toy_cards, toy_catalogue

from ale_semantic import Engine, build_index, candidates, large
from ale_semantic.large import LargeRanker
from ale_semantic.plans import PlanKind
from ale_semantic.ranking import Scope
from ale_semantic.types import Mode, SearchResult

ACTIONS = ("measure", "draw", "audit", "translate", "repair", "simulate", "catalogue")
QUERIES = ("audit the ledger of a harbour", "simulate protein", "repair bridges", "krige moisture maps")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large") / "index"
    build_index(toy_catalogue([*toy_cards(), *many_cards(ACTIONS)]), folder, encoder=HashEncoder())
    return folder


@pytest.fixture(scope="module")
def exact(folder: Path) -> Engine:
    return Engine.open(folder, encoder=HashEncoder())


@pytest.fixture(scope="module")
def engine(folder: Path, exact: Engine) -> Iterator[Engine]:
    """Return an engine that takes its cards for many, and looks at fewer than there are."""
    with pytest.MonkeyPatch.context() as patch:  # after the exact one is open
        patch.setattr(large, "MOST_EXACT_PASSAGES", 10)
        patch.setattr(candidates, "CANDIDATES", 20)
        patch.setattr(candidates, "GUESSED_CANDIDATES", 25)
        patch.setattr(candidates, "VAGUE_CANDIDATES", 25)
        engine = Engine.open(folder, encoder=HashEncoder())
        assert isinstance(engine.ranker, LargeRanker)
        yield engine


def ids(result: SearchResult) -> list[str]:
    return [hit.task_id for hit in result.hits]


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("where", [None, "domain = science", "software = GDAL"])
@pytest.mark.parametrize("query", QUERIES)
def test_the_best_cards_are_those_of_exact_ranking(
    engine: Engine, exact: Engine, query: str, where: str | None, mode: Mode
) -> None:
    found, true = (one.search(query, where=where, mode=mode, k=5) for one in (engine, exact))
    assert found.total == true.total
    assert found.facets == true.facets
    assert found.verdict is true.verdict
    assert ids(found)[:1] == ids(true)[:1]
    assert len(set(ids(found)) & set(ids(true))) >= len(true.hits) - 1


def test_a_query_that_tells_no_cards_apart_is_answered_as_such(engine: Engine, exact: Engine) -> None:
    found, true = (one.search("zzyzx", min_band="weak") for one in (engine, exact))
    assert found.total == true.total <= 1
    assert engine.search("zzyzx").verdict is exact.search("zzyzx").verdict


def test_own_scores_of_candidates_are_exact(engine: Engine, exact: Engine) -> None:
    vector, terms = exact.vectors.of(["audit the ledger"])[0], [("audit", 1.0), ("ledger", 1.0)]
    true = exact.ranker.rank(terms, vector, Mode.HYBRID)
    found = engine.ranker.rank(terms, vector, Mode.HYBRID, scope=Scope())
    assert found.rows is not None
    assert 25 <= len(found.rows) < engine.ranker.cards
    np.testing.assert_allclose(found.own[found.rows], true.own[found.rows], atol=2e-5)
    others = np.setdiff1d(np.arange(engine.ranker.cards), found.rows)
    assert (found.fused[others] == -np.inf).all()
    assert abs(found.evidence.best - true.evidence.best) < 1e-4


@pytest.mark.parametrize("query", QUERIES[:3])
def test_a_score_depends_neither_on_the_page_nor_on_the_filter(engine: Engine, query: str) -> None:
    whole = {hit.task_id: hit.score for hit in engine.search(query, k=79).hits}
    assert len(whole) == 79
    for options in ({"k": 5}, {"k": 3, "offset": 9}, {"where": "domain = science"}, {"min_band": "weak"}):
        for hit in engine.search(query, **options).hits:
            assert hit.score == pytest.approx(whole[hit.task_id], abs=1e-5)


def test_pages_beyond_the_candidates_go_through_the_whole(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "MOST_CANDIDATES", 60)
    pages = [engine.search("audit the ledger", k=20, offset=offset) for offset in range(0, 100, 20)]
    found = [task for page in pages for task in ids(page)]
    assert sorted(found) == sorted(card.task_id for card in engine.catalogue)
    assert {page.total for page in pages} == {79}
    assert [page.plan.kind for page in pages if page.plan][-1] is PlanKind.EXACT


def test_hits_below_a_band_are_left_out_and_all_others_counted(engine: Engine, exact: Engine) -> None:
    for query in QUERIES:
        found, true = (one.search(query, min_band="weak", k=79) for one in (engine, exact))
        assert abs(found.total - true.total) <= 2
        assert found.total == len(found.hits)
        assert found.plan is not None
        assert found.plan.kind is PlanKind.EXACT


def test_similar_cards(engine: Engine, exact: Engine) -> None:
    for options in ({}, {"unlike": ["science/audit_orbit"]}, {"text": "audit a lease"}, {"where": "domain = legal"}):
        found, true = (one.similar("legal/audit_ledger", k=5, **options) for one in (engine, exact))
        assert found.total == true.total
        assert "legal/audit_ledger" not in ids(found)
        assert len(set(ids(found)) & set(ids(true))) >= 3


def test_a_relation_to_a_named_task(engine: Engine, exact: Engine) -> None:
    query = "something easier before the Fit a comet's orbit task"
    found, true = (one.search(query, k=5) for one in (engine, exact))
    assert "science/orbit_fit" not in ids(found)
    assert found.recognised == true.recognised
    assert len(set(ids(found)) & set(ids(true))) >= 3


def test_a_named_task_is_found_whatever_the_candidates(engine: Engine) -> None:
    for card in list(engine.catalogue)[::7]:
        first = engine.search(card.task_id, k=1).hits[0]
        assert (first.task_id, first.score) == (card.task_id, 1.0)
        assert first.why.passage is not None


def test_few_cards_that_hold_all_near_passages_are_not_all_candidates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "MOST_EXACT_PASSAGES", 10)
    monkeypatch.setattr(candidates, "CANDIDATES", 5)
    long = "Count the comets and note each comet. " * 60
    cards = [replace(card, prompt=long) if card.task_id == "science/orbit_fit" else card for card in toy_cards()]
    build_index(toy_catalogue(cards), tmp_path / "index", encoder=HashEncoder())
    engine = Engine.open(tmp_path / "index", encoder=HashEncoder())
    ranking = engine.ranker.rank([], engine.vectors.of(["comets"])[0], Mode.DENSE, scope=Scope(wanted=2))
    assert ranking.rows is not None
    assert len(ranking.rows) >= 5


def test_relatedness_without_the_matrix_agrees_with_it(engine: Engine, exact: Engine) -> None:
    assert exact.ranker.related is not None
    for row in (0, 20, 50):
        found, true = engine.ranker.relatedness(row), exact.ranker.relatedness(row)
        assert found[row] == 0
        assert np.corrcoef(found, true)[0, 1] > 0.8


def test_the_plan_is_told(exact: Engine, engine: Engine) -> None:
    small = exact.search("ledger", where="domain = legal", k=3).plan
    assert small is not None
    assert (small.kind, small.candidates) == (PlanKind.EXACT, 79)
    assert 0 < small.passing < small.passages
    assert exact.search("", k=3).plan is None
    assert exact.search("ledger", mode=Mode.LEXICAL).plan is None
    found = engine.search("ledger", where="domain = legal", k=3).plan
    assert found is not None
    assert found.kind is PlanKind.FLAT
    assert 0 < found.candidates < 79


def test_a_query_of_few_terms_gets_more_candidates(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "MOST_EXACT_PASSAGES", 10)
        patch.setattr(candidates, "CANDIDATES", 1)
        engine = Engine.open(folder, encoder=HashEncoder())
        counts = {}
        for vague in (40, 60):
            patch.setattr(candidates, "GUESSED_CANDIDATES", 40)
            patch.setattr(candidates, "VAGUE_CANDIDATES", vague)
            queries = ("harbour", "translate harbour", "translate the harbour audit")
            plans = [engine.search(query, k=1, understand=False).plan for query in queries]
            counts[vague] = [plan.candidates for plan in plans if plan is not None]
    assert all(40 <= count <= 41 for count in counts[40])  # one by its passage
    assert all(60 <= count <= 61 for count in counts[60][:2])
    assert counts[60][2] == counts[40][2]


def test_a_query_many_answer_finds_the_best_of_them(folder: Path, exact: Engine) -> None:
    """The passages of all cards of one action are equally near: what else is known of a card must choose."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "MOST_EXACT_PASSAGES", 10)
        patch.setattr(candidates, "CANDIDATES", 3)
        patch.setattr(candidates, "GUESSED_CANDIDATES", 14)
        patch.setattr(candidates, "VAGUE_CANDIDATES", 14)
        engine = Engine.open(folder, encoder=HashEncoder())
    for query in ("audit", "translate", "harbour"):
        found, true = (ids(one.search(query, k=5)) for one in (engine, exact))
        assert len(set(found) & set(true)) >= 4, query
