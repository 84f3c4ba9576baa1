"""The vocabulary on the real cards: one value for one thing, and the counts that follow."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ale_semantic.types import OperatingSystem
from ale_semantic.vocabulary import (
    canonical_formats,
    canonical_software,
    is_licensed,
    needs_gpu,
    operating_system,
    unmapped_formats,
    unmapped_software,
)


@pytest.fixture(scope="module")
def cards(real_cards: Path) -> dict[str, Any]:
    """Return the raw cards by task id, without the harness's smoke tests."""
    paths = sorted(real_cards.glob("tasks/*/*/task_card.json"))
    texts = {f"{path.parts[-3]}/{path.parts[-2]}": path.read_text(encoding="utf-8") for path in paths}
    return {task: json.loads(text) for task, text in texts.items() if not task.startswith("demo/")}


def _software(card: Any) -> list[str]:
    return card.get("software") or []


def _formats(card: Any) -> list[str]:
    return [file["format"] for file in card.get("inputFiles") or [] if isinstance(file, dict)]


def _names(card: Any) -> set[str]:
    return {found.name for raw in _software(card) for found in canonical_software(raw)}


def _tier(folder: Path, name: str) -> set[str]:
    text = (folder / "selected_tasks" / "full" / f"{name}.txt").read_text(encoding="utf-8")
    return {line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")}


def _system(card: Any) -> OperatingSystem | None:
    return operating_system(card["vm"]["snapshot"], card["vm"].get("os"))


def _holders(cards: dict[str, Any], name: str) -> list[str]:
    return [task for task, card in cards.items() if name in _names(card)]


def test_every_spelling_is_in_the_tables(cards: dict[str, Any]) -> None:
    assert len(cards) == 157
    assert unmapped_software(raw for card in cards.values() for raw in _software(card)) == []
    assert unmapped_formats(raw for card in cards.values() for raw in _formats(card)) == []


def test_no_spelling_names_nothing(cards: dict[str, Any]) -> None:
    assert all(canonical_software(raw) for card in cards.values() for raw in _software(card))
    assert all(canonical_formats(raw) for card in cards.values() for raw in _formats(card))


def _near_keys(names: set[str]) -> Iterator[list[str]]:
    """Yield the names that differ only by case, backticks, spaces, hyphens, quotes or a version, found plainly."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name in names:
        bare = re.sub(r"\s+v?\d+(\.\d+)*\+?$", "", name.replace("`", "").casefold())
        groups[re.sub(r"[\s\-_.'\"]", "", bare)].append(name)
    yield from (group for group in groups.values() if len(group) > 1)


def test_no_two_values_differ_only_by_case_backticks_or_version(cards: dict[str, Any]) -> None:
    assert list(_near_keys({name for card in cards.values() for name in _names(card)})) == []
    formats = {found.name for card in cards.values() for raw in _formats(card) for found in canonical_formats(raw)}
    assert list(_near_keys(formats)) == []


def test_numpy_is_one_value_on_36_cards(cards: dict[str, Any]) -> None:
    assert len(_holders(cards, "NumPy")) == 36


def test_six_hard_linux_cards_use_numpy(cards: dict[str, Any], real_cards: Path) -> None:
    hard = _tier(real_cards, "last-exam")
    passing = [t for t in _holders(cards, "NumPy") if t in hard and _system(cards[t]) is OperatingSystem.LINUX]
    assert len(passing) == 6


def test_the_spellings_of_python_are_one_value_with_versions_apart(cards: dict[str, Any]) -> None:
    raws = {raw for card in cards.values() for raw in _software(card)}
    found = [name for raw in raws for name in canonical_software(raw) if name.name == "Python"]
    assert {name.version for name in found} == {None, "3", "3.10", "3.11", "3.12", "3.14.3"}
    plain = {task for task, card in cards.items() if any("python" in raw.casefold() for raw in _software(card))}
    assert set(_holders(cards, "Python")) == {
        task for task in plain if any(re.match(r"(?i)(software/)?python\b", raw) for raw in _software(cards[task]))
    }


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("Google Chrome", 5),
        ("Docker", 4),
        ("Docker Compose", 2),
        ("leaptorch", 2),
        ("SciPy", 17),
        ("Word processor (any DOCX-capable editor)", 1),
    ],
)
def test_a_value_stands_on_the_right_number_of_cards(cards: dict[str, Any], name: str, count: int) -> None:
    assert len(_holders(cards, name)) == count


def test_machines_are_derived(cards: dict[str, Any]) -> None:
    systems = [_system(card) for card in cards.values()]
    assert (systems.count(OperatingSystem.LINUX), systems.count(OperatingSystem.WINDOWS)) == (105, 52)
    assert sum(needs_gpu(card["vm"]["snapshot"], None) is True for card in cards.values()) == 20
    assert sum(is_licensed(card["vm"]["snapshot"]) is True for card in cards.values()) == 20
