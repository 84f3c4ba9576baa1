"""A card that is unchanged comes from the index that is there, whatever the cache holds, and with the same bytes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toy import HashEncoder, toy_card, toy_cards, toy_catalogue

import ale_semantic.embeddings.build as build
from ale_semantic import Engine, build_index
from ale_semantic.embeddings import build_report
from ale_semantic.embeddings.build_report import BuildReport
from ale_semantic.embeddings.bundle import checked_generation, open_generation, seal
from ale_semantic.embeddings.card_records import RECORDS, CardRecords
from ale_semantic.embeddings.earlier import EarlierIndex
from ale_semantic.embeddings.encoder import TextKind
from ale_semantic.embeddings.serving import Serving
from ale_semantic.types import TaskCard

EDITED = "science/orbit_fit"


def edited_cards() -> list[TaskCard]:
    card = toy_card(EDITED, title="Fit a comet's orbit", task_prompt="Find the perihelion passage by least squares.")
    return [card if old.task_id == EDITED else old for old in toy_cards()]


def built(folder: Path, cards: Sequence[TaskCard], encoder: HashEncoder, languages: HashEncoder) -> BuildReport:
    """Build with both spaces and without the cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "serving_encoder", lambda name, **options: Serving.given(languages))
        return build_index(toy_catalogue(cards), folder, encoder=encoder, multilingual="many", cache=False, redraw=True)


