"""The Curriculum tab: a chooser of views; each has a form, examples, and an answer that can be kept as files."""

from __future__ import annotations

from typing import Any

from ale_semantic.curriculum import LimitError
from ale_semantic.curriculum.time_limit import time_limit
from ale_semantic.errors import AleSemanticError, CurriculumError

from ..conditions import chips, condition_of
from ..context import Screen, Site
from ..facet_panel import panel
from ..search_tab import ways_out
from ..state import State
from ..view import render
from . import coverage, duplicates, ladders, path, prerequisites, split, subset, topics
from .asking import Answer, Ask, CurriculumView, ViewEntry
from .refusals import Refusal, refusal_of, status_of

SECONDS = 20.0  # a visitor waits no longer; usual answers take a tenth of a second
VIEWS: tuple[ViewEntry, ...] = (
    ViewEntry(
        CurriculumView.PATH,
        "Path",
        "An ordered list of tasks from a start to a goal. None is easier than the one before, and each builds on it.",
        path.answer,
        path.examples,
    ),
    ViewEntry(
        CurriculumView.LADDERS,
        "Ladders",
        "Tasks of the same work at rising difficulty: all there are, or the one that a task stands on.",
        ladders.answer,
        ladders.examples,
    ),
    ViewEntry(
        CurriculumView.SUBSET,
        "Subset",
        "A few tasks that together stand for all of them, for a filter, or for a topic.",
        subset.answer,
        subset.examples,
    ),
    ViewEntry(
        CurriculumView.SPLIT,
        "Train and test",
        "Two sets of tasks without a near twin on the other side, alike in domains and tiers.",
        split.answer,
        split.examples,
    ),
    ViewEntry(
        CurriculumView.COVERAGE,
        "Coverage",
        "How many tasks there are by domain, tier and skill, and where there are none. Each number opens those tasks.",
        coverage.answer,
        coverage.examples,
        lambda ask: "Only tasks that pass the filters are counted.",
    ),
    ViewEntry(
        CurriculumView.TOPICS,
        "Topics",
        "Your own topics, such as a syllabus: the best task for each, and what is covered weakly or not at all.",
        topics.answer,
        topics.examples,
    ),
    ViewEntry(
        CurriculumView.DUPLICATES,
        "Duplicates",
        "Tasks that are almost the same as another, or as a task of your own, with the text they share.",
        duplicates.answer,
        duplicates.examples,
        duplicates.facets,
    ),
    ViewEntry(
        CurriculumView.PREREQUISITES,
        "Prerequisites",
        "What a task needs, which tasks at a lower or equal tier train that, and what it opens up.",
        prerequisites.answer,
        prerequisites.examples,
        lambda ask: "Only tasks that pass the filters are named.",
    ),
)


def entry_of(ask: Ask) -> ViewEntry:
    """Return the view that the address names."""
    wanted = ask.given.choice(CurriculumView, "view") or CurriculumView.PATH
    return next(entry for entry in VIEWS if entry.view is wanted)


def view(site: Site, state: State) -> Screen:
    """Return the curriculum tab.

    Raises:
        FilterError: if the filter can't be understood.
    """
    ask = Ask.of(site, state)
    entry = entry_of(ask)
    # Facets before the answer: a wrong filter is told by the whole page, where it can be mended.
    facets = panel(site.engine.facets(where=condition_of(state)), state, "all tasks")
    answer, refusal, message = answer_of(ask, entry)
    shown: dict[str, Any] = dict(answer.shown) if answer is not None else {}
    html = render(
        "curriculum/tab.html",
        ask=ask,
        state=state,
        views=VIEWS,
        entry=entry,
        facets_say=entry.facets(ask),
        panel=facets,
        chips=list(chips(state)),
        answer=answer,
        shown=shown,
        refusal=refusal,
        ways_out=ways_out(site, state) if refusal is not None and refusal.is_empty else [],
        message=message,
        examples=entry.examples(ask),
        quota_links=subset.quota_links(ask) if entry.view is CurriculumView.SUBSET else [],
        steps=path.STEPS,
        problems=(*state.problems, *ask.given.problems),
    )
    return Screen(html, f"{entry.label} – Curriculum – ALE Semantic", _status(entry, answer, refusal, message))


def answer_of(ask: Ask, entry: ViewEntry) -> tuple[Answer | None, Refusal | None, str]:
    """Return a view's answer, or why there is none: a refusal with an offer, or one sentence."""
    try:
        with time_limit(SECONDS):
            return entry.answer(ask), None, ""
    except LimitError as fault:
        return None, refusal_of(ask, fault), ""
    except AleSemanticError as fault:
        return None, None, str(fault)


def list_of(site: Site, state: State, part: int) -> tuple[Answer, int]:
    """Return an address's answer, and which of its lists is meant.

    Raises:
        AleSemanticError: if there is no answer, or no such list.
    """
    ask = Ask.of(site, state)
    with time_limit(SECONDS):
        answer = entry_of(ask).answer(ask)
    if answer is None:
        raise CurriculumError("there is nothing to keep yet: fill in the form first")
    if not 0 <= part < max(1, len(answer.lists)):
        raise CurriculumError("this list is no longer there: reload the page")
    return answer, part


def _status(entry: ViewEntry, answer: Answer | None, refusal: Refusal | None, message: str) -> str:
    if refusal is not None:
        return status_of(refusal)
    return message or (answer.status if answer is not None else entry.lead)
