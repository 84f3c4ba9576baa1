"""Gathering the cards of a source: in memory while they are few, on disk when they are many."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ale_semantic.card_store import CardWriter, StoredCards
from ale_semantic.cards import card_to_row
from ale_semantic.types import TaskCard
from ale_semantic.vocabulary import settle_spellings

IN_MEMORY = 10_000  # cards; some 100 MB of long ones


@dataclass(frozen=True, slots=True)
class Spellings:
    """One spelling for all software names and formats of a catalogue that differ only in spelling."""

    software: dict[str, str]
    formats: dict[str, str]

    def settle(self, card: TaskCard) -> TaskCard:
        """Return the card with the catalogue's spellings."""
        return replace(
            card,
            software=tuple(replace(use, name=self.software[use.name]) for use in card.software),
            inputs=tuple(
                replace(file, formats=tuple(self.formats[name] for name in file.formats)) for file in card.inputs
            ),
        )


class Fingerprint:
    """The SHA-256 of all public fields of cards, in their order."""

    def __init__(self) -> None:
        """Begin without cards."""
        self._digest = hashlib.sha256()

    def add(self, card: TaskCard) -> None:
        """Take the next card."""
        self._digest.update(card_line(card).encode() + b"\n")

    def text(self) -> str:
        """Return the digest in hex."""
        return self._digest.hexdigest()


class CardGatherer:
    """Takes cards in any order and gives them back in that of their ids, with settled spellings.

    Of cards on disk only the ids and the names of software and formats stay in memory.
    """

    def __init__(self, spool: Path | None = None, *, most: int = IN_MEMORY) -> None:
        """Begin without cards.

        Args:
            spool: a folder for the cards when there are more than `most`; without one all stay in memory. It must
                be kept as long as the cards are used.
            most: how many stay in memory.
        """
        self._spool, self._most = spool, most
        self._cards: list[TaskCard] = []
        self._writer: CardWriter | None = None
        self._ids: list[str] = []
        self._software: Counter[str] = Counter()
        self._formats: Counter[str] = Counter()

    def __len__(self) -> int:
        """Return how many cards there are."""
        return len(self._ids)

    def add(self, card: TaskCard) -> None:
        """Take a card."""
        self._ids.append(card.task_id)
        self._software.update(use.name for use in card.software)
        self._formats.update(name for file in card.inputs for name in file.formats)
        if self._writer is not None:
            self._writer.add(card)
            return
        self._cards.append(card)
        if self._spool is not None and len(self._cards) > self._most:
            self._writer = CardWriter(self._spool / "gathered.jsonl")
            for kept in self._cards:
                self._writer.add(kept)
            self._cards.clear()

    def finish(self) -> tuple[Sequence[TaskCard], str]:
        """Return the cards in order, and their fingerprint."""
        spellings = Spellings(settle_spellings(self._software.elements()), settle_spellings(self._formats.elements()))
        order = sorted(range(len(self._ids)), key=self._ids.__getitem__)
        given: Sequence[TaskCard] = self._cards
        fingerprint = Fingerprint()
        if self._writer is None or self._spool is None:
            ordered = tuple(spellings.settle(given[row]) for row in order)
            for card in ordered:
                fingerprint.add(card)
            return ordered, fingerprint.text()
        self._writer.close()
        given = StoredCards.open(self._spool / "gathered.jsonl")
        path = self._spool / "ordered.jsonl"
        writer = CardWriter(path)
        for row in order:
            card = spellings.settle(given[row])
            writer.add(card)
            fingerprint.add(card)
        writer.close()
        return StoredCards.open(path), fingerprint.text()


def gathered(cards: Iterable[TaskCard]) -> tuple[Sequence[TaskCard], str]:
    """Return cards in memory in the order of their ids, with settled spellings, and their fingerprint."""
    gatherer = CardGatherer()
    for card in cards:
        gatherer.add(card)
    return gatherer.finish()


def card_line(card: TaskCard) -> str:
    """Return a card as one line of JSON with sorted keys."""
    return json.dumps(card_to_row(card), ensure_ascii=False, sort_keys=True)
