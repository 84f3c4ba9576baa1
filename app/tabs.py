"""The tabs of the page, in the order of the navigation: one module each, one function from state to screen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from . import map_tab, overview_tab, search_tab, selection_tab, similar_tab
from .context import Screen, Site
from .curriculum import tab as curriculum_tab
from .state import State, Tab


@dataclass(frozen=True, slots=True)
class TabEntry:
    """One tab: its name in the address, its label, and what shows it."""

    tab: Tab
    label: str
    view: Callable[[Site, State], Screen]


TABS: tuple[TabEntry, ...] = (
    TabEntry(Tab.SEARCH, "Search", search_tab.view),
    TabEntry(Tab.SIMILAR, "Similar", similar_tab.view),
    TabEntry(Tab.CURRICULUM, "Curriculum", curriculum_tab.view),
    TabEntry(Tab.MAP, "Map", map_tab.view),
    TabEntry(Tab.OVERVIEW, "Overview", overview_tab.view),
    TabEntry(Tab.SELECTION, "Selection", selection_tab.view),
)
