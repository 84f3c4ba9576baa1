"""Answers as JSON values: the documented shape, whole and without surprises."""

from __future__ import annotations

import json
from dataclasses import replace

from toy import toy_card, toy_cards

from ale_semantic.cards import card_from_raw
from ale_semantic.fields import RawCard
from ale_semantic.plans import PlanKind, SearchPlan, SearchScan
from ale_semantic.serialise import SCHEMA_VERSION, card_to_dict, result_to_dict
from ale_semantic.types import (
    Band,
    Facet,
    FacetValue,
    Field,
    Hit,
    LegScore,
    Mode,
    PassageMatch,
    Provenance,
    SearchResult,
    Verdict,
    Why,
)

PROVENANCE = Provenance("toys", "f" * 64, 9, "hash", "1", 1, "0.1")


def answer() -> SearchResult:
    passage = PassageMatch(Field.PROMPT, "Read the lease.", None)
    why = Why(passage, ("lease",), None, LegScore(3.5, 1))
    hit = Hit(toy_card(), 0.5, Band.STRONG, 1, why)
    facet = Facet("tier", (FacetValue("near-term", 1, selected=True), FacetValue("last-exam", 0)), 2, multivalued=True)
    return SearchResult(
        "lease", "os = linux", Mode.LEXICAL, Verdict.STRONG, 1, (hit,), (facet,), "matching", PROVENANCE, ("Mind this",)
    )


def test_an_answer_is_the_documented_json() -> None:
    found = json.loads(json.dumps(result_to_dict(answer())))
    assert found.pop("hits")[0] == {
        "task_id": "legal/lease_review",
        "title": "Lease review",
        "score": 0.5,
        "band": "strong",
        "rank": 1,
        "why": {
            "passage": {"field": "prompt", "text": "Read the lease.", "cosine": None},
            "matched_words": ["lease"],
            "dense": None,
            "lexical": {"score": 3.5, "rank": 1},
            "note": None,
        },
        "card": card_to_dict(toy_card()),
    }
    expected = {
        "schema": SCHEMA_VERSION,
        "query": "lease",
        "where": "os = linux",
        "mode": "lexical",
        "verdict": "strong",
        "total": 1,
        "facets": {
            "tier": {
                "values": [
                    {"value": "near-term", "count": 1, "selected": True},
                    {"value": "last-exam", "count": 0, "selected": False},
                ],
                "missing": 2,
                "multivalued": True,
            }
        },
        "counted": "matching",
        "notices": ["Mind this"],
        "plan": None,
        "provenance": {
            "catalogue": "toys",
            "fingerprint": "f" * 64,
            "cards": 9,
            "model": "hash",
            "model_revision": "1",
            "layout": 1,
            "version": "0.1",
            "demo": False,
        },
    }
    assert {name: found[name] for name in expected} == expected


def test_a_plan_as_json() -> None:
    plan = SearchPlan(PlanKind.LISTS, 2_000_000, 100_000, 300, 200, lists=1024, probed=512, retries=1)
    plan = replace(plan, scans=(SearchScan(PlanKind.CODES, 2_000_000, 0, 0, 0, 0),))
    assert json.loads(json.dumps(result_to_dict(replace(answer(), plan=plan))["plan"])) == {
        "kind": "ivf",
        "passages": 2_000_000,
        "passing": 100_000,
        "candidates": 300,
        "rescored": 200,
        "lists": 1024,
        "probed": 512,
        "retries": 1,
        "scans": [
            {"kind": "8-bit", "passing": 2_000_000, "rescored": 0, "lists": 0, "probed": 0, "retries": 0},
        ],
    }


def test_a_hit_without_a_passage_has_a_null() -> None:
    hit = Hit(toy_card(), 0.0, Band.NONE, 1, Why(None, (), None, None, note="same id"))
    result = SearchResult("", "", Mode.HYBRID, Verdict.BROWSE, 1, (hit,), (), "all", PROVENANCE)
    why = result_to_dict(result)["hits"][0]["why"]
    assert (why["passage"], why["dense"], why["lexical"], why["note"]) == (None, None, None, "same id")


def test_a_card_as_json_carries_the_vocabulary_and_reads_back() -> None:
    for card in toy_cards():
        found = json.loads(json.dumps(card_to_dict(card)))
        assert found["software_names"] == list(card.software_names)
        assert found["input_formats"] == list(card.input_formats)
        assert card_from_raw(RawCard("json", found)) == card
