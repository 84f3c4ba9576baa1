"""Examples to click that have an answer in the catalogue at hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from ale_semantic.curriculum import LadderRequest, LimitError, PathRequest, ladders
from ale_semantic.curriculum import path as find_path
from ale_semantic.types import Tier

if TYPE_CHECKING:
    from ale_semantic.engine import Engine

_FEW = 3
_MOST = 5  # example paths
_LEAST_STEPS = 4
Parameters = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Starters:
    """Paths with their parameters, and tasks with which ladders begin and end."""

    paths: tuple[tuple[str, Parameters], ...]
    low_rungs: tuple[str, ...]
    high_rungs: tuple[str, ...]


def find_starters(engine: Engine, topics: Sequence[str]) -> Starters:
    """Look for the examples, with topics that have a clear answer; those without an answer are left out."""
    found = ladders(engine, LadderRequest()).ladders[:_FEW] if len(engine.catalogue) > 1 else ()
    paths = islice(
        ((label, given) for label, given in _paths(engine, topics) if _is_worth_a_click(engine, given)), _MOST
    )
    low = tuple(ladder.task_ids[0] for ladder in found)
    return Starters(tuple(paths), low, tuple(ladder.task_ids[-1] for ladder in found))


def _paths(engine: Engine, topics: Sequence[str]) -> Iterator[tuple[str, Parameters]]:
    yield from ((f"Up to “{topic}”", {"goal": topic}) for topic in topics[:_FEW])
    if len(topics) > 1:
        yield f"From “{topics[-1]}” to “{topics[0]}”", {"start": topics[-1], "goal": topics[0]}
    skills = engine.skills
    if skills is not None:
        counts = Counter(skill for row in range(len(engine.catalogue)) for skill in skills.skills_of(row))
        yield from (
            (f"Learn: {skills.name(skill)}", {"skill": skills.name(skill)}) for skill, _ in counts.most_common(2)
        )
    yield "From the easiest tasks to the hardest", {"start_tier": Tier.NEAR_TERM, "goal_tier": Tier.LAST_EXAM}


def _is_worth_a_click(engine: Engine, given: Parameters) -> bool:
    try:
        return len(find_path(engine, PathRequest(**given)).steps) >= _LEAST_STEPS
    except LimitError:
        return False
