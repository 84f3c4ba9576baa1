"""One task for reading: the whole card, why it matched, and its neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ale_semantic.errors import UnknownNameError
from ale_semantic.filters import field
from ale_semantic.types import Hit, TaskCard

from .context import Screen, Site
from .curriculum.asking import CurriculumView, Example
from .curriculum.parameters import fresh
from .search_tab import fault_view
from .state import State, Tab
from .view import render

_NEIGHBOURS = 6
_LADDER = 3
_LOOKED_AT = 40  # neighbours among which harder and easier tasks are sought


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Tasks near one task, nearest first."""

    twins: tuple[TaskCard, ...]
    similar: tuple[TaskCard, ...]
    easier: tuple[TaskCard, ...]
    harder: tuple[TaskCard, ...]


def view(site: Site, state: State) -> Screen:
    """Return the task that the state opens."""
    try:
        card = site.engine.catalogue.get(state.task)
    except UnknownNameError as fault:
        return fault_view(state, fault)
    html = render(
        "task.html",
        state=state,
        card=card,
        why=why(site, state),
        neighbours=neighbours(site, card),
        back=state.link(task=""),
        back_label=_back_label(state),
        base=State(tab=state.tab, query=state.query),
        curriculum=curriculum_links(card),
    )
    return Screen(html, f"{card.title} – ALE Semantic", f"Task: {card.title}")


def curriculum_links(card: TaskCard) -> tuple[Example, ...]:
    """Return where the Curriculum tab leads on from a task."""
    task = card.task_id
    return (
        Example("Ladder", fresh(State(), CurriculumView.LADDERS, task=task)),
        Example("Prerequisites", fresh(State(), CurriculumView.PREREQUISITES, task=task)),
        Example("Path from here", fresh(State(), CurriculumView.PATH, start=task)),
        Example("Path to here", fresh(State(), CurriculumView.PATH, goal=task)),
    )


def why(site: Site, state: State) -> Hit | None:
    """Return the task as a hit of the state's query, None without a query."""
    if not state.query:
        return None
    only = field("task_id") == state.task
    hits = site.engine.search(state.query, where=only, k=1, mode=state.mode, facets=False, understand=False).hits
    return hits[0] if hits else None


def neighbours(site: Site, card: TaskCard) -> Neighbours:
    """Return the tasks near a task."""
    if len(site.engine.catalogue) < 2:
        return Neighbours((), (), (), ())
    near = [hit.card for hit in site.engine.similar(card.task_id, k=_LOOKED_AT, facets=False).hits]
    twins = site.twins(card.task_id)
    return Neighbours(
        twins=twins,
        similar=tuple(other for other in near if other not in twins)[:_NEIGHBOURS],
        easier=_on_other_level(near, card, harder=False),
        harder=_on_other_level(near, card, harder=True),
    )


def _on_other_level(near: Sequence[TaskCard], card: TaskCard, *, harder: bool) -> tuple[TaskCard, ...]:
    """Return the nearest tasks that stand only in tiers above, or only in tiers below, the card's own."""
    if not card.tiers:
        return ()
    lowest, highest = card.tiers[0].level, card.tiers[-1].level
    found = [
        other
        for other in near
        if other.tiers and (other.tiers[0].level > highest if harder else other.tiers[-1].level < lowest)
    ]
    return tuple(found[:_LADDER])


def _back_label(state: State) -> str:
    names = {Tab.SEARCH: "results", Tab.SIMILAR: "similar tasks", Tab.CURRICULUM: "the curriculum"}
    return f"Back to {names.get(state.tab, str(state.tab))}"
