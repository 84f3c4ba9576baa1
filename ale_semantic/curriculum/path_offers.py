"""Why there is no path, and the nearest one: each limit is loosened by itself to see which stands in the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ale_semantic.curriculum.path_request import MOST_STEPS, PathRequest, PathResult
from ale_semantic.curriculum.records import Pool
from ale_semantic.errors import LimitError
from ale_semantic.types import FailedLimit

Find = Callable[[PathRequest], PathResult | None]

TOGETHER = "with the others"  # what is asked of a limit that stands in the way only together with others
_STEP_SLACKS = (0.05, 0.1, 0.2, 0.4, 2.0)
_SKILL_SLACKS = (1, 2, 4, 8)


def refusal(request: PathRequest, find: Find, *, cut_short: bool = False) -> LimitError:
    """Return the error that names the failing limits and offers the nearest path.

    Args:
        request: what can't be met.
        find: returns the path of a request, or None.
        cut_short: the search for it was ended before all ways were looked at.
    """
    least = (
        "no path was found that meets all limits (the search was cut short)"
        if cut_short
        else "no path meets all limits"
    )
    failed: list[FailedLimit] = []
    offers: list[PathResult] = []
    for limit, asked, looser in _loosened(request):
        for variant in looser:
            found = find(variant)
            if found is not None:
                failed.append(FailedLimit(limit, asked, _would_do(limit, found)))
                offers.append(found)
                break
    if failed:
        ways = "; or ".join(map(str, failed))
        return LimitError(f"{least}. In the way: {ways}. {_offer(offers[0])}", failed=failed, nearest=offers[0])
    return _without_single_cause(request, find)


def _without_single_cause(request: PathRequest, find: Find) -> LimitError:
    """Loosen all limits that may be loosened; what then remains is in the start, the goal or the pool."""
    limits = tuple(limit for limit, _, _ in _loosened(request))
    kept = find(replace(request, length=None, min_step=-1.0, max_step=1.0, max_new_skills=None, max_tier_jump=2))
    free = kept or find(
        PathRequest(
            start=request.start,
            goal=request.goal,
            skill=request.skill,
            min_step=-1.0,
            max_tier_jump=2,
            allow_twins=True,
        )
    )
    if free is None:
        return LimitError(
            "no path leads from the start to the goal even without the limits: the pool holds too few tasks with "
            "a tier. Widen the pool"
        )
    failed = tuple(FailedLimit(limit, TOGETHER, "loosen several") for limit in limits)
    names = ", ".join(limits)
    return LimitError(f"no path meets {names} together. {_offer(free)}", failed=failed, nearest=free)


def _loosened(request: PathRequest) -> Iterator[tuple[str, str, Iterator[PathRequest]]]:
    """Yield each limit that was set, what it asks, and looser requests, the nearest first."""
    pool = request.pool
    if request.length is not None:
        yield "length", str(request.length), _other_lengths(request, request.length)
    if request.min_step is not None:
        least = request.min_step
        yield "min_step", f"{least:g}", (replace(request, min_step=least - by) for by in _STEP_SLACKS)
    if request.max_step < 1:
        yield (
            "max_step",
            f"{request.max_step:g}",
            (replace(request, max_step=request.max_step + by) for by in _STEP_SLACKS),
        )
    if request.max_new_skills is not None:
        most = request.max_new_skills
        yield "max_new_skills", str(most), (replace(request, max_new_skills=most + by) for by in _SKILL_SLACKS)
    if request.max_tier_jump < 2:
        jumps = range(request.max_tier_jump + 1, 3)
        yield "max_tier_jump", str(request.max_tier_jump), (replace(request, max_tier_jump=jump) for jump in jumps)
    if request.start_tier is not None:
        yield "start_tier", str(request.start_tier), iter([replace(request, start_tier=None)])
    if request.goal_tier is not None:
        yield "goal_tier", str(request.goal_tier), iter([replace(request, goal_tier=None)])
    for name, value in pool.to_dict().items():
        if value:
            looser = _without(pool, name)
            yield name, str(value), iter([replace(request, pool=looser)])
    if not request.allow_twins:
        yield "near twins", "kept out", iter([replace(request, allow_twins=True)])


def _without(pool: Pool, name: str) -> Pool:
    """Return the pool without one of its parts."""
    match name:
        case "where":
            return replace(pool, where="")
        case "domains":
            return replace(pool, domains=())
        case "systems":
            return replace(pool, systems=())
    return replace(pool, exclude=())


def _other_lengths(request: PathRequest, length: int) -> Iterator[PathRequest]:
    for by in range(1, MOST_STEPS):
        for other in (length - by, length + by):
            if 2 <= other <= min(MOST_STEPS, length + 4):
                yield replace(request, length=other)


def _would_do(limit: str, found: PathResult) -> str:
    near = [step.closeness for step in found.steps if step.closeness is not None]
    match limit:
        case "length":
            return f"{len(found.steps)} would do"
        case "min_step":
            return f"{min(near):.2f} would do"
        case "max_step":
            return f"{max(near):.2f} would do"
        case "max_new_skills":
            return f"{max(len(step.new_skills) for step in found.steps[1:])} would do"
        case "max_tier_jump":
            return f"{found.request.max_tier_jump} would do"
        case "near twins":
            return "there is one with near twins"
    return "there is one without it"


def _offer(found: PathResult) -> str:
    return f"Nearest: {' > '.join(found.task_ids)}"
