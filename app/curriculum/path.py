"""Path: an ordered list from a start to a goal."""

from __future__ import annotations

from typing import Any

from ale_semantic.curriculum import Curriculum, PathRequest, skill_steps
from ale_semantic.curriculum import path as find_path
from ale_semantic.curriculum.path_request import MOST_STEPS
from ale_semantic.types import Tier

from ..labels import plural
from .asking import Answer, Ask, CurriculumView, Example

# Closeness of neighbours to choose from, in words.
STEPS = (
    ("0.3", "same kind of work (0.3)"),
    ("0.15", "closely related (0.15)"),
    ("0", "related (0)"),
    ("-0.2", "any link (-0.2)"),
    ("-1", "no matter (-1)"),
)
_OWN = (
    "view",
    "start",
    "goal",
    "skill",
    "length",
    "start_tier",
    "goal_tier",
    "min_step",
    "max_step",
    "max_new_skills",
    "max_tier_jump",
)


def request_of(ask: Ask) -> PathRequest:
    """Return the path that the address asks for.

    Raises:
        CurriculumError: if its parts contradict each other.
    """
    given = ask.given
    jump = given.whole("max_tier_jump", 0, 2)
    most = given.number("max_step", -1, 1)
    return PathRequest(
        start=ask.end("start"),
        goal=ask.end("goal"),
        skill=given.text("skill"),
        length=given.whole("length", 2, MOST_STEPS),
        start_tier=given.choice(Tier, "start_tier"),
        goal_tier=given.choice(Tier, "goal_tier"),
        min_step=given.number("min_step", -1, 1),
        max_step=1.0 if most is None else most,
        max_new_skills=given.whole("max_new_skills", 0, 50),
        max_tier_jump=1 if jump is None else jump,
        pool=ask.pool,
        allow_twins=given.flag("twins"),
    )


def parameters_of(request: PathRequest) -> dict[str, Any]:
    """Return the parameters that ask for a path, None where one is as usual."""
    return {
        "view": CurriculumView.PATH,
        "start": request.start,
        "goal": request.goal,
        "skill": request.skill,
        "length": request.length,
        "start_tier": request.start_tier,
        "goal_tier": request.goal_tier,
        "min_step": request.min_step,
        "max_step": request.max_step if request.max_step < 1 else None,
        "max_new_skills": request.max_new_skills,
        "max_tier_jump": request.max_tier_jump if request.max_tier_jump != 1 else None,
        "twins": request.allow_twins,
        "exclude": request.pool.exclude,
    }


def answer(ask: Ask) -> Answer | None:
    """Return the path, or None before one is asked for.

    Raises:
        LimitError: if no path meets all limits.
    """
    if not ask.given.has_any(*_OWN):
        return None
    result = find_path(ask.site.engine, request_of(ask))
    kept = Curriculum.of_path(result)
    table = skill_steps(ask.site.engine, kept)
    return Answer(
        record=result,
        shown={"result": result, "ends": _ends(ask, result.request), "table": table},
        status=f"A path of {plural(len(result.steps), 'task')}",
        lists=(kept,),
        notices=result.notices,
    )


def _ends(ask: Ask, request: PathRequest) -> str:
    """Return in words how start and goal were understood."""
    start = f"From {_end(ask, request.start)}" if request.start else "From anywhere"
    if request.skill:
        return f"{start} to the skill “{request.skill}”"
    return f"{start} to {_end(ask, request.goal)}" if request.goal else f"{start} to the hardest tasks"


def _end(ask: Ask, text: str) -> str:
    card = ask.site.card(text)
    return f"the task “{card.title}”" if card is not None else f"the topic “{text}”"


def examples(ask: Ask) -> list[Example]:
    """Return paths that this catalogue has."""
    return [Example(label, ask.fresh(CurriculumView.PATH, **given)) for label, given in ask.site.starters().paths]
