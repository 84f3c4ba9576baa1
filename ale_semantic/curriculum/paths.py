"""Paths: from a start to a goal in steps that build on each other and never get easier."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ale_semantic.curriculum.material import Material
from ale_semantic.curriculum.path_course import Course, Rows, plot_course
from ale_semantic.curriculum.path_offers import refusal
from ale_semantic.curriculum.path_request import PathRequest, PathResult
from ale_semantic.curriculum.path_search import MOST_WAYS_OF_OFFER, Budget, Graph, Way, WayRules, best_way
from ale_semantic.curriculum.path_steps import describe
from ale_semantic.curriculum.skills import require_skills
from ale_semantic.curriculum.time_limit import require_time
from ale_semantic.errors import LimitError

if TYPE_CHECKING:
    from ale_semantic.engine import Engine

Numbers = NDArray[np.float64]

# What a step costs, in units of closeness. Read and judged on whole paths: docs/curriculum-quality.md.
STEP_COST = 1.0  # a far step
LINK_COST = 0.3  # a step without a skill (or, where there are no skills, software) in common
AIM_COST = 1.0  # a task away from what the path is about
CORE_COST = 0.25  # likewise where nothing was named: a task away from the core of the pool
BACK_COST = 0.5  # a step that leads away from the goal again
TIER_COST = 0.4  # a tier away from an even rise
LENGTH_COST = 0.2  # a step more or less than six, where no length was asked for
DETOUR_COST = 0.03  # likewise between two named tasks, which may be near to each other

_LENGTHS = (6, 5, 7, 4, 8, 3, 2)
_USUAL_LENGTH = 6
_LEAST_LENGTH = 4  # fewer steps are hardly a curriculum
# What is left open is tried from the firmest to the loosest, and the first that gives a path is taken.
_NEW_SKILLS = (3, 4, 5, 6, 8, 10)
_LEAST_STEPS = (0.0, -0.1, -0.2, -0.35, -0.5)


def path(engine: Engine, request: PathRequest) -> PathResult:
    """Find the best path that meets all limits.

    Raises:
        LimitError: if there is none; it names the limits that stand in the way and offers the nearest path.
        UnknownNameError: if a task, skill, domain or system is unknown.
        TimeLimitError: if it takes longer than a `time_limit` around it allows.
    """
    material = Material.of(engine)
    if request.max_new_skills is not None:
        require_skills(material.skills, "max_new_skills")
    course = plot_course(engine, material, request)
    course.require_rise()
    budget = Budget()
    found = _find(material, course, request, budget)
    if found is not None:
        return found

    def find(other: PathRequest) -> PathResult | None:
        try:
            return _find(material, plot_course(engine, material, other), other, Budget(MOST_WAYS_OF_OFFER))
        except LimitError:
            return None

    raise refusal(request, find, cut_short=budget.cut_short)


def _find(material: Material, course: Course, request: PathRequest, budget: Budget) -> PathResult | None:
    """Return the best path; of what was left open the firmest steps count first, then few new skills at a time.

    A path of two or three steps gives way to a longer one with looser steps, unless it joins two named tasks.
    """
    short: PathResult | None = None
    for least in (request.min_step,) if request.min_step is not None else _LEAST_STEPS:
        found = _find_firm(material, course, request, replace(request, min_step=least), budget)
        if found is not None and (course.joins_tasks or request.length or len(found.steps) >= _LEAST_LENGTH):
            return found
        short = short or found
    return short


def _find_firm(
    material: Material, course: Course, request: PathRequest, firm: PathRequest, budget: Budget
) -> PathResult | None:
    """Return the best path whose steps are all as close as `firm` asks.

    Ways that come nearer to the goal with each step of a tier are looked at first: they can't go in circles, so the
    search is short. Only where there is none, others are.
    """
    for onward in (True, False):
        require_time()
        graphs = _walkable(material, course, firm, onward=onward)
        for most_new in _new_skill_limits(material, request) if graphs else ():
            rules = _rules(material, course, request, most_new)
            found = [(graph, best_way(graph, rests, rules, budget)) for graph, rests in graphs]
            ways = [(graph, way) for graph, way in found if way is not None]
            if ways:
                graph, way = min(ways, key=lambda pair: _mean_cost(course, *pair))
                return _result(material, course, firm, request, graph, way, most_new)
    return None


def _mean_cost(course: Course, graph: Graph, way: Way) -> float:
    off = (DETOUR_COST if course.joins_tasks else LENGTH_COST) * abs(graph.length - _USUAL_LENGTH)
    return way.cost / graph.length + off


def _new_skill_limits(material: Material, request: PathRequest) -> Iterator[int | None]:
    if request.max_new_skills is not None:
        yield request.max_new_skills
    else:
        yield from _NEW_SKILLS if material.skills is not None else ()
        yield None


def _rules(material: Material, course: Course, request: PathRequest, most_new: int | None) -> WayRules:
    twins = np.zeros_like(material.overlap, dtype=bool) if request.allow_twins else material.twins()
    spared = frozenset(row for row in (course.start.row, course.goal.row) if row is not None)
    skills = None
    if material.skills is not None:
        skills = [material.skills_of(row) for row in range(len(material.catalogue))]
    return WayRules(twins, spared, skills, most_new)


def _walkable(material: Material, course: Course, request: PathRequest, *, onward: bool) -> list[tuple[Graph, Numbers]]:
    """Return the graph, and the least costs through it, for each length that any way has."""
    found = []
    for length in (request.length,) if request.length is not None else _LENGTHS:
        graph = build_graph(material, course, request, length, onward=onward)
        rests = graph.rests()
        if np.isfinite(graph.places[0] + rests[0]).any():
            found.append((graph, rests))
    return found


def build_graph(material: Material, course: Course, request: PathRequest, length: int, *, onward: bool) -> Graph:
    """Return what can be walked in so many steps; `onward` within a tier only nearer to the goal."""
    rows, levels = course.rows, course.levels
    near = material.near()[np.ix_(rows, rows)].astype(np.float64)
    aim = course.goal.near.scores[rows]
    rise = levels[None, :] - levels[:, None]
    least = request.min_step if request.min_step is not None else -np.inf
    fine = (near >= least) & (near <= request.max_step) & (rise >= 0) & (rise <= request.max_tier_jump)
    fine &= rows[None, :] != rows[:, None]
    if onward:
        order = np.lexsort((rows, aim)).argsort()
        fine &= (rise > 0) | (order[None, :] > order[:, None])
    back = np.maximum(aim[:, None] - aim[None, :], 0.0) * (0.0 if course.is_about_nothing else BACK_COST)
    cost = STEP_COST * (1.0 - np.clip(near, -1, 1)) + LINK_COST * (1.0 - material.links()[np.ix_(rows, rows)]) + back
    return Graph(rows, levels, np.where(fine, cost, np.inf), _places(course, rows, levels, length))


def _places(course: Course, rows: Rows, levels: Rows, length: int) -> Numbers:
    """Return what it costs to stand at each node at each place: far from the way's subject, or off an even rise."""
    starts, ends = course.start.fits(rows, levels), course.goal.fits(rows, levels)
    if not starts.any() or not ends.any():
        return np.full((length, len(rows)), np.inf)
    lowest, highest = int(levels[starts].min()), int(levels[ends].max())
    weight = CORE_COST if course.is_about_nothing else AIM_COST
    places = np.empty((length, len(rows)))
    for place in range(length):
        share = place / (length - 1)
        aim = (1 - share) * course.start.near.scores[rows] + share * course.goal.near.scores[rows]
        ideal = lowest + share * (highest - lowest)
        places[place] = weight * (1.0 - aim) + TIER_COST * np.abs(levels - ideal)
    places[:, ~course.on_subject] = np.inf
    places[0, ~starts] = np.inf
    places[-1, ~ends] = np.inf
    return places


def _result(
    material: Material,
    course: Course,
    firm: PathRequest,
    request: PathRequest,
    graph: Graph,
    way: Way,
    most_new: int | None,
) -> PathResult:
    rows = [int(graph.rows[node]) for node in way.nodes]
    levels = [int(graph.levels[node]) for node in way.nodes]
    near = [float(material.near()[first, second]) for first, second in pairwise(rows)]
    notices = course.notices
    if request.min_step is None and min(near) < 0:
        notices += (f"no path has all steps closer than chance; the loosest one here is {min(near):.2f}",)
    if request.length is None and len(rows) < _LEAST_LENGTH and not course.joins_tasks:
        notices += ("the pool holds no longer path to this goal",)
    return PathResult(
        request=request,
        steps=describe(material, course.goal.near, rows, levels, start=course.start.topic),
        score=float(np.mean(near)),
        min_step=firm.min_step if firm.min_step is not None else -1.0,
        max_new_skills=most_new,
        provenance=material.provenance,
        notices=notices,
        joins_twins=course.joins_tasks and bool(material.twins()[rows[0], rows[-1]]),
    )
