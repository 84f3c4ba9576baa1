"""Ladders: tasks of the same work at rising difficulty, in the whole catalogue and around one task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ale_semantic.curriculum.material import TWIN_WORDING, Likeness, Material
from ale_semantic.curriculum.path_request import Step
from ale_semantic.curriculum.path_steps import describe
from ale_semantic.curriculum.records import EVERYTHING, Pool, Record, TaskRef, require_tasks, tiers_of
from ale_semantic.curriculum.relevance import task_relevance
from ale_semantic.errors import CurriculumError, LimitError
from ale_semantic.types import Provenance

if TYPE_CHECKING:
    from ale_semantic.engine import Engine

# Rungs this close do the same kind of work; read and judged in docs/curriculum-quality.md.
RUNG_CLOSENESS = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderRequest(Record):
    """Which ladders: around one task or, with a blank one, all of the pool; how close two rungs must be.

    A pair with shared wording is close enough whatever its meaning.
    """

    task: str = ""
    pool: Pool = EVERYTHING
    min_closeness: float = RUNG_CLOSENESS


@dataclass(frozen=True, slots=True)
class Sibling(Record):
    """A task of the same work at the same tier, or in no tier: an alternative, not a rung."""

    task: TaskRef
    closeness: float | None
    wording: float


@dataclass(frozen=True, slots=True)
class Ladder(Record):
    """Rungs at strictly rising tiers; `strength` is the closeness of the loosest two neighbours."""

    rungs: tuple[Step, ...]
    strength: float
    siblings: tuple[Sibling, ...] = ()

    @property
    def task_ids(self) -> tuple[str, ...]:
        """Return the ids of the rungs from easy to hard."""
        return tuple(rung.task.task_id for rung in self.rungs)


@dataclass(frozen=True, slots=True)
class LadderResult(Record):
    """The ladders, the firmest first; for one task also the rung above and the rung below it."""

    request: LadderRequest
    ladders: tuple[Ladder, ...]
    next_rung: str | None
    previous_rung: str | None
    provenance: Provenance | None
    notices: tuple[str, ...] = field(default=())


def ladders(engine: Engine, request: LadderRequest) -> LadderResult:
    """Find ladders in the pool, or the one that a task stands on.

    Raises:
        LimitError: if the task has no rung above or below it that is close enough; it names the nearest.
        UnknownNameError: if the task is unknown.
    """
    material = Material.of(engine)
    allowed = request.pool.mask(material.catalogue, material.facets)
    require_tasks(allowed, request.pool)
    strength = _strength(material)
    lowest = np.array([min(tiers_of(card), default=-1) for card in material.catalogue])
    fine = allowed & (lowest >= 0)
    rises = fine[:, None] & fine[None, :] & (lowest[:, None] < lowest[None, :])
    if request.task.strip():
        return _around(material, request, strength, rises, allowed)
    chains = _all_chains(np.where(rises & (strength >= request.min_closeness), strength, -np.inf))
    found = tuple(_ladder(material, chain, strength, lowest) for chain in chains)
    notices = () if found else ("no two tasks of the pool are close enough at rising tiers: lower min_closeness",)
    return LadderResult(request, found, None, None, material.provenance, notices)


def _strength(material: Material) -> NDArray[np.float64]:
    """Return closeness, raised to 1 at twin-like wording in proportion; shape (cards, cards)."""
    worded = np.clip(material.overlap / TWIN_WORDING, 0.0, 1.0)
    return np.where(worded >= 1.0, np.maximum(material.near(), RUNG_CLOSENESS), material.near()).astype(np.float64)


def _all_chains(links: NDArray[np.float64]) -> Iterator[list[int]]:
    """Yield chains of at least two rows, firmest links first; each row stands on one chain only.

    Args:
        links: strength of each rising link, -inf where there is none, shape (cards, cards).
    """
    order = np.argsort(-links, axis=None, kind="stable")
    above: dict[int, int] = {}
    below: dict[int, int] = {}
    for first, second in zip(*np.unravel_index(order, links.shape), strict=True):
        low, high = int(first), int(second)
        if not np.isfinite(links[low, high]):
            break
        if low not in above and high not in below:
            above[low], below[high] = high, low
    for bottom in (row for row in above if row not in below):
        chain = [bottom]
        while chain[-1] in above:
            chain.append(above[chain[-1]])
        yield chain


def _around(
    material: Material,
    request: LadderRequest,
    strength: NDArray[np.float64],
    rises: NDArray[np.bool_],
    allowed: NDArray[np.bool_],
) -> LadderResult:
    row = material.catalogue.row(request.task.strip())
    card = material.catalogue.cards[row]
    lowest = np.array([min(tiers_of(other), default=-1) for other in material.catalogue])
    if lowest[row] < 0:
        raise CurriculumError(f"{card.task_id} stands in no tier, so no rung can be said to be above or below it")
    if not allowed[row]:
        raise LimitError(f"{card.task_id!r} is left out by the filter or the exclusions")
    up = list(_climb(row, np.where(rises, strength, -np.inf), request.min_closeness))
    down = list(_climb(row, np.where(rises, strength, -np.inf).T, request.min_closeness))
    if not up and not down:
        raise _no_rung(material, row, np.where(rises | rises.T, strength, -np.inf), request)
    ladder = _ladder(material, [*reversed(down), row, *up], strength, lowest, around=row)
    ids = [other.task_id for other in material.catalogue]
    return LadderResult(
        request, (ladder,), ids[up[0]] if up else None, ids[down[0]] if down else None, material.provenance
    )


def _climb(row: int, links: NDArray[np.float64], least: float) -> Iterator[int]:
    """Yield the nearest rung, the nearest from there, and so on."""
    while True:
        following = int(np.argmax(links[row]))
        if not links[row, following] >= least:
            return
        yield following
        row = following


def _no_rung(material: Material, row: int, links: NDArray[np.float64], request: LadderRequest) -> LimitError:
    name = material.catalogue.cards[row].task_id
    best = int(np.argmax(links[row]))
    if not np.isfinite(links[row, best]):
        return LimitError(f"no task of the pool stands above or below {name}: widen the pool")
    twins = [material.catalogue.cards[other].task_id for other in np.flatnonzero(material.twins()[row]).tolist()]
    beside = f" (near twins at no other tier: {', '.join(twins)})" if twins else ""
    other = material.catalogue.cards[best].task_id
    return LimitError(
        f"no rung is within closeness {request.min_closeness:g} of {name}; the nearest is {other} at "
        f"{links[row, best]:.2f}{beside}: lower min_closeness to take it"
    )


def _ladder(
    material: Material,
    chain: Sequence[int],
    strength: NDArray[np.float64],
    lowest: NDArray[np.int64],
    *,
    around: int | None = None,
) -> Ladder:
    aim = task_relevance(material, around if around is not None else chain[-1])
    links = [float(strength[low, high]) for low, high in pairwise(chain)]
    twins = material.twins()
    beside = {int(other) for row in chain for other in np.flatnonzero(twins[row])} - set(chain)
    return Ladder(
        rungs=describe(material, aim, chain, [int(lowest[row]) for row in chain]),
        strength=min(links),
        siblings=tuple(_sibling(material, other, chain) for other in sorted(beside)),
    )


def _sibling(material: Material, row: int, chain: Sequence[int]) -> Sibling:
    nearest = max(chain, key=lambda rung: float(material.near()[row, rung]))
    found: Likeness = material.likeness(row, nearest)
    return Sibling(material.ref(row), found.closeness, found.wording)
