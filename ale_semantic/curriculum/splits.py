"""Held-out splits: train and test tasks without a near twin on the other side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ale_semantic.curriculum.material import TWIN_CLOSENESS, TWIN_WORDING, Material
from ale_semantic.curriculum.quotas import members
from ale_semantic.curriculum.records import EVERYTHING, Pool, Record, TaskRef, require_tasks
from ale_semantic.curriculum.time_limit import require_time, time_left
from ale_semantic.engine import Engine
from ale_semantic.errors import CurriculumError, LimitError
from ale_semantic.types import Provenance

_SECONDS = 20.0  # the best split found by then is taken
_WHIM = 1e-3  # weight of the seeded draw among equally balanced splits, far below one task


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRequest(Record):
    """How to split: the share of test tasks, fields to balance, what counts as a near twin, and the draw."""

    test: float = 0.2
    pool: Pool = EVERYTHING
    balance: tuple[str, ...] = ("domain", "tier")
    wording: float = TWIN_WORDING
    closeness: float = TWIN_CLOSENESS
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Across(Record):
    """A pair on two sides of the split, with the evidence that they are alike."""

    train: str
    test: str
    closeness: float | None
    wording: float


@dataclass(frozen=True, slots=True)
class Stratum(Record):
    """How many tasks with a value of a field stand on each side."""

    field: str
    value: str
    train: int
    test: int


@dataclass(frozen=True, slots=True)
class SplitResult(Record):
    """A split; `together` lists the groups of near twins that were kept on one side, `nearest` the most alike pairs."""

    request: SplitRequest
    train: tuple[TaskRef, ...]
    test: tuple[TaskRef, ...]
    together: tuple[tuple[str, ...], ...]
    nearest: tuple[Across, ...]
    strata: tuple[Stratum, ...]
    provenance: Provenance | None


def split(engine: Engine, request: SplitRequest) -> SplitResult:
    """Split the tasks so that no near twin stands on the other side and both sides are alike in the balanced fields.

    Raises:
        LimitError: if no such split has a task on both sides.
    """
    if not 0 < request.test < 1:
        raise CurriculumError(f"the share of test tasks must be between 0 and 1, not {request.test}")
    material = Material.of(engine)
    allowed = request.pool.mask(material.catalogue, material.facets)
    require_tasks(allowed, request.pool)
    rows = np.flatnonzero(allowed)
    twins = material.twins(wording=request.wording, closeness=request.closeness)[np.ix_(rows, rows)]
    groups = _groups(twins)
    size = int(np.clip(round(request.test * len(rows)), 1, max(1, len(rows) - 1)))
    if groups.max(initial=0) == 0:
        raise LimitError(
            "all tasks of the pool are near twins of each other: raise the twin thresholds or widen the pool"
        )
    chosen = _solve(material, request, rows, groups, size)
    in_test = chosen[groups]
    return _result(material, request, rows, groups, in_test)


def _groups(twins: NDArray[np.bool_]) -> NDArray[np.int64]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    return np.asarray(connected_components(csr_array(twins), directed=False)[1], dtype=np.int64)


def _strata(
    material: Material, fields: Sequence[str], rows: NDArray[np.int64]
) -> list[tuple[str, str, NDArray[np.bool_]]]:
    found = []
    for name in fields:
        for value in material.facets.values(name):
            mask = members(material.facets, name, value)[rows]
            if mask.any():
                found.append((name, value, mask))
    return found


def _solve(
    material: Material, request: SplitRequest, rows: NDArray[np.int64], groups: NDArray[np.int64], size: int
) -> NDArray[np.bool_]:
    """Return which groups are the test set: as near to the size, and to the share of each stratum, as can be."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    count = int(groups.max()) + 1
    sizes = np.bincount(groups, minlength=count).astype(float)
    lines = [sizes]
    targets = [float(size)]
    for _, _, mask in _strata(material, request.balance, rows):
        lines.append(np.bincount(groups[mask], minlength=count).astype(float))
        targets.append(request.test * float(mask.sum()))
    width = count + 2 * len(lines)
    slack = np.eye(len(lines))
    matrix = np.hstack([np.stack(lines), slack, -slack])
    generator = np.random.default_rng(request.seed)
    cost = np.concatenate([_WHIM * generator.random(count), np.ones(2 * len(lines))])
    cost[[count, count + len(lines)]] = 10.0  # the size counts before the balance
    both_sides = np.concatenate([sizes, np.zeros(2 * len(lines))])[None, :]
    result: Any = milp(
        cost,
        integrality=np.concatenate([np.ones(count), np.zeros(2 * len(lines))]),
        bounds=Bounds(0, np.concatenate([np.ones(count), np.full(width - count, np.inf)])),
        constraints=[LinearConstraint(matrix, targets, targets), LinearConstraint(both_sides, 1, len(rows) - 1)],
        options={"mip_rel_gap": 0.01, "time_limit": max(0.1, min(_SECONDS, time_left()))},
    )
    if result.x is None:
        require_time()
    if result.x is None:
        raise LimitError("no split has tasks on both sides: raise the twin thresholds or widen the pool")
    return np.asarray(result.x[:count] > 0.5)


def _result(
    material: Material,
    request: SplitRequest,
    rows: NDArray[np.int64],
    groups: NDArray[np.int64],
    in_test: NDArray[np.bool_],
) -> SplitResult:
    ids = [material.catalogue.cards[row].task_id for row in rows]
    together = [tuple(ids[i] for i in np.flatnonzero(groups == group)) for group in range(int(groups.max()) + 1)]
    return SplitResult(
        request=request,
        train=tuple(material.ref(int(row)) for row in rows[~in_test]),
        test=tuple(material.ref(int(row)) for row in rows[in_test]),
        together=tuple(group for group in together if len(group) > 1),
        nearest=_nearest(material, rows[~in_test], rows[in_test]),
        strata=tuple(
            Stratum(name, value, int(np.sum(mask & ~in_test)), int(np.sum(mask & in_test)))
            for name, value, mask in _strata(material, request.balance, rows)
        ),
        provenance=material.provenance,
    )


def _nearest(
    material: Material, train: NDArray[np.int64], test: NDArray[np.int64], shown: int = 5
) -> tuple[Across, ...]:
    grid = np.ix_(train, test)
    alike = np.maximum(material.overlap[grid] / TWIN_WORDING, material.near()[grid] / TWIN_CLOSENESS)
    order = np.argsort(-alike, axis=None, kind="stable")[:shown]
    pairs = [(int(train[i]), int(test[j])) for i, j in zip(*np.unravel_index(order, alike.shape), strict=True)]
    found = []
    for first, second in pairs:
        likeness = material.likeness(first, second)
        ids = material.catalogue.cards[first].task_id, material.catalogue.cards[second].task_id
        found.append(Across(*ids, likeness.closeness, likeness.wording))
    return tuple(found)
