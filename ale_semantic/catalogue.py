"""The catalogue: all cards of one source, validated, ordered by id, with a fingerprint."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ale_semantic.errors import CardError, DuplicateTaskError, SourceError, UnknownNameError
from ale_semantic.fields import RawCard
from ale_semantic.settings import DEFAULT_CARDS, DEFAULT_HUB_TIMEOUT
from ale_semantic.sources import Origin
from ale_semantic.types import TaskCard

if TYPE_CHECKING:
    from ale_semantic.card_gatherer import CardGatherer

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
        spool: Path | None = None,
    ) -> Catalogue:
        """Load the catalogue that `where` names.

        Args:
            where: `auto`, `demo`, `hub[:owner/name[@revision]]`, a checkout's folder, or a JSONL, JSON,
                Parquet or CSV file in the public data set's columns.
            skip_invalid: leave out cards that can't be read instead of refusing.
            include_smoke_tests: also take the harness's smoke tests (domain `demo`) of a checkout.
            revision: branch, tag or commit of the Hub's data set.
            hub_timeout: seconds that `auto` waits for the Hub.
            spool: a folder into which cards go that are too many for memory, to be kept as long as the catalogue
                is used; without one, all cards stay in memory.

        Raises:
            SourceError: if there is no catalogue, it is empty, or cards in it can't be read.
            DuplicateTaskError: if two cards have one id.
        """
        # Reading cards takes tables of names and readers of many forms, which an index that is there doesn't need.
        from ale_semantic.card_gatherer import CardGatherer
        from ale_semantic.sources.resolve import resolve

        source, notices = resolve(
            where, include_smoke_tests=include_smoke_tests, revision=revision, hub_timeout=hub_timeout
        )
        gatherer = CardGatherer(spool)
        faults = _read(source.raw_cards(), gatherer)
        if faults and not skip_invalid:
            raise SourceError(_report(faults))
        if not len(gatherer):
            found = f"\n{_report(faults)}" if faults else ""
            raise SourceError(f"{source.origin.name} holds no readable task card{found}")
        cards, fingerprint = gatherer.finish()
        return cls(cards, source.origin, fingerprint, tuple(faults), notices)

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
        from ale_semantic.card_gatherer import gathered

        ordered, fingerprint = gathered(cards)
        return cls(ordered, origin, fingerprint, skipped, notices)

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


def fingerprint_of(cards: Iterable[TaskCard]) -> str:
    """Return the SHA-256 of all public fields of the cards, in their order."""
    from ale_semantic.card_gatherer import Fingerprint

    fingerprint = Fingerprint()
    for card in cards:
        fingerprint.add(card)
    return fingerprint.text()


def _read(raws: Iterator[RawCard | CardError], gatherer: CardGatherer) -> list[CardError]:
    """Give the cards to the gatherer, and return those that can't be read."""
    from ale_semantic.cards import card_from_raw

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
        gatherer.add(card)
    return faults


def _report(faults: Sequence[CardError]) -> str:
    lines = [
        f"{len(faults)} card(s) can't be read; mend them, or leave them out with --skip-invalid (of build and lint):"
    ]
    lines += [f"  {fault}" for fault in faults[:_SHOWN_ERRORS]]
    if len(faults) > _SHOWN_ERRORS:
        lines.append(f"  ... and {len(faults) - _SHOWN_ERRORS} more")
    return "\n".join(lines)