def languages() -> HashEncoder:
    return HashEncoder(name="many", dimension=32)


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index of the toys with both spaces."""
    folder = tmp_path_factory.mktemp("first") / "index"
    built(folder, toy_cards(), HashEncoder(), languages())
    return folder


@pytest.fixture
def folder(first: Path, tmp_path: Path) -> Path:
    """Return a copy of it for a test of its own."""
    return shutil.copytree(first, tmp_path / "index")


def files_of(folder: Path) -> dict[str, bytes]:
    root = open_generation(folder)[0].root
    paths = [path for path in root.rglob("*") if path.is_file() and path.name != "manifest.json"]
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in paths}


def test_without_the_cache_only_the_edited_card_is_embedded(folder: Path, tmp_path: Path) -> None:
    encoder, many = HashEncoder(), languages()
    report = built(folder, edited_cards(), encoder, many)
    assert (report.embedded, report.reused) == (1, len(toy_cards()) - 1)
    texts = {card.task_id: {card.prompt, card.summary, *card.must_do} for card in edited_cards()}
    others = set().union(*(own for task_id, own in texts.items() if task_id != EDITED)) - texts[EDITED]
    embedded = {*encoder.encoded, *many.encoded}
    assert any("perihelion" in text for text in embedded)
    assert others
    assert not others & embedded
    built(tmp_path / "fresh", edited_cards(), HashEncoder(), languages())
    rebuilt, fresh = files_of(folder), files_of(tmp_path / "fresh")
    assert rebuilt.keys() == fresh.keys()
    assert [name for name, content in fresh.items() if rebuilt[name] != content] == []


def test_a_pruned_cache_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALE_CACHE_MB", "0")  # each build leaves an empty cache
    build_index(toy_catalogue(), tmp_path / "index", encoder=HashEncoder())
    report = build_index(toy_catalogue(edited_cards()), tmp_path / "index", encoder=HashEncoder())
    assert (report.embedded, report.reused) == (1, len(toy_cards()) - 1)


def test_a_card_of_another_id_and_row_is_known_by_its_texts(folder: Path) -> None:
    cards = [replace(card, task_id=f"a{card.task_id}") if card.task_id == EDITED else card for card in toy_cards()]
    report = built(folder, cards[1:], HashEncoder(), languages())
    assert report.embedded == 0
    assert Engine.open(folder, encoder=HashEncoder()).search("fit a comet's orbit").hits[0].task_id == f"a{EDITED}"


@pytest.mark.parametrize("other", [HashEncoder(digest="1" * 64), HashEncoder(max_tokens=16)], ids=["digest", "length"])
def test_nothing_is_taken_from_an_index_of_another_model(folder: Path, other: HashEncoder) -> None:
    assert built(folder, toy_cards(), other, languages()).embedded == len(toy_cards())


def test_nothing_is_taken_from_an_index_of_another_version_of_records(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ale_semantic.embeddings.embedding._VERSION", "another")
    assert built(folder, toy_cards(), HashEncoder(), languages()).embedded == len(toy_cards())


def resealed(folder: Path, *left_out: str, records: bool = True) -> None:
    """Leave entries out of the manifest, and seal the generation, as an earlier version may have made it."""
    paths, manifest = open_generation(folder)
    for own in () if records else paths.root.glob(f"spaces/*/{RECORDS}"):
        shutil.rmtree(own)
    kept = {name: value for name, value in manifest.items() if name not in ("files", "seal", *left_out)}
    paths.manifest.unlink()
    seal(paths, kept)


def test_of_an_index_without_records_the_vectors_of_texts_are_known(folder: Path) -> None:
    resealed(folder, records=False)
    index = EarlierIndex.open(folder)
    assert index is not None
    cards = index.cards(HashEncoder().identity, "float32")
    assert cards is not None
    assert cards.unchanged([b"0" * 32]) == {}
    assert cards.words(EDITED) == {}
    (card,) = [card for card in toy_cards() if card.task_id == EDITED]
    np.testing.assert_array_equal(
        cards.vectors(EDITED)[card.title], HashEncoder().encode([card.title], TextKind.DOCUMENT)[0]
    )
    assert built(folder, toy_cards(), HashEncoder(), languages()).embedded == len(toy_cards())


def test_an_index_that_was_opened_before_another_build_is_not_gone_by(folder: Path, tmp_path: Path) -> None:
    opened = EarlierIndex.open(folder)
    assert opened is not None
    assert opened.is_current()
    build_index(toy_catalogue(toy_cards()[:4]), folder, encoder=HashEncoder(), cache=False)
    assert not opened.is_current()
    report = build_index(
        toy_catalogue(), folder, encoder=HashEncoder(), cache=False, redraw=True, opened=lambda: opened
    )
    assert (report.embedded, report.reused) == (len(toy_cards()) - 4, 4)


def test_a_damaged_index_is_gone_by_wherever_it_is_found_out(folder: Path) -> None:
    path = open_generation(folder)[0].cards
    path.write_bytes(path.read_bytes()[:-1])
    assert EarlierIndex.open(folder) is None
    assert EarlierIndex.of(lambda: checked_generation(folder, readers=1)) is None


def test_a_cards_words_are_known_by_group(folder: Path) -> None:
    index = EarlierIndex.open(folder)
    assert index is not None
    cards = index.cards(HashEncoder().identity, "float32")
    assert cards is not None
    assert cards.records is not None
    words = cards.words(EDITED)
    assert len(words) == 2
    row = [card.task_id for card in cards.stored].index(EDITED)
    late = cards.space.late
    own = slice(int(late.starts[row]), int(late.starts[row + 1]))
    parts = list(words.values())
    np.testing.assert_array_equal(np.concatenate([part.ids for part in parts]), late.tokens[own])
    np.testing.assert_array_equal(np.concatenate([part.vectors for part in parts]), cards.records.pooled[own])
    assert cards.words("science/no_such_card") == {}


def test_keys_that_begin_alike_are_told_apart(folder: Path) -> None:
    index = EarlierIndex.open(folder)
    assert index is not None
    cards = index.cards(HashEncoder().identity, "float32")
    assert cards is not None
    assert cards.records is not None
    key = cards.records.keys[2].tobytes()
    assert cards.records.rows([key, key[:8] + bytes(24), bytes(32), b"\xff" * 32]) == [2, None, None, None]
    assert cards.records.rows([]) == []


def test_records_of_no_card(tmp_path: Path) -> None:
    from ale_semantic.embeddings.arrayfile import GrowingArray
    from ale_semantic.embeddings.card_records import RecordWriter

    RecordWriter(tmp_path).close()
    GrowingArray(tmp_path / "pooled.npy", np.float16, 4).close()
    assert CardRecords.open(tmp_path).rows([bytes(32)]) == [None]


# The ledger's sums


def refuse(path: Path) -> None:
    raise AssertionError(f"{path} was read")


def test_an_unchanged_build_doesnt_read_the_ledger(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_index(toy_catalogue(), folder, encoder=HashEncoder(), multilingual=False)
    entries = json.loads(open_generation(folder)[0].ledger.read_text())
    monkeypatch.setattr(build_report, "read_ledger", refuse)
    report = build_index(toy_catalogue(), folder, encoder=HashEncoder(), multilingual=False)
    assert report.unchanged
    assert report.tokens_seen == sum(entry["seen"] for entry in entries) > 0
    assert report.tokens_dropped == sum(entry["dropped"] for entry in entries)


def test_of_an_index_without_sums_the_ledger_is_read(folder: Path) -> None:
    build_index(toy_catalogue(), folder, encoder=HashEncoder(), multilingual=False)
    resealed(folder, "ledger")
    report = build_index(toy_catalogue(), folder, encoder=HashEncoder(), multilingual=False)
    assert report.unchanged
    assert report.tokens_seen == sum(entry.seen for entry in report.ledger) > 0


def test_an_index_that_was_opened_before_another_took_its_place_is_not_believed(tmp_path: Path) -> None:
    folder, cards = tmp_path / "index", toy_cards()
    build_index(toy_catalogue(cards), folder, encoder=HashEncoder(), cache=False)
    stale = EarlierIndex.open(folder)
    build_index(toy_catalogue(cards[:3]), folder, encoder=HashEncoder(), cache=False)
    build_index(toy_catalogue(cards), folder, encoder=HashEncoder(), cache=False, opened=lambda: stale)
    assert len(Engine.open(folder, encoder=HashEncoder()).catalogue) == len(cards)
    stale = EarlierIndex.open(folder)
    shutil.rmtree(folder)
    build_index(toy_catalogue(cards), folder, encoder=HashEncoder(), cache=False, opened=lambda: stale)
    assert len(Engine.open(folder, encoder=HashEncoder()).catalogue) == len(cards)
