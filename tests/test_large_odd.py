"""Large catalogues that are unlike most: without a field, with ids that say nothing, too many for a sketch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy import HashEncoder, many_cards, toy_card, toy_catalogue

from ale_semantic import Engine, build_index
from ale_semantic.types import Mode, TaskCard


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take few cards for a large catalogue."""
    monkeypatch.setattr("ale_semantic.large.MOST_EXACT_PASSAGES", 0)
    monkeypatch.setattr("ale_semantic.large.SAMPLE", 40)
    monkeypatch.setattr("ale_semantic.candidates.CANDIDATES", 5)
    monkeypatch.setattr("ale_semantic.candidates.GUESSED_CANDIDATES", 10)
    monkeypatch.setattr("ale_semantic.candidates.VAGUE_CANDIDATES", 10)


def opened(cards: list[TaskCard], folder: Path) -> Engine:
    """Build and open an index."""
    build_index(toy_catalogue(cards), folder, encoder=HashEncoder(), cache=False)
    return Engine.open(folder, encoder=HashEncoder())


@pytest.mark.parametrize("fields", [{"taxonomy": None}, {"taxonomy": {"domain_code": "legal"}}, {"software": None}])
@pytest.mark.parametrize("mode", list(Mode))
def test_a_field_that_no_card_has_is_left_out(fields: dict[str, Any], mode: Mode, tmp_path: Path) -> None:
    cards = [
        toy_card(f"legal/t{n:03}", title=f"Audit {n}", summary=f"Audit the lease {n}.", task_prompt="Do it.", **fields)
        for n in range(60)
    ]
    hits = opened(cards, tmp_path).search("audit the lease 7", mode=mode).hits
    assert hits[0].task_id == "legal/t007"


def test_a_step_from_a_task_that_is_no_candidate(tmp_path: Path) -> None:
    made = many_cards([f"act{n}" for n in range(20)])
    cards = [
        toy_card(f"legal/t{n:03}", title=card.title, summary=card.summary, task_prompt=card.prompt)
        for n, card in enumerate(made)
    ]
    engine = opened(cards, tmp_path)
    for named in ("legal/t007", "legal/t055", "legal/t120"):
        hits = engine.search(f"easier measure lease audit before {named}", k=30).hits
        scores = [hit.score for hit in hits]
        assert np.isfinite(scores).all()
        assert len({hit.task_id for hit in hits} - {named}) == len(hits) == 30
        page = engine.search(f"easier measure lease audit before {named}", k=10, offset=10).hits
        assert [(hit.task_id, hit.score) for hit in page] == [(hit.task_id, hit.score) for hit in hits[10:20]]


@pytest.mark.parametrize("mode", list(Mode))
def test_without_a_sketch(mode: Mode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ale_semantic.sketch.MOST_SKETCHED", 10)
    engine = opened(many_cards(["audit", "film", "scan"]), tmp_path)
    for query in ("audit ledger", f"something easier before {engine.catalogue.cards[3].task_id}"):
        assert len(engine.search(query, mode=mode, k=5).hits) == 5
