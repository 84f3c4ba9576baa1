"""The similar tab: tasks like some, unlike others, or like a text of one's own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ale_semantic.errors import AleSemanticError
from ale_semantic.types import SearchResult, Verdict

from .conditions import chips, condition_of
from .context import Screen, Site
from .facet_panel import panel
from .labels import plural, value_label
from .results import pager
from .search_tab import fault_view, ways_out
from .state import State
from .view import render


@dataclass(frozen=True, slots=True)
class Example:
    """One task that the answer shall be like, or unlike."""

    task_id: str
    title: str
    without: str


@dataclass(frozen=True, slots=True)
class Choice:
    """A filter that comes to mind from the chosen task."""

    label: str
    href: str


def answer(site: Site, state: State) -> SearchResult:
    """Return the tasks near the state's tasks and text.

    Raises:
        AleSemanticError: if the request can't be served.
    """
    state = resolved(site, state)
    return site.engine.similar(
        *state.like,
        unlike=state.unlike,
        text=state.text,
        where=condition_of(state),
        k=state.size,
        offset=state.offset,
        min_band=state.band,
    )


def view(site: Site, state: State) -> Screen:
    """Return the similar tab; with nothing to be near to, it asks for it."""
    result = None
    state = resolved(site, state)
    if state.like or state.text:
        try:
            result = answer(site, state)
        except AleSemanticError as fault:
            return fault_view(state, fault)
    html = render(
        "similar.html",
        state=state,
        result=result,
        likes=_examples(site, state, "like"),
        unlikes=_examples(site, state, "unlike"),
        choices=choices(site, state),
        cards=site.engine.catalogue.cards,
        chips=list(chips(state)),
        ways_out=ways_out(site, state) if result and result.verdict is Verdict.FILTERED_OUT else [],
        panel=panel(result.facets, state, result.counted) if result else None,
        pager=pager(state, result.total) if result else None,
    )
    status = f"{plural(result.total, 'task')}, the nearest first" if result else "Name a task or paste a text"
    return Screen(html, "Similar – ALE Semantic", status)


def resolved(site: Site, state: State) -> State:
    """Return the state with ids where its tasks are named by title, or by a part that only one task has."""
    return replace(
        state,
        like=tuple(dict.fromkeys(map(site.task_id, state.like))),
        unlike=tuple(dict.fromkeys(map(site.task_id, state.unlike))),
    )


def choices(site: Site, state: State) -> list[Choice]:
    """Return the filters that come to mind from the first task: its domain, system and tiers, or other domains."""
    card = site.card(state.like[0]) if state.like else None
    if card is None:
        return []
    given = {"domain": (card.domain,), "os": (card.os,) if card.os else (), "tier": card.tiers}
    names = {"domain": "Same domain", "os": "Same system", "tier": "Same tier"}
    found = []
    for field, values in given.items():
        others = tuple(pair for pair in state.chosen if pair[0] != field)
        wanted = tuple((field, str(value)) for value in values)
        if wanted and not state.values(field):
            label = f"{names[field]}: {', '.join(value_label(field, value) for _, value in wanted)}"
            found.append(Choice(label, state.link(chosen=(*others, *wanted))))
    if not state.where and not state.values("domain"):
        found.append(Choice("Other domains", state.link(where=f"domain != {card.domain}")))
    return found


def _examples(site: Site, state: State, side: str) -> list[Example]:
    ids: tuple[str, ...] = getattr(state, side)
    found = []
    for task_id in ids:
        card = site.card(task_id)
        rest = tuple(other for other in ids if other != task_id)
        found.append(Example(task_id, card.title if card else task_id, state.link(**{side: rest})))
    return found
