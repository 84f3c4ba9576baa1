"""What an index keeps of each card for the builds after it, beside what searches read: no search opens these files.

A card's record is found by a key over its texts, the model and the layout, so that one which is found is just what a
first build would make of the card. Passages, vectors and words are those of the index itself; kept here are the keys,
which words its passages have, the token ledger, and the words' full vectors: late interaction holds projections.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ale_semantic.arrays import mapped

from .arrayfile import GrowingArray
from .late import CardTokens, TokenGroup
from .vectors import Vectors

RECORDS = "cards"
POOLED = "pooled.npy"
KEY = 32  # bytes
_ARRAYS = ("keys", "words", "seen", "ledger", "ends", "pooled")
_NO_WORDS = np.zeros((len(TokenGroup), KEY), dtype=np.uint8)


@dataclass(frozen=True, slots=True)
class EmbeddedCard:
    """What a space holds of one card, whatever its row and id.

    Attributes:
        key: what the card is kept by, `KEY` bytes.
        passages: field, kind, start and end of each passage, int32 of shape (passages, 4).
        vectors: their unit rows, shape (passages, dimension).
        tokens: the card's words for late interaction; their vectors in half precision.
        ledger: field, tokens seen and tokens dropped, int32 of shape (fields, 3).
        words: the key of each group of its words, uint8 of shape (groups, `KEY`).
    """

    key: bytes
    passages: NDArray[np.int32]
    vectors: Vectors
    tokens: CardTokens
    ledger: NDArray[np.int32]
    words: NDArray[np.uint8]

    @classmethod
    def without_words(cls, key: bytes, passages: NDArray[np.int32], vectors: Vectors) -> Self:
        """Return a card of a space that takes no part in late interaction and keeps no ledger."""
        nothing = CardTokens.pool([], [], vectors.shape[1]).halved()
        return cls(key, passages, vectors, nothing, np.zeros((0, 3), dtype=np.int32), _NO_WORDS)


class RecordWriter:
    """Writes the records of cards that come block by block; the words' vectors are `LateWriter`'s to write."""

    def __init__(self, folder: Path) -> None:
        """Begin in a folder."""
        self._folder = folder
        self._keys = GrowingArray(folder / "keys.npy", np.uint8, KEY)
        self._words = GrowingArray(folder / "words.npy", np.uint8, len(TokenGroup) * KEY)
        self._seen = GrowingArray(folder / "seen.npy", np.int32)
        self._ledger = GrowingArray(folder / "ledger.npy", np.int32, 3)
        self._ends = GrowingArray(folder / "ends.npy", np.int64, 2)

    def add(self, cards: Sequence[EmbeddedCard]) -> None:
        """Add the next cards."""
        if not cards:
            return
        before = np.array([self._seen.rows, self._ledger.rows], dtype=np.int64)
        counts = np.array([(len(card.tokens.seen), len(card.ledger)) for card in cards], dtype=np.int64)
        self._keys.append(np.frombuffer(b"".join(card.key for card in cards), np.uint8).reshape(len(cards), KEY))
        self._words.append(np.stack([card.words for card in cards]).reshape(len(cards), -1))
        self._seen.append(np.concatenate([card.tokens.seen for card in cards]))
        self._ledger.append(np.concatenate([card.ledger for card in cards]))
        self._ends.append(before + np.cumsum(counts, axis=0))

    def close(self) -> None:
        """Close the files."""
        for file in (self._keys, self._words, self._seen, self._ledger, self._ends):
            file.close()


@dataclass(frozen=True, slots=True)
class CardRecords:
    """The records of the cards of an index, in their order, as `RecordWriter` wrote them.

    Attributes:
        keys, words: the key of each card and those of its words, shapes (cards, KEY) and (cards, groups * KEY).
        seen, ledger: of all cards, one after the other.
        ends: where each card's end in these two, shape (cards, 2).
        pooled: the words' full vectors in half precision; row i is word i of late interaction.
        heads, order: the first 8 bytes of each key, ascending, and whose they are, both of shape (cards,).
    """

    keys: NDArray[np.uint8]
    words: NDArray[np.uint8]
    seen: NDArray[np.int32]
    ledger: NDArray[np.int32]
    ends: NDArray[np.int64]
    pooled: NDArray[np.float16]
    heads: NDArray[np.uint64]
    order: NDArray[np.int64]

    @classmethod
    def open(cls, folder: Path) -> CardRecords:
        """Open the records in a folder.

        Raises:
            OSError: if there are none: the index is of an earlier version.
        """
        arrays: dict[str, Any] = {name: mapped(folder / f"{name}.npy") for name in _ARRAYS}
        heads = _heads(arrays["keys"])
        order = np.argsort(heads, kind="stable")
        return cls(**arrays, heads=heads[order], order=order)

    def rows(self, keys: Sequence[bytes]) -> list[int | None]:
        """Return the row of the card of each key; None where there is none."""
        if not keys or not len(self.order):
            return [None] * len(keys)
        wanted = np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), KEY)
        places = np.minimum(np.searchsorted(self.heads, _heads(wanted)), len(self.order) - 1)
        rows = self.order[places]
        same = (self.keys[rows] == wanted).all(axis=1)
        return [row if own else None for row, own in zip(rows.tolist(), same.tolist(), strict=True)]

    def span(self, row: int) -> tuple[slice, slice]:
        """Return where a card's part of `seen` and of `ledger` stands."""
        seen, ledger = self.ends[row].tolist()
        first_seen, first_ledger = self.ends[row - 1].tolist() if row else (0, 0)
        return slice(first_seen, seen), slice(first_ledger, ledger)


def _heads(keys: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Return the first 8 bytes of each key as a number."""
    return np.ascontiguousarray(keys[:, :8]).view(np.uint64)[:, 0]
