"""Prerequisites: what a task needs, which tasks train that, and what it opens up."""

from __future__ import annotations

from ale_semantic.curriculum import Curriculum
from ale_semantic.curriculum import prerequisites as find_prerequisites

from .asking import Answer, Ask, CurriculumView, Example


def answer(ask: Ask) -> Answer | None:
    """Return what comes before and after a task, or None before one is named.

    Raises:
        UnknownNameError: if there is no such task.
        LimitError: if the filter leaves no task.
    """
    if not ask.given.text("task"):
        return None
    result = find_prerequisites(ask.site.engine, ask.site.task_id(ask.given.text("task")), pool=ask.pool)
    return Answer(
        record=result,
        shown={"result": result},
        status=f"What {result.task.title} needs and opens up",
        lists=(Curriculum.of_prerequisites(result),),
        notices=result.notices,
    )


def examples(ask: Ask) -> list[Example]:
    """Return tasks that others lead to."""
    return [
        Example(ask.title(task_id), ask.fresh(CurriculumView.PREREQUISITES, task=task_id))
        for task_id in ask.site.starters().high_rungs
    ]
