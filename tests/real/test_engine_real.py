"""The search on the real cards: filters before ranking, exact counts, exact names, honest verdicts, quality floors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ale_semantic import Catalogue, Engine
from ale_semantic.embeddings.build import BuildReport, build_index
from ale_semantic.errors import AleSemanticError, UnknownNameError
from ale_semantic.evaluation.judgments import JudgedQuery, load_judgments
from ale_semantic.evaluation.measures import MRR, NDCG, NoAnswer, no_answer
from ale_semantic.evaluation.report import TOTAL, Evaluation, evaluate
from ale_semantic.evaluation.runs import run_engine
from ale_semantic.types import Band, Facet, Mode, SearchResult, Verdict

TOTAL_TASKS = 157
MODES = tuple(Mode)
OWN_QUERIES = Path(__file__).parent.parent / "data" / "own_queries.jsonl"
DEEP = {  # words that stand only deep in a long prompt
    "mezzanine ceiling": "engineering/2d_drawings_to_3d_building_model",
    "pricelist freight": "business_finance/odoo",
    "coolant clamping packing pressure": "engineering/mold-flow",
}
ODD = [
    "C++",
    "2d-drawings",
    "a'b",
    '"unclosed',
    "EPSG:2154",
    "OR",
    "AND NOT",
    "*",
    "(",
    "[a-z",
    "title:",
    "\N{GRINNING FACE}",
    "a\0b",
    "\ud800",
    "x" * 10_000,
    "word " * 2_000,
    "<img src=x onerror=alert(1)>",
]


def ids(result: SearchResult) -> list[str]:
    return [hit.task_id for hit in result.hits]


def facet(facets: Sequence[Facet], name: str) -> Facet:
    (found,) = [facet for facet in facets if facet.field == name]
    return found


def counted(found: Facet) -> dict[str, int]:
    return {value.value: value.count for value in found.values}


# Filters and recall


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", ["kubernetes", "review a contract", "khgcvyuui"])
def test_a_filter_is_applied_before_ranking_in_every_leg(real_engine: Engine, mode: Mode, query: str) -> None:
    result = real_engine.search(query, where="domain = legal", k=10, mode=mode)
    assert result.total == len(result.hits) == 2
    assert {hit.card.domain for hit in result.hits} == {"legal"}


@pytest.mark.parametrize("mode", MODES)
def test_all_that_pass_a_filter_are_ranked_though_none_is_near(real_engine: Engine, mode: Mode) -> None:
    where = "tier = last-exam and os = linux and software = numpy"
    result = real_engine.search("kubernetes", where=where, k=10, mode=mode)
    assert result.total == 6
    assert [hit.rank for hit in result.hits] == [1, 2, 3, 4, 5, 6]
    for hit in result.hits:
        assert "last-exam" in hit.card.tiers
        assert hit.card.os == "linux"
        assert "numpy" in {name.lower() for name in hit.card.software_names}


@pytest.mark.parametrize("query", ["contract", ""])
def test_a_filter_that_leaves_nothing_is_not_no_good_match(real_engine: Engine, query: str) -> None:
    result = real_engine.search(query, where="tier = last-exam and domain = legal")
    assert (result.verdict, result.total, result.hits) == (Verdict.FILTERED_OUT, 0, ())


@pytest.mark.parametrize("mode", MODES)
def test_a_k_above_the_catalogue_gives_each_task_once(real_engine: Engine, mode: Mode) -> None:
    result = real_engine.search("train a model", k=500, mode=mode)
    known = {card.task_id for card in real_engine.catalogue}
    assert result.total == len(result.hits) == TOTAL_TASKS
    assert set(ids(result)) == known
    assert all(math.isfinite(hit.score) and 0 <= hit.score <= 1 for hit in result.hits)


def test_ten_hits_are_ten_tasks(real_engine: Engine) -> None:
    # All its passages speak of the same; they count as one hit.
    assert len(set(ids(real_engine.search("annual report extraction", k=10)))) == 10


def test_a_value_with_parentheses_and_commas(real_engine: Engine) -> None:
    result = real_engine.search("documents", where='software = "Word processor (any DOCX-capable editor)"')
    assert result.total == len(result.hits) == 1
    assert any("DOCX-capable" in use.raw for use in result.hits[0].card.software)


def test_a_value_that_looks_like_a_condition_is_a_value(real_engine: Engine) -> None:
    with pytest.raises(UnknownNameError, match="unknown software value") as caught:
        real_engine.search("x", where="software = 'x\" or tier = \"last-exam'")
    assert caught.value.name == 'x" or tier = "last-exam'


@pytest.mark.parametrize(
    ("where", "count"), [("not os = windows", 105), ("tier is missing", 10), ("tier = near-term", 59), ("", 157)]
)
@pytest.mark.parametrize("query", ["", "spreadsheet"])
def test_totals(real_engine: Engine, query: str, where: str, count: int) -> None:
    assert real_engine.search(query, where=where, k=1, facets=False).total == count


@pytest.mark.parametrize(
    ("where", "kind", "nearest", "position"),
    [("domian = legal", "field", "domain", 0), ("domain = leagl", "domain value", "legal", 9)],
)
def test_an_unknown_name_is_an_error_that_names_the_nearest(
    real_engine: Engine, where: str, kind: str, nearest: str, position: int
) -> None:
    for query in ("", "contract"):
        with pytest.raises(UnknownNameError) as caught:
            real_engine.search(query, where=where)
        assert (caught.value.kind, caught.value.position) == (kind, position)
        assert caught.value.nearest[0] == nearest


# Facet counts


def test_tiers_are_counted_once_a_task_and_tier(real_engine: Engine) -> None:
    tiers = facet(real_engine.facets(), "tier")
    assert counted(tiers) == {"near-term": 59, "full-spectrum": 55, "last-exam": 35}
    assert tiers.missing == 10


def test_a_facets_own_selection_does_not_narrow_it(real_engine: Engine) -> None:
    everything = real_engine.facets()
    chosen = real_engine.facets(where="domain = engineering")
    assert counted(facet(chosen, "domain")) == counted(facet(everything, "domain"))
    engineering = counted(facet(everything, "domain"))["engineering"]
    systems = facet(chosen, "os")
    assert sum(counted(systems).values()) + systems.missing == engineering
    assert [value.value for value in facet(chosen, "domain").values if value.selected] == ["engineering"]


def test_values_are_alternatives_and_facets_narrow_each_other(real_engine: Engine) -> None:
    domains = counted(facet(real_engine.facets(), "domain"))
    result = real_engine.search("", where="domain in (engineering, legal)", k=1)
    assert result.total == domains["engineering"] + domains["legal"]
    narrowed = real_engine.search("", where="domain in (engineering, legal) and os = windows", k=500)
    assert {hit.card.os for hit in narrowed.hits} == {"windows"}
    assert counted(facet(narrowed.facets, "os"))["windows"] == narrowed.total < result.total


def test_without_a_threshold_counts_are_of_all_that_pass(real_engine: Engine) -> None:
    result = real_engine.search("tumour", k=5)
    assert result.counted == "all tasks"
    assert counted(facet(result.facets, "domain")) == counted(facet(real_engine.facets(), "domain"))
    assert real_engine.search("tumour", where="os = linux", k=5).counted == "tasks that pass the filter"


def test_with_a_threshold_counts_are_of_the_matching_tasks(real_engine: Engine) -> None:
    result = real_engine.search("medical images", k=3, min_band=Band.WEAK)
    assert "match" in result.counted
    assert 3 < result.total < TOTAL_TASKS  # more than the page shows
    every = real_engine.search("medical images", k=500, min_band=Band.WEAK)
    assert len(every.hits) == every.total == result.total
    shares: dict[str, int] = {}
    for hit in every.hits:
        shares[hit.card.domain] = shares.get(hit.card.domain, 0) + 1
    found = counted(facet(result.facets, "domain"))
    assert {name: count for name, count in found.items() if count} == shares
    # Values that no matching task has are zero, not absent.
    assert found.keys() == counted(facet(real_engine.facets(), "domain")).keys()


@pytest.mark.parametrize("where", ["", "tier = last-exam", "software = numpy"])
def test_counts_of_a_single_valued_facet_add_up(real_engine: Engine, where: str) -> None:
    result = real_engine.search("", where=where, k=1)
    single = [found for found in result.facets if not found.multivalued]
    assert {"domain", "os", "gpu"} <= {found.field for found in single}
    for found in single:
        assert sum(counted(found).values()) + found.missing == result.total, found.field


# Long texts, names, odd input


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("query", "task_id"), DEEP.items())
def test_words_deep_in_a_long_prompt(real_engine: Engine, mode: Mode, query: str, task_id: str) -> None:
    result = real_engine.search(query, mode=mode)
    assert ids(result)[0] == task_id
    assert result.verdict is Verdict.STRONG
    assert result.hits[0].band is Band.STRONG


@pytest.mark.parametrize("mode", MODES)
def test_a_word_that_nothing_answers(real_engine: Engine, mode: Mode) -> None:
    result = real_engine.search("khgcvyuui", mode=mode)
    assert result.verdict is Verdict.NONE
    assert {hit.band for hit in result.hits} == {Band.NONE}
    assert result.hits[0].score < 0.1  # being first does not make it 1
    assert real_engine.search("khgcvyuui", mode=mode, min_band=Band.WEAK).total == 0


@pytest.mark.parametrize("mode", MODES)
def test_every_id_and_every_title_puts_its_task_first(real_engine: Engine, mode: Mode) -> None:
    cards = real_engine.catalogue.cards if mode is not Mode.DENSE else real_engine.catalogue.cards[::8]
    titles = [card.title for card in cards]
    assert len(titles) == len(set(titles))
    missed = []
    for card in cards:
        for query in (card.task_id, card.title):
            (hit,) = real_engine.search(query, k=1, mode=mode, facets=False).hits
            if hit.task_id != card.task_id or hit.score != 1.0 or hit.band is not Band.STRONG:
                missed.append((query, hit.task_id, hit.score))
    assert missed == []


@pytest.mark.parametrize("mode", MODES)
def test_rare_terms(real_engine: Engine, mode: Mode) -> None:
    assert ids(real_engine.search("K3 abelian", mode=mode))[0] == "computing_math/k3_abelian_extensions"


@pytest.mark.parametrize("mode", [Mode.HYBRID, Mode.LEXICAL])
def test_a_code_is_found_as_it_is_written(real_engine: Engine, mode: Mode) -> None:
    (hit, *_) = real_engine.search("EPSG:2154", mode=mode).hits
    assert "2154" in hit.card.prompt
    assert hit.why.matched_words


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", ODD, ids=lambda query: ascii(query[:12]))
def test_odd_input_gives_hits(real_engine: Engine, mode: Mode, query: str) -> None:
    result = real_engine.search(query, k=5, mode=mode, facets=False)
    assert len(set(ids(result))) == 5
    assert result.total == TOTAL_TASKS


def test_a_whole_book_is_one_clear_error(real_engine: Engine) -> None:
    with pytest.raises(AleSemanticError, match="30000 characters; at most 20000"):
        real_engine.search("y" * 30_000)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", ["", "   ", "\t\n", "\0"])
def test_a_blank_query_browses_in_the_order_of_the_ids(real_engine: Engine, mode: Mode, query: str) -> None:
    result = real_engine.search(query, k=500, mode=mode)
    assert result.verdict is Verdict.BROWSE
    assert ids(result) == sorted(card.task_id for card in real_engine.catalogue)


def test_chinese_words(real_engine: Engine) -> None:
    assert any("ar_full" in task_id for task_id in ids(real_engine.search("年报 核心技术人员", k=3)))


# Similar tasks


def test_the_near_duplicate_comes_first_and_the_task_itself_never(real_engine: Engine) -> None:
    result = real_engine.similar("business_finance/ar_full_300", k=500)
    assert ids(result)[0] == "business_finance/ar_full_1500"
    assert "business_finance/ar_full_300" not in ids(result)
    assert result.total == len(set(ids(result))) == TOTAL_TASKS - 1


def test_like_these_and_unlike_those(real_engine: Engine) -> None:
    likes = ("engineering/mold-flow", "engineering/gcode")
    result = real_engine.similar(*likes, unlike=["business_finance/odoo"], k=500)
    assert not {*likes, "business_finance/odoo"} & set(ids(result))
    # What is like the task not wanted falls back.
    near = ids(real_engine.similar("business_finance/odoo", k=10))
    before, after = ids(real_engine.similar(*likes, k=500)), ids(result)
    assert sum(after.index(task_id) for task_id in near) > sum(before.index(task_id) for task_id in near)


# Scores, order


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", ["segment tumours on scans", "K3 abelian", "numpy"])
def test_scores_mean_the_same_in_every_mode(real_engine: Engine, mode: Mode, query: str) -> None:
    result = real_engine.search(query, k=500, mode=mode, facets=False)
    scores = [hit.score for hit in result.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    for hit in result.hits:
        dense, lexical, passage = hit.why.dense, hit.why.lexical, hit.why.passage
        assert (dense is None) == (mode is Mode.LEXICAL)
        assert dense is None or -1 <= dense.score <= 1
        assert lexical is None or lexical.score > 0
        if mode is Mode.DENSE:
            assert lexical is None
        if passage is not None and passage.cosine is not None:
            assert -1 <= passage.cosine <= 1


def test_a_leg_that_missed_a_hit_is_null(real_engine: Engine) -> None:
    result = real_engine.search("kubernetes", k=500, facets=False)
    missed = [hit for hit in result.hits if hit.why.lexical is None]
    assert 0 < len(missed) < TOTAL_TASKS
    assert all("kubernetes" not in hit.card.prompt.lower() for hit in missed)


def test_cosines_of_vectors_with_themselves_stay_within_one(real_engine: Engine) -> None:
    backend = real_engine.ranker.space.backend
    for row in range(0, len(backend.vectors), 97):
        scores = backend.scores(np.asarray(backend.vectors[row : row + 1]), None)[0]
        assert scores.min() >= -1
        assert scores.max() <= 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("query", ["protein structure", "khgcvyuui", ""])
def test_two_pages_are_one_longer_page(real_engine: Engine, mode: Mode, query: str) -> None:
    whole = real_engine.search(query, k=20, mode=mode)
    pages = [real_engine.search(query, k=10, offset=offset, mode=mode) for offset in (0, 10)]
    assert [hit for page in pages for hit in page.hits] == list(whole.hits)
    assert real_engine.search(query, k=20, mode=mode) == whole


@pytest.mark.parametrize("query", ["khgcvyuui", "kubernetes"])
def test_ties_are_ordered_by_id(real_engine: Engine, query: str) -> None:
    result = real_engine.search(query, k=500, mode=Mode.LEXICAL, facets=False)
    missed = [hit.task_id for hit in result.hits if hit.why.lexical is None]
    assert len(missed) > 100
    assert missed == sorted(missed)
    assert ids(result)[-len(missed) :] == missed


def test_one_query_alone_or_among_others_gives_the_same_vectors(real_engine: Engine) -> None:
    from ale_semantic.embeddings.encoder import TextKind

    texts = [card.title for card in real_engine.catalogue.cards[:32]]
    encoder = real_engine.ranker.space.load_encoder()
    together = encoder.encode(texts, TextKind.QUERY)
    alone = np.concatenate([encoder.encode([text], TextKind.QUERY) for text in texts])
    np.testing.assert_allclose(alone, together, atol=1e-5)


def test_sixteen_threads_get_what_one_gets(real_engine: Engine) -> None:
    queries = [*DEEP, "K3 abelian", "", "easier than the KiCad layout"] * 8
    alone = {query: real_engine.search(query, k=5) for query in set(queries)}
    with ThreadPoolExecutor(16) as pool:
        together = list(pool.map(lambda query: (query, real_engine.search(query, k=5)), queries))
    assert all(result == alone[query] for query, result in together)


# The build


@pytest.fixture(scope="module")
def rebuilt(real_cards: Path, real_index: Path) -> BuildReport:
    """Build once more: nothing has changed, and the ledger is of all cards all the same."""
    return build_index(Catalogue.load(real_cards), real_index, wait=600)


def test_a_build_drops_nothing(rebuilt: BuildReport, real_engine: Engine) -> None:
    assert (rebuilt.cards, rebuilt.tokens_dropped) == (TOTAL_TASKS, 0)
    assert {entry.task_id for entry in rebuilt.ledger} == {card.task_id for card in real_engine.catalogue}
    assert sum(entry.seen for entry in rebuilt.ledger) == rebuilt.tokens_seen > 100_000
    assert max(entry.seen for entry in rebuilt.ledger) > 1_000  # the model takes 256 at once


def test_an_unchanged_catalogue_embeds_nothing(rebuilt: BuildReport) -> None:
    assert (rebuilt.embedded, rebuilt.reused) == (0, TOTAL_TASKS)


def test_the_published_table_has_fewer_tasks(real_cards: Path) -> None:
    table = real_cards.parent / "task_cards.parquet"
    if not table.is_file():
        pytest.skip(f"there is no {table}")
    catalogue = Catalogue.load(table)
    assert len(catalogue) == 153
    assert all(card.published is not False for card in catalogue)


# Quality floors on the development queries


def judged_file(real_cards: Path, name: str) -> Path:
    """Return a file of judgments that lies beside the cards."""
    file = real_cards.parent.parent / "eval" / name
    if not file.is_file():
        pytest.skip(f"there are no judgments in {file}")
    return file


@pytest.fixture(scope="module")
def development(real_cards: Path) -> list[JudgedQuery]:
    return load_judgments(judged_file(real_cards, "queries.jsonl"))


@pytest.fixture(scope="module")
def measured(real_engine: Engine, development: list[JudgedQuery]) -> Evaluation:
    return evaluate(run_engine(real_engine, development), development)


def test_the_right_task_comes_first(measured: Evaluation) -> None:
    assert measured.means[TOTAL][NDCG].mean >= 0.90
    assert measured.means[TOTAL][MRR].mean >= 0.93


def test_no_kind_of_query_is_left_behind(measured: Evaluation) -> None:
    assert len(measured.means) >= 7
    low = {kind: means[NDCG].mean for kind, means in measured.means.items() if means[NDCG].mean < 0.80}
    assert low == {}


def test_similar_tasks(real_engine: Engine, real_cards: Path) -> None:
    judged = load_judgments(judged_file(real_cards, "similar.jsonl"))
    assert len(judged) >= 30
    assert evaluate(run_engine(real_engine, judged), judged).means[TOTAL][NDCG].mean >= 0.80


def test_nothing_fits_is_said_when_nothing_does(
    real_engine: Engine, development: list[JudgedQuery], measured: Evaluation
) -> None:
    own = load_judgments(OWN_QUERIES)
    parts = [no_answer(measured.run, development), no_answer(run_engine(real_engine, own), own)]
    both = NoAnswer(
        *(
            sum(values)
            for values in zip(
                *((p.unanswerable, p.rightly_none, p.answerable, p.wrongly_none) for p in parts), strict=True
            )
        )
    )
    assert both.unanswerable >= 20
    assert both.rightly_none / both.unanswerable >= 0.88
    assert both.wrongly_none / both.answerable <= 0.05
