"""The engine on the toys: filters, pages, exact names, verdicts, examples, and every fault as one clear error."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy import HashEncoder, toy_card, toy_cards, toy_catalogue

from ale_semantic import Engine, build_index
from ale_semantic.errors import BundleError, QueryError, UnknownNameError
from ale_semantic.filters import field
from ale_semantic.ranking import Ranker, Ranking
from ale_semantic.serialise import result_to_dict
from ale_semantic.types import Band, Mode, SearchResult, Verdict

IDS = [card.task_id for card in toy_cards()]
COMET = "science/orbit_fit"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("engine") / "index"
    build_index(toy_catalogue(), folder, encoder=HashEncoder())
    return folder


@pytest.fixture(scope="module")
def engine(folder: Path) -> Engine:
    return Engine.open(folder, encoder=HashEncoder())


def ids(result: SearchResult) -> list[str]:
    return [hit.task_id for hit in result.hits]


@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("query", ["fit a comet's orbit", COMET, "ORBIT_FIT", "Fit a comet's orbit"])
def test_the_named_task_comes_first_in_every_mode(engine: Engine, mode: Mode, query: str) -> None:
    first = engine.search(query, mode=mode).hits[0]
    assert (first.task_id, first.score, first.band) == (COMET, 1.0, Band.STRONG)
    assert first.why.note is not None


def test_everyday_words_find_the_task(engine: Engine) -> None:
    result = engine.search("suppliers' invoices and bank payments")
    assert ids(result)[0] == "business_finance/invoice_matching"
    assert result.verdict is Verdict.STRONG
    assert "invoices" in result.hits[0].why.matched_words
    assert result.hits[0].why.passage is not None


def test_a_filter_works_as_text_and_as_an_object(engine: Engine) -> None:
    text = engine.search("work", where="domain = legal")
    built = engine.search("work", where=field("domain") == "legal")
    assert set(ids(text)) == {"legal/lease_review", "legal/patent_claims"}
    assert text == built


def test_ranks_of_legs_count_among_the_tasks_that_pass(engine: Engine) -> None:
    result = engine.search("numpy", where="domain = science")
    places = sorted(hit.why.dense.rank for hit in result.hits if hit.why.dense)
    assert places == [1, 2, 3]


def test_a_score_does_not_depend_on_the_filter(engine: Engine) -> None:
    scores = {hit.task_id: hit.score for hit in engine.search("python numpy", k=50).hits}
    for hit in engine.search("python numpy", where="domain = science").hits:
        assert hit.score == scores[hit.task_id]


def test_pages_go_through_the_whole_and_end(engine: Engine) -> None:
    whole = ids(engine.search("python", k=50))
    assert sorted(whole) == IDS
    assert [task for offset in range(0, 12, 4) for task in ids(engine.search("python", k=4, offset=offset))] == whole
    beyond = engine.search("python", k=4, offset=400)
    assert (beyond.hits, beyond.total) == ((), len(IDS))


def test_a_threshold_leaves_out_hits_and_narrows_counts(engine: Engine) -> None:
    query = "suppliers' invoices and bank payments"
    result = engine.search(query, min_band="strong", k=50)
    assert 1 <= result.total == len(result.hits) < len(IDS)
    assert {hit.band for hit in result.hits} == {Band.STRONG}
    (domain,) = [facet for facet in result.facets if facet.field == "domain"]
    assert sum(value.count for value in domain.values) == result.total
    assert engine.search("zzyzx", min_band=Band.WEAK).total == 0


def test_a_recognised_phrase_is_shown_applied_and_can_be_switched_off(engine: Engine) -> None:
    result = engine.search("review on Windows", k=50)
    assert {str(hit.card.os) for hit in result.hits} == {"windows"}
    (chip,) = result.recognised
    assert (chip.where, chip.applied, result.where) == ("os = windows", True, "")
    off = engine.search("review on Windows", k=50, ignore=[chip.key])
    assert off.total == len(IDS)
    assert engine.search("review on Windows", k=50, understand=False).recognised == ()


def test_a_relation_leaves_the_named_task_out_and_prefers_the_tier(engine: Engine) -> None:
    result = engine.search("something easier before the Fit a comet's orbit task", k=50)
    assert result.recognised[-1].key == "relation"
    assert COMET not in ids(result)
    assert result.total == len(IDS) - 1
    assert min(result.hits[0].card.tiers, key=lambda tier: tier.level) != "last-exam"
    harder = engine.search("harder follow-up to Match poster colours", k=50)
    assert "art_media/poster_colours" not in ids(harder)
    assert max(harder.hits[0].card.tiers, key=lambda tier: tier.level) != "near-term"


def test_a_relation_to_nothing_is_a_plain_query(engine: Engine) -> None:
    result = engine.search("easier than the zzyzx", k=50)
    assert result.recognised == ()
    assert result.total == len(IDS)


def test_a_blank_query_browses(engine: Engine) -> None:
    for query in ("", "  \n", "\0"):
        result = engine.search(query, k=50)
        assert (result.verdict, ids(result)) == (Verdict.BROWSE, IDS)
    assert engine.search("", where="domain = legal and tier = last-exam").verdict is Verdict.FILTERED_OUT


def test_similar_tasks(engine: Engine) -> None:
    result = engine.similar("legal/lease_review", k=50)
    assert sorted([*ids(result), "legal/lease_review"]) == IDS
    both = engine.similar("legal/lease_review", COMET, unlike=["science/soil_maps"], k=50)
    assert both.total == len(IDS) - 3
    assert engine.similar("legal/lease_review", where="domain = legal").total == 1


def test_a_near_twin_is_the_most_similar(tmp_path: Path) -> None:
    lease = next(card for card in toy_cards() if card.task_id == "legal/lease_review")
    twin = replace(lease, task_id="legal/lease_review_2", title="Review another lease")
    build_index(toy_catalogue([*toy_cards(), twin]), tmp_path / "index", encoder=HashEncoder())
    engine = Engine.open(tmp_path / "index", encoder=HashEncoder())
    assert ids(engine.similar(lease.task_id))[0] == twin.task_id
    assert ids(engine.similar(twin.task_id))[0] == lease.task_id


def test_similar_to_a_pasted_text(engine: Engine) -> None:
    text = toy_card("science/other", task_prompt="Krige moisture from the probes and export a raster map.").prompt
    result = engine.similar(text=text, k=50)
    assert (ids(result)[0], result.total) == ("science/soil_maps", len(IDS))


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"k": 0}, "k must be between 1 and 10000, not 0"),
        ({"k": 10_001}, "not 10001"),
        ({"offset": -1}, "offset must not be negative"),
        ({"mode": "psychic"}, "unknown mode 'psychic'; valid are hybrid, dense, lexical"),
        ({"min_band": "good"}, "unknown band 'good'; valid are strong, weak, none"),
    ],
)
def test_bad_options_are_named(engine: Engine, options: dict[str, Any], problem: str) -> None:
    with pytest.raises(QueryError, match=problem):
        engine.search("x", **options)


def test_bad_examples_are_named(engine: Engine) -> None:
    with pytest.raises(QueryError, match="at least one task id or a text"):
        engine.similar()
    with pytest.raises(QueryError, match="both as like and as unlike"):
        engine.similar(COMET, unlike=[COMET])
    with pytest.raises(UnknownNameError) as caught:
        engine.similar("science/orbit_fitt")
    assert caught.value.nearest[0] == COMET


def test_a_result_as_rows_frame_and_json(engine: Engine) -> None:
    result = engine.search("numpy", k=3)
    frame = result.to_pandas()
    assert list(frame["task_id"]) == ids(result)
    assert list(frame["rank"]) == [1, 2, 3]
    assert list(engine.search("", where="domain = legal and tier = last-exam").to_pandas()) == list(frame)
    stored = json.loads(json.dumps(result_to_dict(result)))
    assert [hit["task_id"] for hit in stored["hits"]] == ids(result)


def test_an_index_that_is_not_there_says_how_to_build_one(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=f"ale-semantic build --index {tmp_path}"):
        Engine.open(tmp_path)


def test_another_model_than_asked_for_is_refused(folder: Path) -> None:
    with pytest.raises(BundleError, match=r"built with hash .*, not with 'e5-small'"):
        Engine.open(folder, encoder=HashEncoder(), model="e5-small")


@pytest.mark.parametrize("count", [1, 2])
def test_a_catalogue_of_one_or_two_cards(tmp_path: Path, count: int) -> None:
    cards = toy_cards()[:count]
    build_index(toy_catalogue(cards), tmp_path / "index", encoder=HashEncoder())
    engine = Engine.open(tmp_path / "index", encoder=HashEncoder())
    for mode in Mode:
        result = engine.search("match poster colours", mode=mode)
        assert ids(result)[0] == cards[0].task_id
        assert all(0 <= hit.score <= 1 for hit in result.hits)
        assert engine.search("zzyzx", mode=mode).total == count
    assert engine.similar(cards[0].task_id).total == count - 1


def test_two_cards_of_one_title_are_both_first_in_the_order_of_their_ids(tmp_path: Path) -> None:
    twins = [toy_card(f"legal/{name}", title="One title") for name in ("zebra", "ant")]
    build_index(toy_catalogue([*toy_cards(), *twins]), tmp_path / "index", encoder=HashEncoder())
    result = Engine.open(tmp_path / "index", encoder=HashEncoder()).search("one TITLE")
    assert ids(result)[:2] == ["legal/ant", "legal/zebra"]
    assert [hit.score for hit in result.hits[:2]] == [1.0, 1.0]


def test_cards_that_differ_in_the_last_bits_alone_stand_in_the_order_of_their_ids(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = Ranker.rank

    def nearly_equal(self: Ranker, *args: Any, **options: Any) -> Ranking:
        return replace(usual(self, *args, **options), fused=np.linspace(0, 9e-7, self.cards, dtype=np.float32))

    monkeypatch.setattr(Ranker, "rank", nearly_equal)
    found = [hit.task_id for hit in engine.search("fit an orbit", k=50).hits]
    assert found == [card.task_id for card in engine.catalogue.cards]
