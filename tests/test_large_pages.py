"""Pages of a large catalogue: whatever the page, one order, in which each card stands once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import HashEncoder, many_cards, toy_cards, toy_catalogue

from ale_semantic import Engine, build_index, candidates, large
from ale_semantic.fusion import softmax
from ale_semantic.large import LargeRanker
from ale_semantic.plans import PlanKind
from ale_semantic.ranking import SHARPNESS, SPREAD, Ranker, Scope, Stage
from ale_semantic.render import plan_view
from ale_semantic.types import Mode, SearchResult

ACTIONS = ("measure", "draw", "audit", "translate", "repair", "simulate", "catalogue", "film", "sort")
QUERIES = (
    "audit the ledger of a harbour",
    "simulate protein",
    "krige moisture maps",
    "something harder after audit_lease",
)
FILTERS = (None, "domain = science", "domain = legal", "software = GDAL")
BANDS = (None, "none", "weak")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """Return an engine whose candidates, and later ones, are few of its cards."""
    folder = tmp_path_factory.mktemp("pages") / "index"
    build_index(toy_catalogue([*toy_cards(), *many_cards(ACTIONS)]), folder, encoder=HashEncoder())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(large, "MOST_EXACT_PASSAGES", 10)
        patch.setattr(large, "SAMPLE", 40)
        for name, value in (
            ("CANDIDATES", 31),
            ("GUESSED_CANDIDATES", 12),
            ("VAGUE_CANDIDATES", 12),
            ("MOST_CANDIDATES", 55),
        ):
            patch.setattr(candidates, name, value)
        engine = Engine.open(folder, encoder=HashEncoder())
        assert isinstance(engine.ranker, LargeRanker)
        yield engine


def told(result: SearchResult) -> list[tuple[str, float, int, Any]]:
    return [(hit.task_id, hit.score, hit.rank, hit.why) for hit in result.hits]


def pages_agree(ask: Any, k: int, offset: int) -> None:
    """Check that one page is a part of the whole, and that the whole holds each card once."""
    whole = ask(k=200)
    page = ask(k=k, offset=offset)
    ids = [hit.task_id for hit in whole.hits]
    assert len(ids) == len(set(ids)) == whole.total
    assert (page.total, page.verdict, page.facets) == (whole.total, whole.verdict, whole.facets)
    assert told(page) == told(whole)[offset : offset + k]


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(QUERIES),
    st.sampled_from(FILTERS),
    st.sampled_from(list(Mode)),
    st.sampled_from(BANDS),
    st.integers(1, 60),
    st.integers(0, 110),
)
def test_pages_of_a_search_are_parts_of_one_order(
    engine: Engine, query: str, where: str | None, mode: Mode, band: str | None, k: int, offset: int
) -> None:
    pages_agree(lambda **page: engine.search(query, where=where, mode=mode, min_band=band, **page), k, offset)


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from([(), ("science/audit_orbit",)]),
    st.sampled_from(["", "audit a lease"]),
    st.sampled_from(FILTERS),
    st.sampled_from([None, "other-domain"]),
    st.integers(1, 60),
    st.integers(0, 110),
)
def test_pages_of_similar_tasks_are_parts_of_one_order(
    engine: Engine, unlike: tuple[str, ...], text: str, where: str | None, variant: str | None, k: int, offset: int
) -> None:
    pages_agree(
        lambda **page: engine.similar(
            "legal/audit_ledger", unlike=unlike, text=text, where=where, variant=variant, **page
        ),
        k,
        offset,
    )


def test_a_page_is_scored_no_deeper_than_it_reaches(engine: Engine) -> None:
    plans = [engine.search("simulate protein", k=1, offset=offset).plan for offset in (0, 50, 80)]
    ranked = [plan.candidates for plan in plans if plan is not None]
    assert 31 <= ranked[0] < 55 <= ranked[1] < ranked[2] == len(engine.catalogue)
    kinds = [plan.kind for plan in plans if plan is not None]
    assert [kind is PlanKind.EXACT for kind in kinds] == [False, False, True]


def test_all_searches_are_told(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[PlanKind, int]] = []
    backend = type(engine.ranker.space.backend)
    search = backend.search

    def spy(self: Any, vectors: Any, k: int, mask: Any) -> Any:
        found = search(self, vectors, k, mask)
        calls.append((found.plan.kind, found.plan.passing))
        return found

    monkeypatch.setattr(backend, "search", spy)
    monkeypatch.setattr(candidates, "_BASE_DEPTH", 1)
    counts = []
    for where in (None, "domain = science", "domain = legal"):
        for k in (3, 50, 200):
            for band in (None, "weak"):
                calls.clear()
                plan = engine.search("simulate protein", where=where, k=k, min_band=band, facets=False).plan
                assert plan is not None
                assert [(scan.kind, scan.passing) for scan in plan.scans] == calls
                assert calls[0][1] == plan.passages
                assert (where is None) == (plan.passing == plan.passages)
                counts.append(len(calls))
    assert max(counts) >= 3


def test_a_filter_that_most_pass_needs_no_search_of_its_own(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    backend, calls = type(engine.ranker.space.backend), []
    search = backend.search

    def spy(self: Any, vectors: Any, k: int, mask: Any) -> Any:
        found = search(self, vectors, k, mask)
        calls.append(found.plan.passing)
        return found

    monkeypatch.setattr(backend, "search", spy)
    monkeypatch.setattr(candidates, "_BASE_DEPTH", 1000)
    plan = engine.search("simulate protein", where="domain = legal", k=3).plan
    assert plan is not None
    assert [scan.passing for scan in plan.scans] == calls == [len(engine.ranker.space.passages)]
    assert 0 < plan.passing < plan.passages
    monkeypatch.setattr(candidates, "_BASE_DEPTH", 1)
    monkeypatch.setattr(candidates, "CANDIDATES", 5)
    calls.clear()
    plan = engine.search("simulate protein", where="domain = legal", k=3).plan
    assert plan is not None
    assert [scan.passing for scan in plan.scans] == calls
    assert calls[-1] == plan.passing


def test_where_the_sample_is_all_scores_are_those_of_exact_ranking(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    part = engine.ranker
    assert isinstance(part, LargeRanker)
    monkeypatch.setattr(large, "SAMPLE", 200)
    ranker = LargeRanker.over(part, part.domains)
    exact = Ranker.of(part.space, part.lexical, None, part.skills, part.background)
    views = ranker.sample.get().views
    related = ranker.likeness.get().between(views, views)
    for query in QUERIES[:3]:
        vector, terms = engine.vectors.of([query])[0], engine.speller.correct(query).terms
        own = exact.rank(terms, vector, Mode.HYBRID).own
        found = ranker.rank(terms, vector, Mode.HYBRID, scope=Scope(every=True))
        assert found.stages is not None
        assert set(found.stages.tolist()) == {Stage.BASE, Stage.PASSING}
        np.testing.assert_allclose(found.own, own, atol=5e-5)
        # Candidates lend one by one, the others as a crowd: all cards lend, whether they are candidates or not.
        true = own + SPREAD * softmax(SHARPNESS * own) @ related
        assert np.corrcoef(found.fused - own, true - own)[0, 1] > 0.99
        np.testing.assert_allclose(found.fused, true, atol=0.1)


def test_the_plan_is_shown_with_all_its_searches(engine: Engine) -> None:
    from rich.console import Console

    console = Console(width=200)
    with console.capture() as shown:
        console.print(plan_view(engine.search("simulate protein", where="domain = science", k=3).plan))
    assert "Searches of passages: flat of" in shown.get()
