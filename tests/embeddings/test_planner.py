"""The planner: which plan is chosen, and that each finds what brute force finds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ale_semantic.embeddings import backend as backends
from ale_semantic.embeddings import planner
from ale_semantic.embeddings.backend import INDEX, VECTORS, FaissBackend, Found, Mask
from ale_semantic.embeddings.encoder import Vectors
from ale_semantic.embeddings.planner import (
    LEAST_PROBED,
    MOST_CODES,
    MOST_FLAT,
    MOST_GATHERED,
    PROBED_GROWTH,
    Step,
    index_kind,
    list_count,
    plan_search,
)
from ale_semantic.errors import BundleError
from ale_semantic.plans import PlanKind

COUNT, DIMENSION = 3000, 48
TWINS = [7, 900, 901, 902, 1500]  # rows with one and the same vector
COUNTS = [0, 1, 2, 30, 1500, COUNT]
EXACT = [Step(PlanKind.GATHER), Step(PlanKind.FLAT), Step(PlanKind.CODES), Step(PlanKind.LISTS)]  # all lists probed


def unit(rows: Vectors) -> Vectors:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


def made_vectors() -> Vectors:
    random = np.random.default_rng(3)
    centres = random.standard_normal((60, DIMENSION))
    rows = centres[random.integers(0, 60, COUNT)] + 0.7 * random.standard_normal((COUNT, DIMENSION))
    rows[TWINS] = rows[TWINS[0]]
    return unit(rows.astype(np.float32))


VECTORS_MADE = made_vectors()
QUERIES = unit(VECTORS_MADE[[7, 50, 2000]] + np.float32(0.1) * VECTORS_MADE[[8, 9, 10]])
BACKENDS = {kind: FaissBackend.of(VECTORS_MADE, kind=kind) for kind in (PlanKind.FLAT, PlanKind.CODES, PlanKind.LISTS)}


def backend_for(step: Step) -> FaissBackend:
    return BACKENDS[PlanKind.FLAT if step.kind is PlanKind.GATHER else step.kind]


def masked(count: int) -> Mask:
    mask = np.zeros(COUNT, dtype=bool)
    mask[np.random.default_rng(count).permutation(COUNT)[:count]] = True
    return mask


def brute_force(query: Vectors, mask: Mask, k: int) -> list[int]:
    """Return the rows by cosine, equal ones by row."""
    cosines = (VECTORS_MADE * query).sum(axis=1)
    rows = np.flatnonzero(mask)
    return [int(row) for row in rows[np.argsort(-cosines[rows], kind="stable")][:k]]


@pytest.mark.parametrize(
    ("kind", "passages", "passing", "step"),
    [
        (PlanKind.FLAT, 1000, 1000, Step(PlanKind.FLAT)),
        (PlanKind.FLAT, 1000, 300, Step(PlanKind.GATHER)),
        (PlanKind.FLAT, 1000, 999, Step(PlanKind.FLAT)),
        (PlanKind.FLAT, MOST_FLAT, 3000, Step(PlanKind.FLAT)),
        (PlanKind.CODES, 10**5, 3000, Step(PlanKind.GATHER)),
        (PlanKind.CODES, 10**5, 5700, Step(PlanKind.CODES)),  # gathered in 5 ms, scanned in 3
        (PlanKind.CODES, 10**6, 10**6, Step(PlanKind.CODES)),
        (PlanKind.CODES, 10**6, 10_001, Step(PlanKind.CODES)),
        (PlanKind.CODES, 10**6, 10_000, Step(PlanKind.GATHER)),
        (PlanKind.LISTS, 10**7, MOST_GATHERED, Step(PlanKind.GATHER)),
        (PlanKind.LISTS, 10**7, 10**7, Step(PlanKind.LISTS, LEAST_PROBED)),
        (PlanKind.LISTS, 10**7, 10**5, Step(PlanKind.LISTS, LEAST_PROBED * 100**PROBED_GROWTH)),
        (PlanKind.LISTS, 10**7, 0, Step(PlanKind.GATHER)),
    ],
)
def test_the_plan_follows_from_the_counts(kind: PlanKind, passages: int, passing: int, step: Step) -> None:
    assert plan_search(kind, passages, passing) == step


def test_the_more_passages_the_more_are_gathered_up_to_a_limit() -> None:
    limits = [planner.most_gathered(passages) for passages in (0, 10, 10**3, 10**5, 10**6, 10**7, 10**9)]
    assert limits == [0, 31, 316, 3162, 10_000, MOST_GATHERED, MOST_GATHERED]


def test_fewer_passing_rows_never_mean_fewer_lists() -> None:
    shares = [plan_search(PlanKind.LISTS, 10**7, passing).share for passing in (10**7, 5 * 10**6, 10**6, 10**5)]
    assert shares == sorted(shares)
    assert LEAST_PROBED == shares[0] < shares[1] < shares[2] < shares[-1] < 1


@pytest.mark.parametrize(
    ("passages", "kind"),
    [(0, "flat"), (MOST_FLAT, "flat"), (MOST_FLAT + 1, "8-bit"), (MOST_CODES, "8-bit"), (MOST_CODES + 1, "ivf")],
)
def test_the_kind_of_index_follows_from_the_size(passages: int, kind: str) -> None:
    assert str(index_kind(passages)) == kind


def test_the_number_of_lists_is_a_power_of_two_below_the_root() -> None:
    assert [list_count(passages) for passages in (1, 15, 16, 10**6, 10**7)] == [1, 2, 4, 512, 2048]


@pytest.mark.parametrize("step", EXACT, ids=lambda step: str(step.kind))
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("k", [1, 10, 60])
def test_each_plan_finds_what_brute_force_finds(step: Step, count: int, k: int) -> None:
    mask = masked(count)
    found = backend_for(step).run(step, QUERIES, k, mask, count)
    assert found.rows.shape == found.cosines.shape == (len(QUERIES), k)
    for place, query in enumerate(QUERIES):
        expected = brute_force(query, mask, k)
        rows = found.rows[place, : len(expected)].tolist()
        if k > 10 and step.kind in (PlanKind.CODES, PlanKind.LISTS):  # rescored are 3 k of 3000: hardly any is missed
            assert len(set(rows) & set(expected)) >= 0.95 * len(expected)
            assert mask[rows].all()
        else:
            assert rows == expected
        np.testing.assert_allclose(found.cosines[place, : len(rows)], VECTORS_MADE[rows] @ query, atol=1e-6)
        assert (found.rows[place, len(expected) :] == -1).all()  # padding, never a row that doesn't pass
        assert (found.cosines[place, len(expected) :] == -np.inf).all()
    assert (found.plan.kind, found.plan.passages, found.plan.passing) == (step.kind, COUNT, count)


@pytest.mark.parametrize("step", EXACT, ids=lambda step: str(step.kind))
def test_equal_vectors_come_in_the_order_of_their_rows_even_where_the_page_cuts_them(step: Step) -> None:
    mask = np.ones(COUNT, dtype=bool)
    for k in (2, 4, 5):
        found = backend_for(step).run(step, VECTORS_MADE[[7]], k, mask, COUNT)
        assert found.rows[0].tolist() == TWINS[:k]
        assert len(set(found.cosines[0].tolist())) == 1


@pytest.mark.parametrize("kind", [PlanKind.FLAT, PlanKind.CODES])
def test_more_equal_vectors_than_are_looked_at_first_make_the_scan_wider(kind: PlanKind) -> None:
    rows = VECTORS_MADE.copy()
    rows[500:1200] = rows[3]
    found = FaissBackend.of(rows, kind=kind).run(Step(kind), rows[[3]], 5, None, COUNT)
    assert found.rows[0].tolist() == [3, 500, 501, 502, 503]
    assert found.plan.rescored > 700


def test_too_few_found_in_the_nearest_lists_means_all_lists() -> None:
    backend, mask = BACKENDS[PlanKind.LISTS], np.zeros(COUNT, dtype=bool)
    far = np.argsort(VECTORS_MADE @ QUERIES[0])[:20]
    mask[far] = True
    narrow = Step(PlanKind.LISTS, 1e-6)
    found = backend.run(narrow, QUERIES[:1], 10, mask, 20)
    assert found.rows[0].tolist() == brute_force(QUERIES[0], mask, 10)
    assert (found.plan.retries, found.plan.probed, found.plan.lists) == (1, found.plan.lists, list_count(COUNT))
    near = backend.run(narrow, QUERIES[:1], 1, np.ones(COUNT, dtype=bool), COUNT)
    assert (near.plan.retries, near.plan.probed) == (0, 1)


def test_where_much_passes_lists_are_scanned_without_the_filter(monkeypatch: pytest.MonkeyPatch) -> None:
    backend, selectors = BACKENDS[PlanKind.LISTS], []
    original = backends._Scan._search

    def search(scan: Any, queries: Any, depth: int, selector: Any) -> Any:
        selectors.append(selector is not None)
        return original(scan, queries, depth, selector)

    monkeypatch.setattr(backends._Scan, "_search", search)
    cosines = VECTORS_MADE @ QUERIES[0]
    across, away = np.arange(COUNT) % 2 == 0, cosines < np.median(cosines)
    rare = away.copy()
    rare[np.argsort(-cosines)[:600:10]] = True  # enough for ten, too few to choose the best ten among
    for mask, filtered in ((across, [False]), (away, [False, True]), (rare, [False, True])):
        selectors.clear()
        found = backend.run(Step(PlanKind.LISTS), QUERIES[:1], 10, mask, int(mask.sum()))
        assert selectors == filtered
        with monkeypatch.context() as patch:
            patch.setattr(backends, "LOOSE_SHARE", 1.0)
            same(found, backend.run(Step(PlanKind.LISTS), QUERIES[:1], 10, mask, int(mask.sum())))
    few = masked(COUNT // 10)
    selectors.clear()
    backend.run(Step(PlanKind.LISTS), QUERIES[:1], 10, few, int(few.sum()))
    assert selectors == [True]


def test_half_of_the_lists_hold_nearly_all_neighbours() -> None:
    found = BACKENDS[PlanKind.LISTS].run(Step(PlanKind.LISTS, 0.5), QUERIES, 10, None, COUNT)
    hits = [
        set(found.rows[place].tolist()) & set(brute_force(query, np.ones(COUNT, bool), 10))
        for place, query in enumerate(QUERIES)
    ]
    assert sum(map(len, hits)) >= 27


@pytest.mark.parametrize("kind", list(BACKENDS))
def test_written_and_opened_it_finds_the_same(kind: PlanKind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "index_kind", lambda passages: kind)
    FaissBackend.of(VECTORS_MADE).write(tmp_path)
    opened = FaissBackend.open(tmp_path)
    assert isinstance(opened.vectors.base, np.memmap)
    mask = masked(1500)
    monkeypatch.setattr(backends, "plan_search", lambda kind, passages, passing: Step(kind))
    same(opened.search(QUERIES, 10, mask), BACKENDS[kind].run(Step(kind), QUERIES, 10, mask, 1500))


def same(one: Found, other: Found) -> None:
    assert np.array_equal(one.rows, other.rows)
    assert np.array_equal(one.cosines, other.cosines)
    assert replace(one.plan, probed=0) == replace(other.plan, probed=0)


def test_an_index_of_another_kind_than_the_size_asks_for_still_serves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import faiss

    from ale_semantic.embeddings.codes import make_index

    FaissBackend.of(VECTORS_MADE).write(tmp_path)
    faiss.write_index(make_index(VECTORS_MADE, PlanKind.CODES), str(tmp_path / INDEX))
    monkeypatch.setattr(planner, "MOST_GATHERED", 0)
    found = FaissBackend.open(tmp_path).search(QUERIES, 10, None)
    assert found.plan.kind is PlanKind.CODES
    assert found.rows[0].tolist() == brute_force(QUERIES[0], np.ones(COUNT, dtype=bool), 10)


def test_the_file_alone_can_be_searched_by_plain_faiss(tmp_path: Path) -> None:
    import faiss

    from ale_semantic.embeddings.codes import make_index

    faiss.write_index(make_index(VECTORS_MADE, PlanKind.CODES), str(tmp_path / INDEX))
    rows = faiss.read_index(str(tmp_path / INDEX)).search(QUERIES, 50)[1]
    for place, query in enumerate(QUERIES):
        assert set(brute_force(query, np.ones(COUNT, dtype=bool), 10)) <= set(rows[place].tolist())


def test_faults_of_the_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=VECTORS):
        FaissBackend.open(tmp_path)
    FaissBackend.of(VECTORS_MADE).write(tmp_path)
    (tmp_path / INDEX).write_bytes(b"no index")
    with pytest.raises(BundleError, match=f"{INDEX}: not a readable FAISS index"):
        FaissBackend.open(tmp_path).search(QUERIES, 10, None)
    (tmp_path / INDEX).unlink()
    with pytest.raises(BundleError, match=f"{INDEX}: the file is missing"):
        FaissBackend.open(tmp_path)
    FaissBackend.of(VECTORS_MADE[:10]).write(tmp_path)
    np.save(tmp_path / VECTORS, VECTORS_MADE)
    with pytest.raises(BundleError, match=f"holds 10 rows, not {COUNT}"):
        FaissBackend.open(tmp_path).search(QUERIES, 10, None)
    np.save(tmp_path / VECTORS, VECTORS_MADE.astype(np.float64))
    with pytest.raises(BundleError, match="holds float64"):
        FaissBackend.open(tmp_path)


def test_a_filter_opposed_to_the_query_has_all_lists_probed() -> None:
    backend = BACKENDS[PlanKind.LISTS]
    for query in QUERIES:
        cosines = VECTORS_MADE @ query
        away = cosines < np.median(cosines)
        found = backend.run(Step(PlanKind.LISTS, 0.1), query[None, :], 10, away, int(away.sum()))
        whole = backend.run(Step(PlanKind.LISTS), query[None, :], 10, away, int(away.sum()))
        assert found.rows.tolist() == whole.rows.tolist()
        assert (found.plan.retries, found.plan.probed) == (1, found.plan.lists)
