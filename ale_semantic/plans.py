"""How the passages were searched for a query."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class PlanKind(StrEnum):
    """How the passage vectors were searched; the planner chooses by their number and how many pass the filter."""

    EXACT = "exact"  # each passage of each card scored in full precision
    GATHER = "gather"  # few pass the filter: their vectors gathered and scored
    FLAT = "flat"  # a scan of the vectors under the filter
    CODES = "8-bit"  # a scan of 8-bit codes under the filter, the best scored again in full precision
    LISTS = "ivf"  # the same in the inverted lists nearest to the query


@dataclass(frozen=True, slots=True)
class SearchScan:
    """One search of the passages that pass a filter, or of all; the fields are those of `SearchPlan`."""

    kind: PlanKind
    passing: int
    rescored: int
    lists: int
    probed: int
    retries: int


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """How one query was answered: `passages` are all, `passing` those of tasks that pass the filter.

    `candidates` is the number of tasks that were ranked, `rescored` that of the passages scored again in full
    precision. Of `lists` inverted lists `probed` were looked into, after `retries` that found too little. In a large
    catalogue `scans` are all searches that were made, in their order: the first without the filter, so that scores
    don't depend on it, then one under it, then one for pages beyond the first candidates.
    """

    kind: PlanKind
    passages: int
    passing: int
    candidates: int = 0
    rescored: int = 0
    lists: int = 0
    probed: int = 0
    retries: int = 0
    scans: tuple[SearchScan, ...] = ()
