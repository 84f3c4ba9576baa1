"""Finding tasks by name: their ids, the last part of their ids, and their titles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ale_semantic.analysis import fold_text
from ale_semantic.arrays import mapped
from ale_semantic.types import TaskCard

BY_ID = "its id is the query"
BY_TITLE = "its title is the query"
_KEYS, _ROWS = "name_keys.npy", "name_rows.npy"


@dataclass(frozen=True, slots=True)
class TaskNames:
    """The cards by their names; a name that is found is compared with the card's own.

    `keys` are hashes of the folded names, ascending, shape (names,); `rows` the card of each.
    """

    cards: Sequence[TaskCard]
    keys: NDArray[np.uint64]
    rows: NDArray[np.int32]

    @classmethod
    def of(cls, cards: Sequence[TaskCard]) -> TaskNames:
        """Collect the names of all cards."""
        collector = NameCollector()
        for card in cards:
            collector.add(card)
        return cls(cards, *collector.arrays())

    @classmethod
    def open(cls, folder: Path, cards: Sequence[TaskCard]) -> TaskNames:
        """Read the names that `NameCollector.write` wrote.

        Raises:
            OSError, ValueError: if they can't be read.
        """
        return cls(cards, mapped(folder / _KEYS), mapped(folder / _ROWS))

    def named(self, query: str) -> dict[int, str]:
        """Return the rows of the cards whose id or title is the query, and which of the two it is."""
        wanted = fold_text(" ".join(query.split()))
        key = _hash(wanted)
        first = int(self.keys.searchsorted(key))
        if first == len(self.keys) or self.keys[first] != key:  # as good as always: the rest takes twice as long
            return {}
        rows = sorted({int(row) for row in self.rows[first : int(self.keys.searchsorted(key, "right"))]})
        by_title = {row: BY_TITLE for row in rows if wanted == _title(self.cards[row])}
        return by_title | {row: BY_ID for row in rows if wanted in _ids(self.cards[row])}


class NameCollector:
    """Takes cards one by one and keeps the hashes of their names."""

    def __init__(self) -> None:
        """Begin without cards."""
        self._pairs: list[tuple[int, int]] = []
        self._cards = 0

    def add(self, card: TaskCard) -> None:
        """Take the next card."""
        self._pairs += [(int(_hash(name)), self._cards) for name in {*_ids(card), _title(card)}]
        self._cards += 1

    def arrays(self) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
        """Return the hashes, ascending, and the card of each."""
        keys = np.array([key for key, _ in self._pairs], dtype=np.uint64)
        rows = np.array([row for _, row in self._pairs], dtype=np.int32)
        order = np.lexsort((rows, keys))
        return keys[order], rows[order]

    def write(self, folder: Path) -> None:
        """Write the names into a folder."""
        keys, rows = self.arrays()
        np.save(folder / _KEYS, keys, allow_pickle=False)
        np.save(folder / _ROWS, rows, allow_pickle=False)


def _hash(name: str) -> np.uint64:
    return np.uint64(int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little"))


def _ids(card: TaskCard) -> set[str]:
    """Return a card's folded id and the last part of it."""
    folded = fold_text(card.task_id)
    return {folded, folded.rsplit("/", 1)[-1]}


def _title(card: TaskCard) -> str:
    return fold_text(" ".join(card.title.split()))
