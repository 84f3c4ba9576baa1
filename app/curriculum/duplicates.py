"""Duplicates: near twins within the catalogue, and between it and tasks that the user pastes."""

from __future__ import annotations

from enum import StrEnum

from ale_semantic.curriculum import TwinThresholds, leaks, parse_own_tasks
from ale_semantic.curriculum import duplicates as find_duplicates
from ale_semantic.curriculum.own_tasks import kind_of
from ale_semantic.errors import CurriculumError

from ..labels import plural
from .asking import Answer, Ask, CurriculumView, Example

SHOWN = 60  # pairs: more say that the thresholds are too low
MOST_OWN = 100  # own tasks: each is embedded while the visitor waits
OWN_EXAMPLE = (
    "Match the payments on a bank statement with the open invoices of three suppliers, and list what is missing.\n\n"
    "Write a limerick about a sleepy cat."
)


class OwnKind(StrEnum):
    """How pasted tasks are written."""

    JSONL = "jsonl"
    CSV = "csv"
    TEXT = "txt"


def thresholds_of(ask: Ask) -> TwinThresholds:
    """Return from where on two tasks are near twins."""
    usual = TwinThresholds()
    wording, closeness = ask.given.number("wording", 0.01, 2), ask.given.number("closeness", 0.01, 2)
    return TwinThresholds(
        wording=usual.wording if wording is None else wording,
        closeness=usual.closeness if closeness is None else closeness,
    )


def answer(ask: Ask) -> Answer:
    """Return the pairs of the catalogue, or the nearest task of each of the user's own.

    Raises:
        CurriculumError: if the pasted tasks can't be read.
        LimitError: if the filter leaves no task.
    """
    limits = thresholds_of(ask)
    if ask.given.text("own"):
        return _leaks(ask, limits)
    report = find_duplicates(
        ask.site.engine, thresholds=limits, pool=ask.pool, include_weak=ask.given.flag("weak"), most=SHOWN
    )
    ids = dict.fromkeys(task.task_id for pair in report.pairs for task in (pair.first, pair.second))
    return Answer(
        record=report,
        shown={"report": report, "leaks": None, "tasks": len(ids)},
        status=plural(report.found, "pair"),
    )


def _leaks(ask: Ask, limits: TwinThresholds) -> Answer:
    text = ask.given.text("own")
    own = parse_own_tasks(text, kind=str(ask.given.choice(OwnKind, "kind") or kind_of(text)), name="your tasks")
    if len(own) > MOST_OWN:
        raise CurriculumError(
            f"{len(own)} tasks are pasted; at most {MOST_OWN} are compared here. "
            "For more, use: ale-semantic curriculum duplicates --own FILE"
        )
    report = leaks(ask.site.engine, own, thresholds=limits)
    return Answer(
        record=report,
        shown={
            "report": None,
            "leaks": report,
            "pairs": [(leak, task.text) for leak, task in zip(report.tasks, own, strict=True)],
            "tasks": len({leak.nearest.task_id for leak in report.tasks}),
        },
        status=f"Near twins among your tasks: {report.leaks} of {len(report.tasks)}",
    )


def examples(ask: Ask) -> list[Example]:
    """Return a text to compare, and lower thresholds."""
    return [
        Example("Compare two made-up tasks", ask.fresh(CurriculumView.DUPLICATES, own=OWN_EXAMPLE)),
        Example("Pairs worth a look, too", ask.fresh(CurriculumView.DUPLICATES, weak=True)),
    ]


def facets(ask: Ask) -> str:
    """Return what the facets do here."""
    if ask.given.text("own"):
        return "Your tasks are compared with all tasks: the filters play no part here."
    return "Pairs are sought among the tasks that pass the filters."
