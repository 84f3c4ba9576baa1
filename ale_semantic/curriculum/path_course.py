"""A request for a path made definite: what it is near to at both ends, and where it may begin and end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ale_semantic.curriculum.material import Material
from ale_semantic.curriculum.path_request import PathRequest
from ale_semantic.curriculum.records import require_tasks, tier_of_level, tiers_of
from ale_semantic.curriculum.relevance import (
    Relevance,
    central_relevance,
    skill_relevance,
    task_relevance,
    topic_relevance,
)
from ale_semantic.curriculum.skills import find_skill, require_skills
from ale_semantic.errors import LimitError, UnknownNameError
from ale_semantic.fusion import Mask
from ale_semantic.types import FailedLimit, Tier

if TYPE_CHECKING:
    from ale_semantic.engine import Engine

Rows = NDArray[np.int64]

_ON_SUBJECT = 0.15  # 0 is a middling task, 1 the best match; below this a step would only pad the path
_BESIDE = 0.1  # closeness to a matching task that makes a task part of the subject too
_FIT = 0.5  # a topic's end must be at least half as near to it as the best task of the pool


@dataclass(frozen=True, slots=True)
class End:
    """One end of a path: what it is near to, its row if it is a task, the tier asked for; open ends may be any task."""

    near: Relevance
    row: int | None
    tier: Tier | None
    is_open: bool

    @property
    def topic(self) -> Relevance | None:
        """Return the nearness to the topic that was named, None for a task or an open end."""
        return self.near if self.row is None and not self.is_open else None

    def fits(self, rows: Rows, levels: Rows) -> Mask:
        """Return which nodes the path may begin or end at, shape (nodes,)."""
        if self.row is not None:
            fine = rows == self.row
        elif self.is_open:
            fine = np.ones(len(rows), dtype=bool)
        else:
            level, score = self.near.levels[rows], self.near.scores[rows]
            fine = (level > 0) & (score >= _FIT * score.max(initial=0.0))
        return np.asarray(fine & (levels == self.tier.level) if self.tier is not None else fine)


@dataclass(frozen=True, slots=True)
class Course:
    """Both ends, and the nodes that may be taken: task and tier of each, shape (nodes,)."""

    start: End
    goal: End
    rows: Rows
    levels: Rows
    on_subject: Mask
    notices: tuple[str, ...]

    @property
    def joins_tasks(self) -> bool:
        """Tell whether both ends are named tasks."""
        return self.start.row is not None and self.goal.row is not None

    def require_rise(self) -> None:
        """Refuse ends that no rising path can join.

        Raises:
            LimitError: if no task stands in the tier asked for, or the start stands above the goal.
        """
        starts, ends = (self.levels[end.fits(self.rows, self.levels)] for end in (self.start, self.goal))
        for levels, end, name in ((starts, self.start, "start"), (ends, self.goal, "goal")):
            if not len(levels):
                raise self._no_such_tier(end, name)
        if starts.min() > ends.max():
            raise LimitError(
                f"the start is {tier_of_level(int(starts.min()))} and the goal {tier_of_level(int(ends.max()))}, "
                "but tiers never fall along a path: swap the two"
            )

    def _no_such_tier(self, end: End, name: str) -> LimitError:
        """Return the error for an end that stands in other tiers than the one asked for."""
        there = self.levels[replace(end, tier=None).fits(self.rows, self.levels)]
        tiers = ", ".join(tier_of_level(level) for level in sorted(set(there.tolist())))
        failed = FailedLimit(f"{name}_tier", str(end.tier), f"{tiers} can be had")
        return LimitError(f"no task that fits the {name} stands in {end.tier}: only {tiers}", failed=(failed,))

    @property
    def is_about_nothing(self) -> bool:
        """Tell whether neither a start nor a goal was named."""
        return self.start.is_open and self.goal.is_open


def plot_course(engine: Engine, material: Material, request: PathRequest) -> Course:
    """Look up start, goal and pool.

    Raises:
        LimitError: if the pool is empty or doesn't hold the start or the goal, or no task fits a topic.
        UnknownNameError: if a task, skill, domain or system is unknown.
    """
    allowed = request.pool.mask(material.catalogue, material.facets)
    require_tasks(allowed, request.pool)
    start_row, goal_row = _task_row(material, request.start), _task_row(material, request.goal)
    _require_allowed(material, allowed, start_row, goal_row)
    start = _relevance(engine, material, request.start, start_row)
    goal = _relevance(engine, material, request.goal, goal_row)
    if request.skill:
        skills = require_skills(material.skills, f"a path that teaches {request.skill!r}")
        goal = skill_relevance(material, find_skill(skills, request.skill))
    rows, levels = _nodes(material, allowed, start_row, goal_row)
    for near, name in ((start, request.start), (goal, request.goal or request.skill)):
        if near is not None and not near.levels[rows].any():
            nearest = material.catalogue.cards[int(rows[near.scores[rows].argmax()])].task_id
            raise LimitError(
                f"no task of the pool that stands in a tier fits {name!r}; the nearest is {nearest}: "
                "name it as the goal, use other words, or widen the pool"
            )
    is_one_topic = (start is None) != (goal is None) and start_row is None and goal_row is None
    subject = (start or goal) if is_one_topic else None
    either = start or goal or central_relevance(material, allowed)
    return Course(
        End(start or either, start_row, request.start_tier, start is None),
        End(goal or either, goal_row, request.goal_tier, goal is None),
        rows,
        levels,
        _on_subject(material, subject, rows),
        _notices(material, start_row, goal_row),
    )


def _on_subject(material: Material, near: Relevance | None, rows: Rows) -> Mask:
    """Return which nodes have to do with a topic or skill: near to it, or close to a task that matches it."""
    if near is None:
        return np.ones(len(rows), dtype=bool)
    matches = near.levels > 0
    beside = material.near()[:, matches].max(axis=1, initial=-1.0) >= _BESIDE
    return np.asarray(((near.scores >= _ON_SUBJECT) | beside)[rows])


def _require_allowed(material: Material, allowed: Mask, start: int | None, goal: int | None) -> None:
    ids = [card.task_id for card in material.catalogue]
    for row, name in ((start, "start"), (goal, "goal")):
        if row is not None and not allowed[row]:
            raise LimitError(
                f"the {name} {ids[row]!r} is left out by the filter or the exclusions: drop one of the two"
            )
    if start is not None and start == goal:
        raise LimitError(f"start and goal are the same task, {ids[start]!r}: name another goal")


def _notices(material: Material, start: int | None, goal: int | None) -> tuple[str, ...]:
    found = [
        f"{material.catalogue.cards[row].task_id} stands in no tier; as the {name} it is taken for as {ease} as can be"
        for row, name, ease in ((start, "start", "easy"), (goal, "goal", "hard"))
        if row is not None and not material.catalogue.cards[row].tiers
    ]
    if start is not None and goal is not None and material.twins()[start, goal]:
        found.append("start and goal are near twins; both stay because they were asked for")
    return tuple(found)


def _nodes(material: Material, allowed: Mask, start: int | None, goal: int | None) -> tuple[Rows, Rows]:
    """Return task and tier of each node; a start without a tier counts as easiest, such a goal as hardest.

    Raises:
        LimitError: if no task of the pool stands in a tier.
    """
    pairs = []
    for row in np.flatnonzero(allowed).tolist():
        levels = tiers_of(material.catalogue.cards[row])
        if not levels:
            levels = (0,) if row == start else (2,) if row == goal else ()
        pairs += [(row, level) for level in levels]
    if not pairs:
        raise LimitError("no task of the pool stands in a tier, so nothing can rise: widen the pool")
    found = np.asarray(pairs, dtype=np.int64)
    return found[:, 0], found[:, 1]


def _task_row(material: Material, text: str) -> int | None:
    """Return the row of the task that a text names, or None if it is a topic or blank.

    Raises:
        UnknownNameError: if it looks like an id and there is no such task.
    """
    text = text.strip()
    try:
        return material.catalogue.row(text) if text else None
    except UnknownNameError:
        if "/" in text and len(text.split()) == 1:
            raise
        return None


def _relevance(engine: Engine, material: Material, text: str, row: int | None) -> Relevance | None:
    if row is not None:
        return task_relevance(material, row)
    return topic_relevance(engine, text.strip()) if text.strip() else None
