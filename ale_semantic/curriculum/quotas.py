"""Quotas: how many tasks of a domain, tier, system or any other facet a choice holds; checked exactly.

Whether quotas, must-haves and exclusions can be met together is an integer programme; HiGHS (through SciPy) decides
it exactly, and with slack on every quota it names those that fail and the choice that fails them least.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ale_semantic.curriculum.records import Record
from ale_semantic.curriculum.time_limit import require_time, time_left
from ale_semantic.errors import CurriculumError
from ale_semantic.facets import FacetTable
from ale_semantic.filters import field
from ale_semantic.fusion import Mask
from ale_semantic.types import FailedLimit

EACH = "*"  # in place of a value: the quota holds for each value of the field
_WRITTEN = re.compile(r"\s*(?P<field>[\w-]+)\s*=\s*(?P<value>.+?)\s*:\s*(?P<range>[0-9]*\s*(?:\.\.)?\s*[0-9]*)\s*")


@dataclass(frozen=True, slots=True)
class Quota(Record):
    """At least and at most so many tasks with a value of a field; `*` stands for each value."""

    field: str
    value: str
    least: int = 0
    most: int | None = None

    @classmethod
    def parse(cls, text: str) -> Quota:
        """Read `tier=last-exam:5`, `os=linux:3..10`, `software=Blender:..2` or `domain=*:1..`.

        Raises:
            CurriculumError: if it can't be read, or the least exceeds the most.
        """
        match = _WRITTEN.fullmatch(text)
        first, dots, last = (match["range"].partition("..")) if match else ("", "", "")
        if match is None or not (first.strip() or last.strip()):
            raise CurriculumError(f"quota {text!r} can't be read: write field=value:3, :3.., :..5 or :3..5")
        least = int(first) if first.strip() else 0
        most = int(last) if last.strip() else None if dots else least
        if most is not None and least > most:
            raise CurriculumError(f"quota {text!r} asks for at least {least} and at most {most}")
        return cls(match["field"], match["value"].strip("'\""), least, most)

    def __str__(self) -> str:
        """Return the quota as it is written."""
        span = (
            str(self.least)
            if self.most == self.least
            else f"{self.least or ''}..{self.most if self.most is not None else ''}"
        )
        return f"{self.field}={self.value}:{span}"


def expand(quotas: Iterable[Quota], facets: FacetTable, allowed: Mask) -> tuple[Quota, ...]:
    """Return the quotas with `*` replaced by each value that some allowed task has."""
    found: list[Quota] = []
    for quota in quotas:
        if quota.value != EACH:
            found.append(quota)
            continue
        values = facets.values(quota.field)
        found += [
            replace(quota, value=value) for value in values if np.any(members(facets, quota.field, value) & allowed)
        ]
    return tuple(found)


def members(facets: FacetTable, name: str, value: str) -> Mask:
    """Return the tasks that have a value of a field, shape (cards,).

    Raises:
        UnknownNameError: if there is no such field or value.
    """
    return facets.mask(field(name) == value)


@dataclass(frozen=True, slots=True)
class Requirements:
    """All that a choice must meet: size, allowed rows, must-haves, quotas, and pairs that can't both be in it."""

    size: int
    allowed: Mask
    must: tuple[int, ...]
    quotas: tuple[Quota, ...]
    holds: NDArray[np.bool_]  # shape (quotas, cards)
    apart: tuple[tuple[int, int], ...]

    @classmethod
    def of(
        cls,
        facets: FacetTable,
        *,
        size: int,
        allowed: Mask,
        must: Sequence[int],
        quotas: Iterable[Quota],
        twins: Mask | None,
    ) -> Requirements:
        """Prepare the requirements; twins that are both must-haves are asked for, so they stay."""
        given = expand(quotas, facets, allowed)
        rows = [members(facets, quota.field, quota.value) for quota in given]
        holds = np.stack(rows) if rows else np.zeros((0, len(allowed)), dtype=bool)
        pairs = np.argwhere(np.triu(twins)) if twins is not None else np.zeros((0, 2), dtype=int)
        wanted = set(must)
        apart = tuple((int(a), int(b)) for a, b in pairs if allowed[a] and allowed[b] and not {a, b} <= wanted)
        return cls(size, allowed, tuple(must), given, holds, apart)

    @property
    def is_free(self) -> bool:
        """Tell whether any rows of the right number will do."""
        return not self.quotas and not self.apart

    def complete(self, rows: Sequence[int]) -> frozenset[int] | None:
        """Return a whole choice that holds these rows and meets everything, or None if there is none."""
        solved = self._solve(rows, slack=False)
        return frozenset(np.flatnonzero(solved[: len(self.allowed)] > 0.5).tolist()) if solved is not None else None

    def met_by(self, rows: Sequence[int]) -> bool:
        """Tell whether a choice of rows meets everything."""
        taken = np.zeros(len(self.allowed), dtype=bool)
        taken[list(rows)] = True
        counts = (self.holds & taken).sum(axis=1)
        return (
            int(taken.sum()) == self.size
            and not np.any(taken & ~self.allowed)
            and all(taken[row] for row in self.must)
            and all(quota.least <= have for quota, have in zip(self.quotas, counts, strict=True))
            and all(quota.most is None or have <= quota.most for quota, have in zip(self.quotas, counts, strict=True))
            and not any(taken[first] and taken[second] for first, second in self.apart)
        )

    def is_hopeless(self, rows: Sequence[int]) -> bool:
        """Tell quickly that no whole choice holds these rows; False leaves it open.

        A quota that is exceeded already stays so; and the shortfalls of a field's values need as many more rows,
        as far as no task counts for two of those values.
        """
        counts = self.holds[:, list(rows)].sum(axis=1)
        short: dict[str, int] = {}
        seen: dict[str, Mask] = {}
        for quota, have, holds in zip(self.quotas, counts, self.holds, strict=True):
            if quota.most is not None and have > quota.most:
                return True
            known = seen.setdefault(quota.field, np.zeros(len(holds), dtype=bool))
            if not np.any(known & holds):
                short[quota.field] = short.get(quota.field, 0) + max(0, quota.least - int(have))
                seen[quota.field] = known | holds
        return max(short.values(), default=0) > self.size - len(rows)

    def exchange(self, witness: frozenset[int], kept: Sequence[int], row: int) -> frozenset[int] | None:
        """Return a whole choice made of another by putting `row` in place of one that isn't kept, if one will do."""
        for other in sorted(witness - set(kept)):
            changed = (witness - {other}) | {row}
            if self.met_by(sorted(changed)):
                return changed
        return None

    def offer(self) -> tuple[tuple[int, ...], tuple[FailedLimit, ...]]:
        """Return the choice that misses the size and the quotas least, and what it misses."""
        solved = self._solve((), slack=True)
        if solved is None:
            return (), ()
        cards, count = len(self.allowed), len(self.quotas)
        rows = tuple(np.flatnonzero(solved[:cards] > 0.5).tolist())
        failed = []
        if len(rows) < self.size:
            failed.append(FailedLimit("size", str(self.size), f"{len(rows)} can be had"))
        for place, quota in enumerate(self.quotas):
            if solved[cards + place] > 0.5 or solved[cards + count + place] > 0.5:
                have = int(self.holds[place, list(rows)].sum())
                failed.append(FailedLimit("quota", str(quota), f"{have} can be had"))
        return rows, tuple(failed)

    def _solve(self, rows: Sequence[int], *, slack: bool) -> NDArray[np.float64] | None:
        """Return a solution: rows, then the shortfall and the excess of each quota, then the shortfall of the size."""
        from scipy.optimize import Bounds, LinearConstraint, milp

        cards, count = len(self.allowed), len(self.quotas)
        width = cards + 2 * count + 1
        least = np.zeros(width)
        most = np.full(width, float(self.size) if slack else 0.0)
        most[:cards] = self.allowed
        for row in (*self.must, *rows):
            least[row] = most[row] = 1
        cost = np.zeros(width)
        cost[cards:] = 1.0
        cost[-1] = 1.5  # rather miss a quota than the size: a smaller choice is no choice of that size
        result: Any = milp(
            cost,
            integrality=np.ones(width),
            bounds=Bounds(least, most),
            constraints=[LinearConstraint(*part) for part in self._constraints(width)],
            options={"time_limit": max(0.1, time_left())},
        )
        if result.x is None:
            require_time()  # else there is no choice
        return None if result.x is None else np.asarray(result.x)

    def _constraints(self, width: int) -> list[tuple[Any, Any, Any]]:
        from scipy.sparse import csr_array

        cards, count = len(self.allowed), len(self.quotas)
        total = np.zeros((1, width))
        total[0, :cards] = 1
        total[0, -1] = 1
        parts: list[tuple[Any, Any, Any]] = [(total, self.size, self.size)]
        if count:
            matrix = np.zeros((count, width))
            matrix[:, :cards] = self.holds
            matrix[:, cards : cards + count] = np.eye(count)
            matrix[:, cards + count : cards + 2 * count] = -np.eye(count)
            upper = [np.inf if quota.most is None else quota.most for quota in self.quotas]
            parts.append((matrix, [quota.least for quota in self.quotas], upper))
        if self.apart:
            places = np.asarray(self.apart)
            lines = np.repeat(np.arange(len(places)), 2)
            pairs = csr_array((np.ones(len(lines)), (lines, places.ravel())), shape=(len(places), width))
            parts.append((pairs, -np.inf, 1))
        return parts
