"""Answers and cards as plain JSON values: the one stable shape that the command line, exports and service share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ale_semantic.cards import card_to_row
from ale_semantic.plans import SearchPlan
from ale_semantic.types import Facet, Hit, SearchResult, TaskCard, Why

SCHEMA_VERSION = 1  # raised when a key changes its meaning or goes away; new keys may come


def result_to_dict(result: SearchResult) -> dict[str, Any]:
    """Return an answer as JSON values; the shape is described in docs/json.md."""
    return {
        "schema": SCHEMA_VERSION,
        "query": result.query,
        "where": result.where,
        "mode": str(result.mode),
        "verdict": str(result.verdict),
        "total": result.total,
        "hits": [hit_to_dict(hit) for hit in result.hits],
        "facets": facets_to_dict(result.facets),
        "counted": result.counted,
        "notices": list(result.notices),
        "recognised": [asdict(part) for part in result.recognised],
        "provenance": asdict(result.provenance),
        "plan": plan_to_dict(result.plan),
    }


def plan_to_dict(plan: SearchPlan | None) -> dict[str, Any] | None:
    """Return how the vectors were searched as JSON values; null where none were."""
    if plan is None:
        return None
    scans = [{**asdict(scan), "kind": str(scan.kind)} for scan in plan.scans]
    return {**asdict(plan), "kind": str(plan.kind), "scans": scans}


def hit_to_dict(hit: Hit) -> dict[str, Any]:
    """Return a hit as JSON values, with its whole card."""
    return {
        "task_id": hit.task_id,
        "title": hit.card.title,
        "score": hit.score,
        "band": str(hit.band),
        "rank": hit.rank,
        "why": why_to_dict(hit.why),
        "card": card_to_dict(hit.card),
    }


def why_to_dict(why: Why) -> dict[str, Any]:
    """Return the reasons of a hit as JSON values; a leg that missed the card is null."""
    passage = why.passage
    return {
        "passage": {"field": str(passage.field), "text": passage.text, "cosine": passage.cosine} if passage else None,
        "matched_words": list(why.matched_words),
        "dense": asdict(why.dense) if why.dense else None,
        "lexical": asdict(why.lexical) if why.lexical else None,
        "note": why.note,
    }


def card_to_dict(card: TaskCard) -> dict[str, Any]:
    """Return a card as JSON values: the public columns and the canonical vocabulary."""
    return {
        **card_to_row(card),
        "software_names": list(card.software_names),
        "input_formats": list(card.input_formats),
    }


def facets_to_dict(facets: Sequence[Facet]) -> dict[str, Any]:
    """Return facets by field, values in their order."""
    return {
        facet.field: {
            # Written out: `asdict` takes longer for hundreds of values than a search.
            "values": [{"value": one.value, "count": one.count, "selected": one.selected} for one in facet.values],
            "missing": facet.missing,
            "multivalued": facet.multivalued,
        }
        for facet in facets
    }
