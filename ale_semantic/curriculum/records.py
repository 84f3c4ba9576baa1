"""What all parts of curriculum design share: records, references to tasks, the pool, refusals with an offer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import Any

import numpy as np

from ale_semantic.catalogue import Catalogue
from ale_semantic.errors import EmptyPoolError
from ale_semantic.facets import FacetTable
from ale_semantic.filters import Condition, all_of, field, parse
from ale_semantic.fusion import Mask
from ale_semantic.types import OperatingSystem, TaskCard, Tier


class Record:
    """A frozen dataclass that turns itself into JSON values."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON values, nested records included."""
        return {each.name: plain(getattr(self, each.name)) for each in fields(self)}  # type: ignore[arg-type]


def plain(value: Any) -> Any:
    """Return a value as JSON: records as objects, sequences as lists, enums as their text."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Record):
        return value.to_dict()
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (frozenset, set)):
        return sorted(map(plain, value))
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return round(value, 6)
    return value


@dataclass(frozen=True, slots=True)
class TaskRef(Record):
    """What one line about a task shows; the whole card is in the catalogue."""

    task_id: str
    title: str
    domain: str
    tiers: tuple[Tier, ...]
    os: OperatingSystem | None

    @classmethod
    def of(cls, card: TaskCard) -> TaskRef:
        """Refer to a card."""
        return cls(card.task_id, card.title, card.domain, card.tiers, card.os)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool(Record):
    """Which tasks may be taken: those of a filter, of some domains and systems, without the excluded ones."""

    where: str = ""
    domains: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def mask(self, catalogue: Catalogue, facets: FacetTable) -> Mask:
        """Return the tasks that may be taken, shape (cards,).

        Raises:
            FilterError: if the filter can't be understood.
            UnknownNameError: if a domain, system or excluded task is unknown.
        """
        allowed = facets.mask(self.condition())
        allowed[[catalogue.row(task_id) for task_id in self.exclude]] = False
        return allowed

    def condition(self) -> Condition | None:
        """Return filter, domains and systems as one condition."""
        return all_of(
            (
                parse(self.where) if self.where.strip() else None,
                field("domain").is_in(*self.domains) if self.domains else None,
                field("os").is_in(*self.systems) if self.systems else None,
            )
        )


EVERYTHING = Pool()


def require_tasks(allowed: Mask, pool: Pool) -> None:
    """Refuse an empty pool.

    Raises:
        EmptyPoolError: naming the parts of the pool that were given.
    """
    if not np.any(allowed):
        given = [f"{name} {value!r}" for name, value in pool.to_dict().items() if value]
        raise EmptyPoolError(f"no task is left by {', '.join(given) or 'the catalogue'}: loosen the filter")


def tiers_of(card: TaskCard) -> tuple[int, ...]:
    """Return the levels of a card's tiers, lowest first; empty if it stands in none."""
    return tuple(sorted(tier.level for tier in card.tiers))


def tier_of_level(level: int) -> Tier:
    """Return the tier of a level."""
    return list(Tier)[level]
