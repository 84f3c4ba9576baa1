"""The facet panel: boxes of values with live counts."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from ale_semantic.types import Facet, FacetValue

from .labels import field_label, value_label
from .state import State

_FIRST = ("domain", "tier", "os", "software", "skill", "subdomain", "input_format", "gpu", "licensed", "timeout")
_OPEN = frozenset({"domain", "tier", "os", "software"})
_SEARCHED_FROM = 9  # values from which a box gets a search field of its own
_SHOWN = 7  # values shown before "show all"


@dataclass(frozen=True, slots=True)
class Option:
    """One value of a facet to tick."""

    value: str
    label: str
    count: int
    ticked: bool


@dataclass(frozen=True, slots=True)
class Box:
    """One facet: the options in sight, and the rest, which the browser makes when they are asked for."""

    name: str
    label: str
    options: tuple[Option, ...]
    rest: tuple[Option, ...]
    missing: Option | None
    is_open: bool
    searchable: bool
    ticked: int

    @property
    def rest_as_json(self) -> str:
        """Return the options out of sight as JSON: value, label, count of each."""
        rows = [(option.value, option.label, option.count) for option in self.rest]
        return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Panel:
    """All facets: those that most people use, and the rest; `counted` says what is counted."""

    main: tuple[Box, ...]
    more: tuple[Box, ...]
    counted: str
    ticked: int


def panel(facets: Iterable[Facet], state: State, counted: str) -> Panel:
    """Return the panel for the facets of an answer."""
    by_name = {facet.field: facet for facet in facets if facet.values}
    main = tuple(_box(by_name[name], state) for name in _FIRST if name in by_name)
    more = tuple(_box(facet, state) for name, facet in by_name.items() if name not in _FIRST)
    ticked = len(state.chosen) + len(state.missing) + bool(state.where) + (state.band is not None)
    return Panel(main, more, counted, ticked)


def _box(facet: Facet, state: State) -> Box:
    chosen = set(state.values(facet.field))
    ordered = _ordered((*facet.values, *_absent(facet, chosen)), chosen)
    options = tuple(
        Option(
            value=value.value,
            label=value_label(facet.field, value.value),
            count=value.count,
            ticked=_is_ticked(value, chosen),
        )
        for value in ordered
    )
    shown = max(_SHOWN, sum(option.ticked for option in options))
    missing = None
    if facet.missing or facet.field in state.missing:
        missing = Option(facet.field, "not given", facet.missing, facet.field in state.missing)
    ticked = sum(option.ticked for option in options) + (missing is not None and missing.ticked)
    return Box(
        name=facet.field,
        label=field_label(facet.field),
        options=options[:shown],
        rest=options[shown:],
        missing=missing,
        is_open=facet.field in _OPEN or bool(ticked),
        searchable=len(options) >= _SEARCHED_FROM,
        ticked=ticked,
    )


def _absent(facet: Facet, chosen: set[str]) -> list[FacetValue]:
    """Return the ticked values that no task has, such as a system of the vocabulary that the catalogue lacks."""
    if any(value.selected for value in facet.values):
        return []  # the others are spellings of values that are there
    return [FacetValue(value, 0, True) for value in sorted(chosen - {value.value for value in facet.values})]


def _is_ticked(value: FacetValue, chosen: set[str]) -> bool:
    """Tell whether the address ticks a value, be it in another spelling; the filter expression ticks none."""
    return value.value in chosen or (value.selected and bool(chosen))


def _ordered(values: tuple[FacetValue, ...], chosen: set[str]) -> list[FacetValue]:
    """Put ticked values first, so that none is out of sight; the others keep the facet's order."""
    if len(values) <= _SHOWN:
        return list(values)
    return sorted(values, key=lambda value: not _is_ticked(value, chosen))
