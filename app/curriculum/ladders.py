"""Ladders: the same work at rising difficulty, in the whole catalogue and around one task."""

from __future__ import annotations

from ale_semantic.curriculum import Curriculum, LadderRequest
from ale_semantic.curriculum import ladders as find_ladders
from ale_semantic.curriculum.ladders import RUNG_CLOSENESS

from ..labels import plural
from .asking import Answer, Ask, CurriculumView, Example

LEAST, MOST = 0.05, 0.9  # of the slider


def request_of(ask: Ask) -> LadderRequest:
    """Return which ladders the address asks for."""
    task, least = ask.given.text("task"), ask.given.number("min_closeness", -1, 1)
    return LadderRequest(
        task=ask.site.task_id(task) if task else "",
        pool=ask.pool,
        min_closeness=RUNG_CLOSENESS if least is None else least,
    )


def answer(ask: Ask) -> Answer:
    """Return the ladders of the catalogue, or the one that a task stands on.

    Raises:
        LimitError: if the task has no rung above or below it that is close enough.
        UnknownNameError: if the task is unknown.
    """
    result = find_ladders(ask.site.engine, request_of(ask))
    return Answer(
        record=result,
        shown={"result": result},
        status=plural(len(result.ladders), "ladder"),
        lists=tuple(Curriculum.of_ladder(ladder, result.provenance) for ladder in result.ladders),
        notices=result.notices,
    )


def examples(ask: Ask) -> list[Example]:
    """Return tasks that stand on a ladder."""
    return [
        Example(ask.title(task_id), ask.fresh(CurriculumView.LADDERS, task=task_id))
        for task_id in ask.site.starters().low_rungs
    ]
