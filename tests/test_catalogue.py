"""Catalogues: whole, ordered, unique, or refused with the places to mend."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from toy import toy_card, toy_cards, toy_catalogue, toy_raw

from ale_semantic.card_gatherer import CardGatherer, card_line
from ale_semantic.card_store import StoredCards, write_cards
from ale_semantic.catalogue import Catalogue, fingerprint_of
from ale_semantic.errors import DuplicateTaskError, SourceError, UnknownNameError
from ale_semantic.sources import Origin
from ale_semantic.sources import resolve as resolving
from ale_semantic.sources.tables import TableSource


def write(path: Path, *rows: dict[str, Any] | str) -> Path:
    path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
    return path


def test_cards_stand_in_the_order_of_their_ids(tmp_path: Path) -> None:
    path = write(tmp_path / "cards.jsonl", toy_raw("b/x"), toy_raw("a/y"), toy_raw("a/x"))
    catalogue = Catalogue.load(path)
    assert [card.task_id for card in catalogue] == ["a/x", "a/y", "b/x"]
    assert (len(catalogue), catalogue.origin.name, catalogue.skipped, catalogue.notices) == (3, "cards.jsonl", (), ())


def test_the_fingerprint_follows_content_not_order_or_place(tmp_path: Path) -> None:
    first = Catalogue.load(write(tmp_path / "a.jsonl", toy_raw("a/x"), toy_raw("a/y")))
    turned = Catalogue.load(write(tmp_path / "b.jsonl", toy_raw("a/y"), toy_raw("a/x")))
    edited = Catalogue.load(write(tmp_path / "c.jsonl", toy_raw("a/y"), toy_raw("a/x", summary="Other words.")))
    secret = Catalogue.load(write(tmp_path / "d.jsonl", toy_raw("a/y", evaluation="how"), toy_raw("a/x")))
    assert first.fingerprint == turned.fingerprint == secret.fingerprint != edited.fingerprint
    assert first.fingerprint == fingerprint_of(first.cards)


def test_a_card_line_is_one_line_of_json_in_any_script() -> None:
    for card in toy_cards():
        line = card_line(card)
        assert "\n" not in line
        assert json.loads(line)["task_id"] == card.task_id
    assert "年报" in card_line(toy_catalogue().get("business_finance/年报"))


def test_unreadable_cards_are_all_reported_at_once(tmp_path: Path) -> None:
    path = write(
        tmp_path / "cards.jsonl", toy_raw("a/x"), "{oops", toy_raw("a/y", summary=None), toy_raw("a/z", tiers="easy")
    )
    with pytest.raises(SourceError) as caught:
        Catalogue.load(path)
    lines = str(caught.value).splitlines()
    assert lines[0] == "3 card(s) can't be read; mend them, or leave them out with --skip-invalid (of build and lint):"
    assert [line.split(" ")[2:5] for line in lines[1:]] == [
        ["cards.jsonl:2:", "field", "'(line)'"],
        ["cards.jsonl:3:", "field", "'summary'"],
        ["cards.jsonl:4:", "field", "'tiers'"],
    ]


def test_a_long_report_is_cut_and_says_how_much(tmp_path: Path) -> None:
    path = write(tmp_path / "cards.jsonl", *["{oops"] * 30)
    with pytest.raises(SourceError, match=r"30 card\(s\)(.*\n){20}.*\n  \.\.\. and 10 more$"):
        Catalogue.load(path)


def test_skipped_cards_are_kept_as_errors(tmp_path: Path) -> None:
    path = write(tmp_path / "cards.jsonl", toy_raw("a/x"), "{oops", toy_raw("a/y", summary=None))
    catalogue = Catalogue.load(path, skip_invalid=True)
    assert [card.task_id for card in catalogue] == ["a/x"]
    assert [(fault.where, fault.field) for fault in catalogue.skipped] == [
        ("cards.jsonl:2", "(line)"),
        ("cards.jsonl:3", "summary"),
    ]


@pytest.mark.parametrize("skip_invalid", [True, False])
def test_one_id_twice_is_an_error_that_names_both_places(tmp_path: Path, skip_invalid: bool) -> None:
    path = write(tmp_path / "cards.jsonl", toy_raw("a/x"), toy_raw("a/y"), toy_raw("a/x", title="Another"))
    with pytest.raises(
        DuplicateTaskError, match=r"cards\.jsonl:3: field 'task_id' 'a/x' already stands in cards\.jsonl:1"
    ):
        Catalogue.load(path, skip_invalid=skip_invalid)


def test_a_catalogue_without_a_readable_card_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"cards\.jsonl holds no readable task card$"):
        Catalogue.load(write(tmp_path / "cards.jsonl"))
    with pytest.raises(SourceError, match=r"cards\.jsonl holds no readable task card\n1 card\(s\) can't be read"):
        Catalogue.load(write(tmp_path / "cards.jsonl", "{oops"), skip_invalid=True)


def test_notices_and_the_demo_mark_come_through(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Demo(TableSource):
        @property
        def origin(self) -> Origin:
            return Origin("demo cards", demo=True)

    monkeypatch.setattr(resolving, "reachable", lambda *, timeout: False)
    monkeypatch.setattr(resolving, "cached", lambda address: None)
    monkeypatch.setattr(resolving, "demo_source", lambda: Demo(write(tmp_path / "demo.jsonl", toy_raw())))
    catalogue = Catalogue.load()
    assert catalogue.origin.demo
    assert "DEMO cards" in catalogue.notices[0]


def test_cards_are_found_by_id_or_the_nearest_are_named() -> None:
    catalogue = toy_catalogue()
    assert catalogue.get("legal/lease_review").task_id == "legal/lease_review"
    assert [catalogue.row(card.task_id) for card in catalogue] == list(range(len(catalogue)))
    for wrong in ("legal/lease_reviews", "lease_review", "legal/lease_revieV"):
        with pytest.raises(UnknownNameError, match="did you mean 'legal/lease_review'"):
            catalogue.get(wrong)
    for wrong in ("", "zzz", "\0"):
        with pytest.raises(UnknownNameError, match="unknown task"):
            catalogue.get(wrong)


def test_names_that_differ_only_in_spelling_are_settled_over_all_cards() -> None:
    names = ["FooBar", "FooBar", "foobar"]
    cards = [toy_card(f"a/x{number}", software=[name]) for number, name in enumerate(names)]
    catalogue = Catalogue.of(cards, origin=Origin("toys"))
    assert {card.software_names for card in catalogue} == {("FooBar",)}
    assert [card.software[0].raw for card in catalogue] == names
    assert Catalogue.of(catalogue.cards, origin=Origin("toys")).cards == catalogue.cards


@pytest.mark.parametrize("most", [0, 1, 2, 100])
def test_cards_gathered_on_disk_are_those_gathered_in_memory(tmp_path: Path, most: int) -> None:
    names = ["FooBar", "FooBar", "foobar"]
    cards = [*reversed(toy_cards()), *(toy_card(f"a/x{number}", software=[name]) for number, name in enumerate(names))]
    gatherer = CardGatherer(tmp_path, most=most)
    for card in cards:
        gatherer.add(card)
    found, fingerprint = gatherer.finish()
    whole = toy_catalogue(cards)
    assert isinstance(found, StoredCards) == (most < len(cards))
    assert (tuple(found), fingerprint) == (whole.cards, whole.fingerprint)


def test_the_cards_of_an_index_are_those_of_its_catalogue(tmp_path: Path) -> None:
    names = ["FooBar", "FooBar", "foobar"]
    catalogue = toy_catalogue([toy_card(f"a/x{number}", software=[name]) for number, name in enumerate(names)])
    path = tmp_path / "cards.jsonl"
    write_cards(catalogue.cards, path)
    assert StoredCards.open(path) == catalogue.cards
