"""From the ticked facets and the filter expression of the page to one condition, and to its removable parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ale_semantic.filters import Condition, all_of, any_of, field, parse

from .labels import field_label, value_label
from .state import State

_SINGLE_CHIPS = 3  # more tasks than this, as a brush on the map chooses them, share one chip


@dataclass(frozen=True, slots=True)
class Chip:
    """One active part of the filter: what it says, and the link without it."""

    label: str
    value: str
    href: str


def condition_of(state: State) -> Condition | None:
    """Return the filter of a state: values of one facet are alternatives, facets narrow each other.

    Raises:
        FilterError: if the expression or a field's name can't be understood.
    """
    names = dict.fromkeys([*(name for name, _ in state.chosen), *state.missing])
    parts: list[Condition | None] = [_facet_condition(state, name) for name in names]
    return all_of([*parts, parse(state.where)])


def _facet_condition(state: State, name: str) -> Condition | None:
    values = state.values(name)
    choices: list[Condition] = [field(name).is_in(*values)] if values else []
    if name in state.missing:
        choices.append(field(name).is_missing())
    return any_of(choices)


def chips(state: State) -> Iterator[Chip]:
    """Yield the active parts of the filter in the order they were set."""
    tasks = state.values("task_id")
    if len(tasks) > _SINGLE_CHIPS:
        rest = tuple(pair for pair in state.chosen if pair[0] != "task_id")
        yield Chip("Only", f"{len(tasks)} chosen tasks", state.link(chosen=rest))
    for name, value in state.chosen:
        if name == "task_id" and len(tasks) > _SINGLE_CHIPS:
            continue
        yield Chip(field_label(name), value_label(name, value), state.toggled(name, value))
    for name in state.missing:
        yield Chip(field_label(name), "not given", state.toggled_missing(name))
    if state.where:
        yield Chip("Filter", state.where, state.link(where=""))
    if state.band is not None:
        yield Chip("Match", f"{state.band} or better", state.link(band=None))
