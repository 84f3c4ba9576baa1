"""Taking cards from an earlier index: those that are unchanged whole, of an edited one what the edit left."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ale_semantic.card_store import StoredCards
from ale_semantic.errors import BundleError

from .bundle import BundlePaths, checked_generation, current_root
from .card_records import KEY, RECORDS, CardRecords, EmbeddedCard
from .encoder import EncoderIdentity, Vectors
from .late import CardTokens, TokenGroup
from .space import VectorSpace
from .verification import Inode


@dataclass(frozen=True, slots=True)
class EarlierIndex:
    """An index that is whole, of which a build takes what it can.

    `hashed` are the digests of those of its files that were read to know that.
    """

    paths: BundlePaths
    manifest: Mapping[str, Any]
    hashed: Mapping[Inode, str]

    @classmethod
    def open(cls, folder: Path) -> EarlierIndex | None:
        """Open the index in a folder; None if there is none that is whole."""
        return cls.of(lambda: checked_generation(folder))

    @classmethod
    def of(cls, checked: Callable[[], tuple[BundlePaths, dict[str, Any], dict[Inode, str]]]) -> EarlierIndex | None:
        """Return the index that `checked_generation` gives; None if it finds none that is whole."""
        try:
            return cls(*checked())
        except BundleError:
            return None

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Return the manifest's entry of each space."""
        found: list[dict[str, Any]] = self.manifest["spaces"]
        return found

    def is_current(self) -> bool:
        """Tell whether no build has put another in its place since."""
        return current_root(self.paths.root.parent) == self.paths.root

    def cards(self, identity: EncoderIdentity, precision: str) -> EarlierCards | None:
        """Return the cards as a model embedded them; None if it didn't, or with numbers of another precision."""
        try:
            entry = next(one for one in self.entries if EncoderIdentity(**one["encoder"]) == identity)
            if entry["precision"] != precision:
                return None
            space = VectorSpace.open(self.paths, entry)
            records = self.paths.space(identity.key) / RECORDS
            return EarlierCards(
                StoredCards.open(self.paths.cards),
                space,
                CardRecords.open(records) if records.is_dir() else None,
            )
        except (BundleError, LookupError, TypeError, ValueError, OSError, StopIteration):
            return None


@dataclass(frozen=True, slots=True)
class EarlierCards:
    """The cards of an index, in the order of their ids, one of its spaces, and their records.

    An index of an earlier version has no records: of it the vectors of texts are known alone.
    """

    stored: StoredCards
    space: VectorSpace
    records: CardRecords | None

    def unchanged(self, keys: Sequence[bytes]) -> dict[bytes, EmbeddedCard]:
        """Return the cards that are there under these keys."""
        if self.records is None:
            return {}
        rows = dict(zip(keys, self.records.rows(keys), strict=True))
        return {key: self._card(self.records, key, row) for key, row in rows.items() if row is not None}

    def vectors(self, task_id: str) -> Mapping[str, Vectors]:
        """Return the vector of each passage's text of the card with an id, of shape (dimension,); none if it is new."""
        row = self._row(task_id)
        if row is None:
            return {}
        passages, vectors = self.space.passages, self.space.backend.vectors
        places = range(int(self.space.starts[row]), int(self.space.starts[row + 1]))
        return {passages.passage(place, self.stored).text: vectors[place] for place in places}

    def words(self, task_id: str) -> Mapping[bytes, CardTokens]:
        """Return each group of words of the card with an id by its key; none if the card is new."""
        row = self._row(task_id)
        if row is None or self.records is None:
            return {}
        every = self._tokens(self.records, row)
        keys = self.records.words[row].reshape(len(TokenGroup), KEY)
        return {keys[group].tobytes(): every.of_group(group) for group in TokenGroup}

    def _row(self, task_id: str) -> int | None:
        row = bisect_left(self.stored, task_id, key=lambda card: card.task_id)
        return row if row < len(self.stored) and self.stored[row].task_id == task_id else None

    def _card(self, records: CardRecords, key: bytes, row: int) -> EmbeddedCard:
        own = slice(int(self.space.starts[row]), int(self.space.starts[row + 1]))
        return EmbeddedCard(
            key,
            self.space.passages.columns[own, 1:],
            self.space.backend.vectors[own],
            self._tokens(records, row),
            records.ledger[records.span(row)[1]],
            records.words[row].reshape(len(TokenGroup), KEY),
        )

    def _tokens(self, records: CardRecords, row: int) -> CardTokens:
        late = self.space.late
        own = slice(int(late.starts[row]), int(late.starts[row + 1]))
        groups = np.where(late.discount[own] > 0, int(TokenGroup.STEPS), int(TokenGroup.HEAD))
        return CardTokens(late.tokens[own], groups, records.pooled[own], records.seen[records.span(row)[0]])
