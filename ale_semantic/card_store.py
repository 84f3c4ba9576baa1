"""Cards on disk, one JSON object a line: each is read when it is looked at, and only then.

A line holds the card's public columns and, beside them, what the vocabulary made of them, so that reading takes no
table of names and no check: the files of an index are digested, and the cards were checked when it was built.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ale_semantic.arrays import mapped
from ale_semantic.errors import BundleError
from ale_semantic.kept import Kept
from ale_semantic.types import Finding, InputFile, OperatingSystem, SoftwareUse, TaskCard, Tier

_STARTS = ".starts.npy"  # after the name of the cards' file: where each line begins, and the end
_NAMES = "canonical"  # the key of what isn't a public column
_KEPT = 4096  # cards that stay parsed; some 40 MB of long ones


class StoredCards(Sequence[TaskCard]):
    """The cards of a file in their order. Behaves as a tuple of them does; safe to share between threads."""

    def __init__(self, path: Path, starts: NDArray[np.int64], lines: NDArray[np.uint8]) -> None:
        """Keep the file's content, mapped, and where each line begins."""
        self._path = path
        self._starts = starts
        self._lines = lines
        self._kept: Kept[int, TaskCard] = Kept(_KEPT)

    @classmethod
    def open(cls, path: Path) -> StoredCards:
        """Open a file that `CardWriter` wrote.

        Raises:
            BundleError: if it can't be read, or its lines aren't where they should be.
        """
        try:
            starts = mapped(path.with_name(path.name + _STARTS))
            lines = np.asarray(np.memmap(path, dtype=np.uint8, mode="r")) if path.stat().st_size else _NOTHING
        except (OSError, ValueError) as fault:
            raise BundleError(f"{path}: the cards can't be read: {fault}") from None
        if starts.ndim != 1 or not len(starts) or int(starts[-1]) != len(lines):
            raise BundleError(f"{path}: {len(lines)} bytes, but its lines end elsewhere")
        return cls(path, starts, lines)

    def __len__(self) -> int:
        """Return the number of cards."""
        return len(self._starts) - 1

    @overload
    def __getitem__(self, place: int) -> TaskCard: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[TaskCard, ...]: ...
    def __getitem__(self, place: int | slice) -> TaskCard | tuple[TaskCard, ...]:
        """Return a card, or those of a slice.

        Raises:
            IndexError: if there is no such card.
            BundleError: if its line is no card.
        """
        if isinstance(place, slice):
            return tuple(self[row] for row in range(*place.indices(len(self))))
        row = int(place)
        row += len(self) if row < 0 else 0
        if not 0 <= row < len(self):
            raise IndexError(f"there is no card {place} among {len(self)}")
        card = self._kept.get(row)
        if card is None:
            card = self._parse(row)
            self._kept.keep(row, card)
        return card

    def __iter__(self) -> Iterator[TaskCard]:
        """Iterate over the cards."""
        return (self[row] for row in range(len(self)))

    def __eq__(self, other: object) -> bool:
        """Compare with another sequence of cards."""
        if not isinstance(other, tuple | StoredCards):
            return NotImplemented
        return len(self) == len(other) and all(map(TaskCard.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]  # to hash it would be to read all cards

    def _parse(self, row: int) -> TaskCard:
        line = self._lines[int(self._starts[row]) : int(self._starts[row + 1])].tobytes()
        try:
            return card_of_line(line)
        except (ValueError, KeyError, TypeError) as fault:
            raise BundleError(f"{self._path}:{row + 1}: no card: {fault}") from None


_NOTHING = np.zeros(0, dtype=np.uint8)


class CardWriter:
    """Writes cards one by one into a file, and beside it where each of them begins."""

    def __init__(self, path: Path) -> None:
        """Open the file."""
        self._path = path
        self._file = path.open("wb")
        self._starts = array("q", [0])

    def add(self, card: TaskCard) -> None:
        """Write the next card."""
        self._starts.append(self._starts[-1] + self._file.write(stored_line(card)))

    def close(self) -> None:
        """Write what is left to write."""
        self._file.close()
        starts = np.array(self._starts, dtype=np.int64)
        np.save(self._path.with_name(self._path.name + _STARTS), starts, allow_pickle=False)


def write_cards(cards: Iterable[TaskCard], path: Path) -> None:
    """Write cards into a file in their order."""
    writer = CardWriter(path)
    for card in cards:
        writer.add(card)
    writer.close()


def stored_line(card: TaskCard) -> bytes:
    """Return the line of a card."""
    from ale_semantic.cards import card_to_row

    names = {
        "software": [[use.name, use.version, use.raw] for use in card.software],
        "formats": [list(file.formats) for file in card.inputs],
    }
    return json.dumps({**card_to_row(card), _NAMES: names}, ensure_ascii=False).encode() + b"\n"


def card_of_line(line: bytes) -> TaskCard:
    """Return the card of a line.

    Raises:
        ValueError, KeyError, TypeError: if it is none.
    """
    row: dict[str, Any] = json.loads(line)
    names = row[_NAMES]
    return TaskCard(
        task_id=row["task_id"],
        title=row["title"],
        summary=row["summary"],
        prompt=row["task_prompt"],
        domain=row["category"],
        subdomain=row["subdomain"],
        taxonomy_domain=row["taxonomy"].get("domain_code"),
        must_do=tuple(row["agent_must_do"]),
        software=tuple(SoftwareUse(*use) for use in names["software"]),
        inputs=tuple(
            InputFile(file["name"], file["path"], file["description"], file["format"], tuple(formats))
            for file, formats in zip(row["input_files"], names["formats"], strict=True)
        ),
        tiers=tuple(map(Tier, row["tiers"])),
        os=OperatingSystem(row["os"]) if row["os"] is not None else None,
        gpu=row["gpu"],
        licensed=row["licensed"],
        timeout=row["timeout"],
        variants=tuple(row["variants"]),
        published=row["published"],
        source_path=row["source_repo_path"],
        findings=tuple(Finding(finding["code"], finding["message"]) for finding in row["findings"]),
    )
