"""The real cards: counts, irregularities, and nothing of how tasks are graded, whatever the form."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from ale_semantic.card_store import StoredCards, write_cards
from ale_semantic.cards import card_from_raw, card_to_row
from ale_semantic.catalogue import Catalogue
from ale_semantic.errors import UnknownNameError
from ale_semantic.export import ExportFormat, export_bytes, selection_of
from ale_semantic.fields import RawCard
from ale_semantic.sources.checkout import read_task_list
from ale_semantic.types import OperatingSystem, Provenance, Tier

GRADING = ("evaluation", "referenceFiles", "evaluatorCredentials", "outputContracts")
PROVENANCE = Provenance("cards", "f" * 64, 157, "none", "1", 1, "0")
_LONG = 40  # characters from which on a text of the grading can't stand elsewhere by chance


@pytest.fixture(scope="module")
def catalogue(real_cards: Path) -> Catalogue:
    return Catalogue.load(real_cards)


@pytest.fixture(scope="module")
def table(real_cards: Path) -> Path:
    path = real_cards.parent / "task_cards.parquet"
    if not path.is_file():
        pytest.skip("no task_cards.parquet stands beside ALE_CARDS")
    return path


def findings(catalogue: Catalogue) -> Counter[str]:
    return Counter(finding.code for card in catalogue for finding in card.findings)


@pytest.mark.real
def test_all_tasks_are_read_and_the_smoke_tests_when_asked_for(catalogue: Catalogue, real_cards: Path) -> None:
    assert len(catalogue) == 157
    assert catalogue.skipped == ()
    assert [card.task_id for card in catalogue] == sorted(card.task_id for card in catalogue)
    assert not any(card.domain == "demo" for card in catalogue)
    everything = Catalogue.load(real_cards, include_smoke_tests=True)
    assert sum(card.domain == "demo" for card in everything) == 8
    assert len(everything) == 165


@pytest.mark.real
def test_tiers_are_sets(catalogue: Catalogue) -> None:
    counts = Counter(tier for card in catalogue for tier in card.tiers)
    assert counts == {Tier.NEAR_TERM: 59, Tier.FULL_SPECTRUM: 55, Tier.LAST_EXAM: 35}
    assert Counter(len(card.tiers) for card in catalogue) == {0: 10, 1: 145, 2: 2}


@pytest.mark.real
def test_machines_are_derived(catalogue: Catalogue, real_cards: Path) -> None:
    assert Counter(card.os for card in catalogue) == {OperatingSystem.LINUX: 105, OperatingSystem.WINDOWS: 52}
    assert Counter(card.gpu for card in catalogue) == {True: 20, False: 137}
    assert Counter(card.licensed for card in catalogue) == {True: 20, False: 137}
    linux = {card.task_id for card in catalogue if card.os is OperatingSystem.LINUX}
    listed = set(read_task_list(real_cards / "selected_tasks" / "linux_only.txt"))
    assert listed & {card.task_id for card in catalogue} <= linux


@pytest.mark.real
def test_irregular_cards_are_findings(catalogue: Catalogue) -> None:
    found = findings(catalogue)
    assert found["domain-mismatch"] == 18
    assert found["missing-must-do"] == 5
    assert found["missing-tier"] == 10
    assert found["several-tiers"] == 2
    assert found["unpublished"] == 4
    assert found["os-conflict"] == 0
    assert sum("NumPy" in card.software_names for card in catalogue) == 36


@pytest.mark.real
def test_the_table_holds_the_published_tasks_as_the_checkout_does(catalogue: Catalogue, table: Path) -> None:
    published = {card.task_id: card for card in catalogue if card.published}
    found = Catalogue.load(table)
    assert len(found) == len(published) == 153
    for card in found:
        known = published[card.task_id]
        for name in ("summary", "prompt", "domain", "subdomain", "must_do"):
            assert getattr(card, name) == getattr(known, name), (card.task_id, name)
        missing = any(finding.code == "missing-title" for finding in card.findings)  # the table knows fewer names
        assert missing or card.title == known.title
        assert set(card.tiers) <= set(known.tiers)
        assert [use.raw for use in card.software] == [use.raw for use in known.software]
        assert not card.inputs or card.inputs == known.inputs
        assert card.os is None
    assert findings(found)["missing-title"] <= 5
    assert findings(found)["missing-inputs"] <= findings(catalogue)["missing-inputs"] + 5


@pytest.mark.real
def test_every_card_survives_its_row(catalogue: Catalogue) -> None:
    for card in catalogue:
        assert card_from_raw(RawCard("row", json.loads(json.dumps(card_to_row(card))))) == card


@pytest.mark.real
@pytest.mark.parametrize("form", [ExportFormat.CSV, ExportFormat.JSONL, ExportFormat.PARQUET], ids=str)
def test_an_export_of_all_cards_is_the_same_catalogue(catalogue: Catalogue, tmp_path: Path, form: ExportFormat) -> None:
    path = tmp_path / f"all.{form}"
    path.write_bytes(export_bytes(selection_of(catalogue.cards, PROVENANCE), form))
    again = Catalogue.load(path)
    assert again.fingerprint == catalogue.fingerprint
    assert again.cards == catalogue.cards


@pytest.mark.real
def test_an_exported_task_list_names_all_tasks(catalogue: Catalogue, tmp_path: Path) -> None:
    path = tmp_path / "all.txt"
    path.write_bytes(export_bytes(selection_of(catalogue.cards, PROVENANCE), ExportFormat.TASK_LIST))
    assert read_task_list(path) == tuple(card.task_id for card in catalogue)


@pytest.mark.real
def test_the_cards_file_of_an_index_is_the_same_catalogue(catalogue: Catalogue, tmp_path: Path) -> None:
    path = tmp_path / "cards.jsonl"
    write_cards(catalogue.cards, path)
    assert StoredCards.open(path) == catalogue.cards


@pytest.mark.real
def test_no_form_tells_how_a_task_is_graded(catalogue: Catalogue, real_cards: Path) -> None:
    for card in catalogue:
        raw = json.loads((real_cards / "tasks" / card.task_id / "task_card.json").read_text(encoding="utf-8"))
        public = json.dumps({key: value for key, value in raw.items() if key not in GRADING}, ensure_ascii=False)
        secrets = [text for name in GRADING for text in texts(raw.get(name)) if plain(text) not in public]
        chosen = selection_of([card], PROVENANCE)
        for form in (ExportFormat.JSONL, ExportFormat.CSV, ExportFormat.MARKDOWN):
            written = export_bytes(chosen, form).decode()
            assert not [text for text in secrets if plain(text) in written], card.task_id
            assert not [name for name in GRADING if f'"{name}"' in written], card.task_id
        assert not [text for text in secrets if text in repr(card)], card.task_id


@pytest.mark.real
def test_the_grading_is_there_to_be_kept_out(catalogue: Catalogue, real_cards: Path) -> None:
    raws = [json.loads((real_cards / card.source_path / "task_card.json").read_text("utf-8")) for card in catalogue]
    assert sum(len(texts([raw.get(name) for name in GRADING])) for raw in raws) > 500


@pytest.mark.real
def test_a_wrong_id_names_the_nearest(catalogue: Catalogue) -> None:
    with pytest.raises(UnknownNameError, match="business_finance/ar_full_300"):
        catalogue.get("business_finance/ar_full_30")


def texts(value: object) -> list[str]:
    """Return all long texts in a nested value."""
    if isinstance(value, str):
        return [value] if len(value) >= _LONG else []
    if isinstance(value, dict):
        value = list(value.values())
    return [text for item in value for text in texts(item)] if isinstance(value, list) else []


def plain(text: str) -> str:
    """Return a text as JSON spells it, without its quotes."""
    return json.dumps(text, ensure_ascii=False)[1:-1]
