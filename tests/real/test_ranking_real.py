"""The exported encoder ranks the real cards as the model it was exported from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ale_semantic import Engine
from ale_semantic.embeddings.encoder import SentenceTransformerEncoder
from ale_semantic.settings import DEFAULT_MODEL

TIE = 1e-4  # scores that differ by less may stand in either order on another processor


@pytest.mark.real
def test_all_cards_stand_in_the_same_order_for_each_development_query(real_cards: Path, real_index: Path) -> None:
    file = real_cards.parents[1] / "eval" / "queries.jsonl"
    if not file.is_file():
        pytest.skip("no development queries stand beside the real cards")
    queries = [json.loads(line)["query"] for line in file.read_text(encoding="utf-8").splitlines()]
    exported = Engine.open(real_index)
    original = Engine.open(real_index, encoder=SentenceTransformerEncoder.load(DEFAULT_MODEL, device="cpu"))
    assert len(queries) == 70
    for query in queries:
        ours, theirs = (
            engine.search(query, k=len(engine.catalogue), facets=False).hits for engine in (exported, original)
        )
        assert len(ours) == len(theirs) >= len(exported.catalogue) - 1  # a step leaves out the task that it names
        others = [
            (one.task_id, other.task_id)
            for one, other in zip(ours, theirs, strict=True)
            if one.task_id != other.task_id and abs(one.score - other.score) > TIE
        ]
        assert others == [], query
