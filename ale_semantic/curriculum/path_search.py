"""The search for one path: a graph of (task, tier) nodes in layers, one a step, and the best way through it.

What a step costs depends on its two tasks and its place alone, so the cheapest rest of the way from each node is a
shortest path in the layered graph (Dijkstra, SciPy's `csgraph`). What depends on the whole way so far (no task twice,
no near twins, few new skills at a time) is checked while ways are extended, best first, with those rests as the
estimate: they never exceed the true cost, so the first whole way is the best one (A*, Hart, Nilsson and Raphael 1968).
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ale_semantic.fusion import Mask

Costs = NDArray[np.float64]

_SMALLEST = 1e-6  # csgraph takes a cost of zero for no edge
# Beginnings of ways looked at before a search gives up. A way that few limits hinder is found after some tens; more are
# looked at only where nearly every way breaks a limit on the way as a whole.
_MOST_WAYS = 500  # by one search: below a tenth of a second
_MOST_WAYS_IN_ALL = 2_500  # by all searches for one request
MOST_WAYS_OF_OFFER = 250  # by all searches for one offer, of which there may be dozens


@dataclass(frozen=True, slots=True)
class Graph:
    """All that can be walked, without regard to the way so far.

    Attributes:
        rows: the task of each node, shape (nodes,).
        levels: the tier of each node, 0 to 2, shape (nodes,).
        steps: the cost of going from one node to another, infinite where it isn't allowed, shape (nodes, nodes).
        places: the cost of standing at a node at a place of the way, infinite where not allowed, shape (length, nodes).
    """

    rows: NDArray[np.int64]
    levels: NDArray[np.int64]
    steps: Costs
    places: Costs

    @property
    def length(self) -> int:
        """Return the number of steps."""
        return len(self.places)

    def rests(self) -> Costs:
        """Return the least cost from each node at each place to the end, shape (length, nodes); infinite for none."""
        from scipy.sparse import coo_array, csr_array
        from scipy.sparse.csgraph import dijkstra

        nodes, length = len(self.rows), self.length
        end = length * nodes
        first, second = np.nonzero(np.isfinite(self.steps))
        starts, stops, costs = [], [], []
        for place in range(length - 1):
            cost = self.steps[first, second] + self.places[place + 1, second]
            fine = np.isfinite(cost)
            starts.append(first[fine] + place * nodes)
            stops.append(second[fine] + (place + 1) * nodes)
            costs.append(cost[fine])
        last = np.flatnonzero(np.isfinite(self.places[-1]))
        starts.append(last + (length - 1) * nodes)
        stops.append(np.full(len(last), end))
        costs.append(np.zeros(len(last)))
        weights = np.maximum(np.concatenate(costs), _SMALLEST)
        backwards = coo_array((weights, (np.concatenate(stops), np.concatenate(starts))), shape=(end + 1, end + 1))
        found = dijkstra(csr_array(backwards), directed=True, indices=end)
        return np.asarray(found[:end]).reshape(length, nodes)


@dataclass(frozen=True, slots=True)
class WayRules:
    """What the whole way must keep to: no near twins but those spared, few new skills after the first step."""

    twins: Mask
    spared: frozenset[int]
    skills: Sequence[frozenset[str]] | None
    most_new: int | None

    def admits(self, way: Sequence[int], known: frozenset[str], row: int) -> bool:
        """Tell whether a task may come next."""
        if row in way:
            return False
        for other in way:
            if self.twins[other, row] and not {other, row} <= self.spared:
                return False
        if self.skills is None or self.most_new is None or not way:
            return True
        return len(self.skills[row] - known) <= self.most_new


@dataclass(slots=True)
class Budget:
    """How many beginnings of ways may still be looked at, so that a hopeless search ends."""

    left: int = _MOST_WAYS_IN_ALL
    cut_short: bool = False

    def take(self) -> int:
        """Take what one search may look at; what it doesn't use is given back."""
        taken = min(self.left, _MOST_WAYS)
        self.left -= taken
        return taken


@dataclass(frozen=True, slots=True)
class Way:
    """A whole way: its nodes, and its cost."""

    nodes: tuple[int, ...]
    cost: float


def best_way(graph: Graph, rests: Costs, rules: WayRules, budget: Budget) -> Way | None:
    """Return the cheapest way that keeps to the rules, ties in the order of the nodes; None if there is none.

    Args:
        graph: what can be walked.
        rests: its `rests()`.
        rules: what the whole way must keep to.
        budget: what may be looked at; when it is used up the answer is None.
    """
    first = graph.places[0] + rests[0]
    queue: list[tuple[float, tuple[int, ...], float]] = [
        (float(first[node]), (int(node),), float(graph.places[0, node])) for node in np.flatnonzero(np.isfinite(first))
    ]
    heapq.heapify(queue)
    left = budget.take()
    while queue and left > 0:
        left -= 1
        _, nodes, cost = heapq.heappop(queue)
        if len(nodes) == graph.length:
            budget.left += left
            return Way(nodes, cost)
        for estimate, node, reached in _next(graph, rests, rules, nodes, cost):
            longer: tuple[float, tuple[int, ...], float] = (estimate, (*nodes, node), reached)
            heapq.heappush(queue, longer)
    budget.left += left
    budget.cut_short |= bool(queue)
    return None


def _next(
    graph: Graph, rests: Costs, rules: WayRules, nodes: tuple[int, ...], cost: float
) -> Iterator[tuple[float, int, float]]:
    place = len(nodes)
    way = [int(graph.rows[node]) for node in nodes]
    known = frozenset[str]()
    if rules.skills is not None:
        known = known.union(*(rules.skills[row] for row in way))
    reached = cost + graph.steps[nodes[-1]] + graph.places[place]
    whole = reached + rests[place]
    for node in np.flatnonzero(np.isfinite(whole)):
        if rules.admits(way, known, int(graph.rows[node])):
            yield float(whole[node]), int(node), float(reached[node])
