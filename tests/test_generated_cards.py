"""The made-up cards of the benchmarks: valid, the same for the same seed, and uneven as real ones are."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

from ale_semantic import Catalogue

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from generated_cards import generated_cards, write_cards  # type: ignore[import-not-found]


def test_one_seed_gives_the_same_cards() -> None:
    assert list(generated_cards(20, seed=1)) == list(generated_cards(20, seed=1))
    assert list(generated_cards(20, seed=1)) != list(generated_cards(20, seed=2))


def test_they_make_a_catalogue(tmp_path: Path) -> None:
    write_cards(tmp_path / "cards.jsonl", 300)
    catalogue = Catalogue.load(tmp_path / "cards.jsonl")
    assert len(catalogue) == 300
    domains = Counter(card.domain for card in catalogue)
    assert len(domains) >= 8
    assert max(domains.values()) > 3 * min(domains.values())
    assert len({(card.title, card.summary, card.prompt) for card in catalogue}) == pytest.approx(300, abs=1)
