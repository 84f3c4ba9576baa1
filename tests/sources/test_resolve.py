"""From the word that a user gives to a source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from toy import toy_raw

from ale_semantic.errors import SourceError
from ale_semantic.sources import Source
from ale_semantic.sources import resolve as module
from ale_semantic.sources.checkout import CheckoutSource
from ale_semantic.sources.hub import HubAddress
from ale_semantic.sources.resolve import DEMO_NOTICE, resolve
from ale_semantic.sources.tables import TableSource

HUB = TableSource(Path("hub.parquet"), name="own/set", revision="abc")
DEMO = TableSource(Path("demo.jsonl"), name="demo cards")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "cards.jsonl"
    path.write_text(json.dumps(toy_raw()))
    return path


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "ale" / "tasks" / "legal" / "lease"
    folder.mkdir(parents=True)
    (folder / "task_card.json").write_text(json.dumps(toy_raw()))
    return tmp_path / "ale"


class World:
    """What `auto` meets: is the Hub reached, does it answer, does its cache hold the table."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.reached = True
        self.fault: str | None = None
        self.kept: TableSource | None = None
        self.asked: list[HubAddress] = []
        monkeypatch.setattr(module, "reachable", lambda *, timeout: self.reached)
        monkeypatch.setattr(module, "fetch", self.fetch)
        monkeypatch.setattr(module, "cached", lambda address: self.kept)
        monkeypatch.setattr(module, "demo_source", lambda: DEMO)

    def fetch(self, address: HubAddress, *, timeout: float) -> TableSource:
        self.asked.append(address)
        if self.fault:
            raise SourceError(self.fault)
        return HUB


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def test_auto_takes_the_cards_that_the_environment_names(
    world: World, table: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALE_CARDS", str(table))
    assert resolve("auto") == (TableSource(table), ())
    monkeypatch.setenv("ALE_CARDS", str(checkout))
    assert resolve("auto") == (CheckoutSource(checkout), ())
    monkeypatch.setenv("ALE_CARDS", "demo")
    assert resolve("auto") == (DEMO, ())
    assert world.asked == []


@pytest.mark.parametrize("named", ["", " ", "auto"])
def test_auto_else_asks_the_hub(world: World, monkeypatch: pytest.MonkeyPatch, named: str) -> None:
    monkeypatch.setenv("ALE_CARDS", named)
    assert resolve(" auto ", revision="v1") == (HUB, ())
    assert world.asked == [HubAddress(revision="v1")]


def test_auto_else_takes_the_hubs_cache_and_says_so(world: World) -> None:
    world.reached, world.kept = False, HUB
    source, (notice,) = resolve("auto")
    assert source == HUB
    assert "could not be reached (no connection); its cached table (abc) is used" in notice


def test_auto_else_takes_the_demo_cards_with_a_notice(world: World) -> None:
    world.reached = False
    source, (notice,) = resolve("auto")
    assert source == DEMO
    assert notice.startswith(DEMO_NOTICE)
    assert "DEMO cards" in notice
    assert world.asked == []


def test_auto_takes_the_demo_cards_and_the_reason_where_the_hub_answers_wrongly(world: World) -> None:
    world.fault = "the Hub has no such data set"
    source, (notice,) = resolve("auto")
    assert source == DEMO
    assert notice == f"{DEMO_NOTICE} (the Hub has no such data set)"


@pytest.mark.parametrize("reached", [True, False])
def test_who_asks_for_a_revision_gets_no_other_cards(world: World, reached: bool) -> None:
    world.reached, world.fault = reached, "no such revision"
    with pytest.raises(SourceError, match="revision 'v9' can't be had from the Hub"):
        resolve("auto", revision="v9")


def test_the_hub_by_name_is_asked_without_a_probe_and_never_replaced(world: World) -> None:
    world.reached = False
    assert resolve("hub:own/set@abc") == (HUB, ())
    assert world.asked == [HubAddress("own/set", "abc")]
    world.fault = "no such data set"
    with pytest.raises(SourceError, match="no such data set"):
        resolve("hub")


def test_folders_and_files(table: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert resolve(str(table)) == resolve(table) == (TableSource(table), ())
    assert resolve(checkout, include_smoke_tests=True)[0] == CheckoutSource(checkout, include_smoke_tests=True)
    monkeypatch.setenv("HOME", str(table.parent))
    assert resolve("~/cards.jsonl")[0] == TableSource(table)


def test_a_path_is_never_one_of_the_words(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout.parent)
    checkout.rename(checkout.parent / "demo")
    source: Source = resolve(Path("demo"))[0]
    assert source.origin.name == "demo"
    assert not source.origin.demo


@pytest.mark.parametrize("where", ["gone", "gone/cards.csv", "~nobody-of-this-name/x", "x" * 5000, "a\0b"])
def test_where_nothing_stands_the_choices_are_named(where: str) -> None:
    with pytest.raises(SourceError, match=r"(?s)no cards at .*: give a folder, a \.jsonl, .* 'hub' or 'demo'"):
        resolve(where)


def test_only_the_hub_has_revisions(world: World, table: Path) -> None:
    for where in (str(table), "demo"):
        with pytest.raises(SourceError, match="has no revision 'v1': only the Hub's data set has revisions"):
            resolve(where, revision="v1")
