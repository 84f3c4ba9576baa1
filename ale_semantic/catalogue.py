"""The catalogue: all cards of one source, validated, ordered by id, with a fingerprint."""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ale_semantic.cards import card_from_raw, card_to_row
from ale_semantic.errors import CardError, DuplicateTaskError, SourceError, UnknownNameError
from ale_semantic.fields import RawCard
from ale_semantic.settings import DEFAULT_CARDS, DEFAULT_HUB_TIMEOUT
from ale_semantic.sources import Origin
from ale_semantic.sources.resolve import resolve
from ale_semantic.types import TaskCard
from ale_semantic.vocabulary import settle_spellings

_SHOWN_ERRORS = 20


@dataclass(frozen=True, slots=True)
class Catalogue:
    """Cards in the order of their ids; `skipped` are those that could not be read and were left out."""

    cards: Sequence[TaskCard]
    origin: Origin
    fingerprint: str
    skipped: tuple[CardError, ...] = ()
    notices: tuple[str, ...] = ()

    @classmethod
    def load(
        cls,
        where: str | Path = DEFAULT_CARDS,
        *,
        skip_invalid: bool = False,
        include_smoke_tests: bool = False,
        revision: str | None = None,
        hub_timeout: float = DEFAULT_HUB_TIMEOUT,
    ) -> Catalogue:
        """Load the catalogue that `where` names.

        Args:
            where: `auto`, `demo`, `hub[:owner/name[@revision]]`, a checkout's folder, or a JSONL, JSON,
                Parquet or CSV file in the public data set's columns.
            skip_invalid: leave out cards that can't be read instead of refusing.
            include_smoke_tests: also take the harness's smoke tests (domain `demo`) of a checkout.
            revision: branch, tag or commit of the Hub's data set.
            hub_timeout: seconds that `auto` waits for the Hub.

        Raises:
            SourceError: if there is no catalogue, it is empty, or cards in it can't be read.
            DuplicateTaskError: if two cards have one id.
        """
        source, notices = resolve(
            where, include_smoke_tests=include_smoke_tests, revision=revision, hub_timeout=hub_timeout
        )
        cards, faults = _read(source.raw_cards())
        if faults and not skip_invalid:
            raise SourceError(_report(faults))
        if not cards:
            found = f"\n{_report(faults)}" if faults else ""
            raise SourceError(f"{source.origin.name} holds no readable task card{found}")
        return cls.of(cards, origin=source.origin, skipped=tuple(faults), notices=notices)

    @classmethod
    def of(
        cls,
        cards: Sequence[TaskCard],
        *,
        origin: Origin,
        skipped: tuple[CardError, ...] = (),
        notices: tuple[str, ...] = (),
    ) -> Catalogue:
        """Make a catalogue of cards in memory."""
        ordered = tuple(sorted(settled(cards), key=lambda card: card.task_id))
        return cls(ordered, origin, fingerprint_of(ordered), skipped, notices)

    def __len__(self) -> int:
        """Return the number of cards."""
        return len(self.cards)

    def __iter__(self) -> Iterator[TaskCard]:
        """Iterate over the cards in the order of their ids."""
        return iter(self.cards)

    def get(self, task_id: str) -> TaskCard:
        """Return the card of that id.

        Raises:
            UnknownNameError: with the nearest ids.
        """
        return self.cards[self.row(task_id)]

    def row(self, task_id: str) -> int:
        """Return the position of the card of that id.

        Raises:
            UnknownNameError: with the nearest ids.
        """
        row = bisect_left(self.cards, task_id, key=lambda card: card.task_id)
        if row < len(self.cards) and self.cards[row].task_id == task_id:
            return row
        raise UnknownNameError("task", task_id, self._nearest(task_id))

    def _nearest(self, task_id: str) -> list[str]:
        from rapidfuzz import fuzz, process

        ids = [card.task_id for card in self.cards]
        found = process.extract(task_id, ids, scorer=fuzz.WRatio, limit=3, score_cutoff=60)
        return [name for name, _, _ in found]


def fingerprint_of(cards: Sequence[TaskCard]) -> str:
    """Return the SHA-256 of all public fields of the cards, in their order."""
    digest = hashlib.sha256()
    for card in cards:
        digest.update(card_line(card).encode())
        digest.update(b"\n")
    return digest.hexdigest()


def card_line(card: TaskCard) -> str:
    """Return a card as one line of JSON with sorted keys."""
    return json.dumps(card_to_row(card), ensure_ascii=False, sort_keys=True)


def settled(cards: Sequence[TaskCard]) -> list[TaskCard]:
    """Return the cards with one spelling for all software names and formats that differ only in spelling."""
    software = settle_spellings(use.name for card in cards for use in card.software)
    formats = settle_spellings(name for card in cards for file in card.inputs for name in file.formats)
    return [
        replace(
            card,
            software=tuple(replace(use, name=software[use.name]) for use in card.software),
            inputs=tuple(replace(file, formats=tuple(formats[name] for name in file.formats)) for file in card.inputs),
        )
        for card in cards
    ]


def _read(raws: Iterator[RawCard | CardError]) -> tuple[list[TaskCard], list[CardError]]:
    cards: list[TaskCard] = []
    faults: list[CardError] = []
    seen: dict[str, str] = {}
    for raw in raws:
        try:
            if isinstance(raw, CardError):
                raise raw
            card = card_from_raw(raw)
        except CardError as fault:
            faults.append(fault)
            continue
        if card.task_id in seen:
            raise DuplicateTaskError(raw.where, "task_id", f"{card.task_id!r} already stands in {seen[card.task_id]}")
        seen[card.task_id] = raw.where
        cards.append(card)
    return cards, faults


def _report(faults: Sequence[CardError]) -> str:
    lines = [f"{len(faults)} card(s) can't be read; mend them, or leave them out with --skip-invalid:"]
    lines += [f"  {fault}" for fault in faults[:_SHOWN_ERRORS]]
    if len(faults) > _SHOWN_ERRORS:
        lines.append(f"  ... and {len(faults) - _SHOWN_ERRORS} more")
    return "\n".join(lines)
