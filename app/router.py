"""From an address to a screen."""

from __future__ import annotations

from ale_semantic.errors import AleSemanticError

from . import search_tab, task_view
from .context import Screen, Site
from .state import State
from .tabs import TABS


def screen(site: Site, query: str) -> Screen:
    """Return what an address shows; a fault of the user's becomes a screen that says how to mend it."""
    state = State.from_query(query)
    try:
        if state.task:
            return task_view.view(site, state)
        views = {entry.tab: entry.view for entry in TABS}
        return views.get(state.tab, search_tab.view)(site, state)
    except AleSemanticError as fault:
        return search_tab.fault_view(state, fault)
