"""Facility location: tasks that together stand for all others, chosen greedily.

The value of a set S is the sum over all tasks i of weight(i) * max over j in S of similarity(i, j). It is monotone
and submodular, so the greedy choice reaches at least 1 - 1/e (63 %) of the best value for a given size (Nemhauser,
Wolsey and Fisher 1978); under quotas on one field, a partition matroid, at least 1/2, and under those on p fields
1 / (p + 1) (Fisher, Nemhauser and Wolsey 1978). Gains never rise, so most need not be computed again (Minoux 1978).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ale_semantic.curriculum.similarity import Matrix

Weights = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A choice: rows in the order they were taken, what each added, and the value of all."""

    rows: tuple[int, ...]
    gains: tuple[float, ...]
    value: float


def kernel(closeness: Matrix) -> NDArray[np.float64]:
    """Return how far each task stands for each other: nothing at chance level, 1 for itself; shape (cards, cards)."""
    found = np.clip(closeness.astype(np.float64), 0.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return found


def facility_value(similarity: NDArray[np.float64], weights: Weights, rows: Sequence[int]) -> float:
    """Return the value of a set of rows."""
    return float(weights @ similarity[:, list(rows)].max(axis=1)) if len(rows) else 0.0


def lazy_greedy(
    similarity: NDArray[np.float64],
    weights: Weights,
    size: int,
    *,
    must: Sequence[int],
    candidates: Sequence[int],
    fits: Callable[[Sequence[int], int], bool],
) -> Chosen:
    """Choose rows greedily by gain, ties in the order of the rows.

    Args:
        similarity: how far column j stands for row i, shape (cards, cards), not negative.
        weights: the weight of each row, shape (cards,).
        size: how many rows to choose, those of `must` included.
        must: rows that are taken first.
        candidates: rows that may be taken.
        fits: tells whether a row can be added to the chosen ones so that a whole choice remains possible.
    """
    rows: list[int] = []
    gains: list[float] = []
    covered = np.zeros(len(similarity))

    def gain(row: int) -> float:
        return float(weights @ np.maximum(similarity[:, row] - covered, 0.0))

    def take(row: int) -> None:
        gains.append(gain(row))
        rows.append(row)
        np.maximum(covered, similarity[:, row], out=covered)

    for row in must:
        take(row)
    queue = [(-gain(row), row, len(rows)) for row in candidates if row not in set(must)]
    heapq.heapify(queue)
    while queue and len(rows) < size:
        _, row, known_at = heapq.heappop(queue)
        if known_at < len(rows):
            heapq.heappush(queue, (-gain(row), row, len(rows)))
        elif fits(rows, row):
            take(row)
    return Chosen(tuple(rows), tuple(gains), float(weights @ covered))


def swap_improve(
    similarity: NDArray[np.float64],
    weights: Weights,
    chosen: Chosen,
    *,
    fixed: Sequence[int],
    candidates: Sequence[int],
    allowed: Callable[[Sequence[int]], bool],
    most: int = 200,
) -> Chosen:
    """Exchange one row for another as long as the value rises; the value never falls below the greedy one.

    Args:
        similarity: as for `lazy_greedy`.
        weights: as for `lazy_greedy`.
        chosen: the choice to start from.
        fixed: rows that stay.
        candidates: rows that may be taken.
        allowed: tells whether a whole choice meets every requirement.
        most: at most so many exchanges.
    """
    rows = sorted(chosen.rows)
    for _ in range(most):
        changed = _best_swap(similarity, weights, rows, set(fixed), candidates, allowed)
        if changed is None:
            break
        rows = changed
    if sorted(chosen.rows) == rows:
        return chosen
    rest = [row for row in rows if row not in set(fixed)]
    return lazy_greedy(similarity, weights, len(rows), must=fixed, candidates=rest, fits=lambda taken, row: True)


def _best_swap(
    similarity: NDArray[np.float64],
    weights: Weights,
    rows: Sequence[int],
    fixed: set[int],
    candidates: Sequence[int],
    allowed: Callable[[Sequence[int]], bool],
) -> list[int] | None:
    """Return the rows after the exchange that gains most among those allowed, or None if none gains."""
    now = facility_value(similarity, weights, rows)
    others = np.setdiff1d(np.asarray(candidates), rows)
    swaps: list[tuple[float, int, int]] = []
    for out in rows:
        if out in fixed or not len(others):
            continue
        kept = [row for row in rows if row != out]
        covered = similarity[:, kept].max(axis=1) if kept else np.zeros(len(similarity))
        values = weights @ np.maximum(similarity[:, others], covered[:, None])
        swaps += [(-float(values[place]), out, int(others[place])) for place in np.flatnonzero(values > now + 1e-9)]
    for _, out, into in sorted(swaps):
        changed = sorted([*(row for row in rows if row != out), into])
        if allowed(changed):
            return changed
    return None


def random_value(
    similarity: NDArray[np.float64], weights: Weights, candidates: Sequence[int], size: int, *, draws: int = 300
) -> float:
    """Return the mean value of random sets of this size; always the same draws."""
    generator = np.random.default_rng(0)
    pool = np.asarray(candidates)
    sets = [generator.choice(pool, size=min(size, len(pool)), replace=False) for _ in range(draws)]
    return float(np.mean([facility_value(similarity, weights, rows.tolist()) for rows in sets])) if len(pool) else 0.0
