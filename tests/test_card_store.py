"""Stored cards behave as the tuple that was written, read one by one."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy import toy_card, toy_catalogue

from ale_semantic import card_store
from ale_semantic.card_store import StoredCards, write_cards
from ale_semantic.errors import BundleError
from ale_semantic.types import TaskCard

CARDS: tuple[TaskCard, ...] = (
    *toy_catalogue().cards,
    toy_card("z/last", software=["FooBar 2.0", "Excel"], title="年报"),
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    write_cards(CARDS, tmp_path / "cards.jsonl")
    return tmp_path / "cards.jsonl"


def test_they_are_what_was_written(path: Path) -> None:
    stored = StoredCards.open(path)
    assert stored == CARDS
    assert CARDS == stored  # noqa: SIM300 (the tuple asks first here)
    assert stored == StoredCards.open(path)
    assert stored != CARDS[:-1]
    assert (len(stored), stored[0], stored[-1]) == (len(CARDS), CARDS[0], CARDS[-1])
    assert stored[1:4] == CARDS[1:4]
    assert list(reversed(stored)) == list(reversed(CARDS))
    assert CARDS[2] in stored
    assert stored.index(CARDS[3]) == 3


@pytest.mark.parametrize("place", [len(CARDS), -len(CARDS) - 1])
def test_there_are_no_others(path: Path, place: int) -> None:
    with pytest.raises(IndexError):
        StoredCards.open(path)[place]


def test_few_stay_in_memory(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card_store, "_KEPT", 2)
    stored = StoredCards.open(path)
    assert list(stored) == list(CARDS)
    assert len(stored._kept) == 2


def test_no_cards_are_an_empty_sequence(tmp_path: Path) -> None:
    write_cards([], tmp_path / "cards.jsonl")
    assert StoredCards.open(tmp_path / "cards.jsonl") == ()


def test_a_file_that_was_cut_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(BundleError, match="its lines end elsewhere"):
        StoredCards.open(path)


def test_a_line_that_is_no_card_is_named(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(b"[" + content[1:])
    stored = StoredCards.open(path)
    assert stored[1] == CARDS[1]
    with pytest.raises(BundleError, match=r"cards\.jsonl:1: no card"):
        stored[0]
