"""What can't be met, in everyday words: which limit fails, and the nearest as a link."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ale_semantic.curriculum import LimitError, PathResult, SubsetResult, TaskRef
from ale_semantic.curriculum.path_offers import TOGETHER
from ale_semantic.errors import EmptyPoolError

from ..labels import plural
from . import parameters, path, subset
from .asking import Ask, changes_of_pool

_LIMITS = {
    "length": "Number of tasks",
    "size": "Number of tasks",
    "min_step": "Least closeness of two steps",
    "max_step": "Greatest closeness of two steps",
    "max_new_skills": "New skills a step",
    "max_tier_jump": "Tiers a step may rise",
    "start_tier": "Tier of the first task",
    "goal_tier": "Tier of the last task",
    "where": "Filter",
    "domains": "Domains",
    "systems": "Systems",
    "exclude": "Tasks left out",
    "near twins": "Near twins",
    "quota": "Quota",
}


@dataclass(frozen=True, slots=True)
class Failed:
    """One limit that stands in the way."""

    label: str
    asked: str
    nearest: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no answer; `tasks` and `href` are the nearest one, if there is any."""

    message: str
    failed: tuple[Failed, ...]
    tasks: tuple[TaskRef, ...]
    href: str
    is_empty: bool


def refusal_of(ask: Ask, fault: LimitError) -> Refusal:
    """Return a refusal for reading."""
    tasks, href = _offer(ask, fault)
    failed = tuple(
        Failed(_LIMITS.get(each.limit, each.limit), "", "")
        if each.asked == TOGETHER
        else Failed(_LIMITS.get(each.limit, each.limit), each.asked, each.nearest)
        for each in fault.failed
    )
    return Refusal(_message(ask, fault), failed, tasks, href, isinstance(fault, EmptyPoolError))


def _message(ask: Ask, fault: LimitError) -> str:
    """Return what comes before the list of failed limits, which the engine's own message would say once more."""
    if isinstance(fault, EmptyPoolError):
        return "The filters leave no task."
    if any(each.asked == TOGETHER for each in fault.failed):
        return "These limits can't be met together. Loosen several of them:"
    first = re.split(r"[.;] in the way: ", str(fault), maxsplit=1, flags=re.IGNORECASE)[0]
    said = ask.reads(first)
    return f"{said} In the way:" if fault.failed else said


def _offer(ask: Ask, fault: LimitError) -> tuple[tuple[TaskRef, ...], str]:
    match fault.nearest:
        case PathResult() as nearest:
            changes = changes_of_pool(ask.state, nearest.request.pool)
            given = path.parameters_of(nearest.request)
            return tuple(step.task for step in nearest.steps), parameters.link(ask.state, given, **changes)
        case SubsetResult() as nearest:
            given = subset.parameters_of(nearest.request)
            return tuple(pick.task for pick in nearest.picks), parameters.link(ask.state, given)
    return (), ""


def status_of(refusal: Refusal) -> str:
    """Return the sentence that a screen reader hears."""
    offer = f" The nearest has {plural(len(refusal.tasks), 'task')}." if refusal.tasks else ""
    return f"Not possible: {refusal.message}{offer}"
