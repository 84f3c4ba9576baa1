"""The map: all tasks in the plane as a picture made of links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ale_semantic.types import Band, SearchResult, TaskCard

from .conditions import chips, condition_of
from .context import Screen, Site
from .labels import field_label, plural, value_label
from .state import State
from .view import render

WIDTH, HEIGHT, MARGIN = 1000, 720, 46
COLORS = ("domain", "tier", "os", "skill")
# Okabe and Ito's colours, told apart with any kind of colour vision; with four shapes they make 24 signs.
_HUES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9")
_SHAPES = ("circle", "square", "triangle", "diamond")
_NONE = "not given"
_LISTED = 12
_HIGHLIGHTED = 20  # where nothing is near the query, its nearest so many are shown all the same


@dataclass(frozen=True, slots=True)
class Sign:
    """One kind of point in the legend."""

    value: str
    label: str
    hue: str
    shape: str
    count: int
    href: str
    ticked: bool


@dataclass(frozen=True, slots=True)
class Point:
    """One task on the map."""

    card: TaskCard
    x: float
    y: float
    sign: Sign
    note: str
    is_hit: bool
    is_faded: bool


@dataclass(frozen=True, slots=True)
class Cluster:
    """A named place on the map."""

    name: str
    x: float
    y: float
    count: int
    href: str


def view(site: Site, state: State) -> Screen:
    """Return the map."""
    result = site.engine.search(
        state.query, where=condition_of(state), k=max(1, len(site.engine.catalogue)), mode=state.mode
    )
    passing = {hit.task_id for hit in result.hits}
    shown = _highlighted(result)
    field = state.color if state.color in _colors(site) else "domain"
    signs = _signs(site, state, field)
    atlas = site.atlas()
    points = []
    for card, (x, y) in zip(site.engine.catalogue, _on_paper(atlas.points), strict=True):
        value = _value(site, card, field)
        note = f"{value_label('domain', card.domain)} · {', '.join(card.tiers) or 'no tier'}"
        faded = card.task_id not in passing or (bool(shown) and card.task_id not in shown)
        points.append(Point(card, x, y, signs[value], note, card.task_id in shown, faded))
    html = render(
        "map.html",
        state=state,
        width=WIDTH,
        height=HEIGHT,
        points=sorted(points, key=lambda point: (not point.is_faded, point.is_hit)),  # hits are drawn last, on top
        clusters=clusters(site, state, points),
        signs=list(signs.values()),
        field=field,
        fields=[(name, field_label(name)) for name in _colors(site)],
        field_name=field_label(field),
        listed=[hit for hit in result.hits if hit.task_id in shown][:_LISTED],
        hits=len(shown),
        passing=len(passing),
        chips=list(chips(state)),
    )
    return Screen(html, "Map – ALE Semantic", f"Map of {plural(len(points), 'task')}, {len(shown)} highlighted")


def clusters(site: Site, state: State, points: Sequence[Point]) -> list[Cluster]:
    """Return the named places, each with a link that filters to its tasks."""
    atlas = site.atlas()
    found = []
    for number, name in enumerate(atlas.names):
        own = [point for point, cluster in zip(points, atlas.clusters, strict=True) if cluster == number]
        others = tuple(pair for pair in state.chosen if pair[0] != "task_id")
        chosen = (*others, *(("task_id", point.card.task_id) for point in own))
        x = float(np.mean([point.x for point in own]))
        y = min(point.y for point in own) - 16
        found.append(Cluster(name, min(max(x, 120), WIDTH - 120), max(y, 18), len(own), state.link(chosen=chosen)))
    return found


def _highlighted(result: SearchResult) -> set[str]:
    """Return the ids of the hits that answer the query, the nearest few if none does."""
    if not result.query:
        return set()
    good = {hit.task_id for hit in result.hits if hit.band is Band.STRONG}
    good = good or {hit.task_id for hit in result.hits if hit.band is Band.WEAK}
    return good or {hit.task_id for hit in result.hits[:_HIGHLIGHTED]}


def _on_paper(points: np.ndarray) -> Iterable[tuple[float, float]]:
    return (
        (round(MARGIN + float(x) * (WIDTH - 2 * MARGIN), 1), round(MARGIN + float(y) * (HEIGHT - 2 * MARGIN), 1))
        for x, y in points
    )


def _colors(site: Site) -> list[str]:
    return [name for name in COLORS if name in site.engine.facet_table.fields]


def _signs(site: Site, state: State, field: str) -> dict[str, Sign]:
    """Return the sign of each value that a task has, in the facet's order."""
    values = [_value(site, card, field) for card in site.engine.catalogue]
    known = [*site.engine.facet_table.values(field), _NONE]
    signs = {}
    for place, value in enumerate(value for value in known if value in values):
        is_none = value == _NONE
        signs[value] = Sign(
            value=value,
            label=_NONE if is_none else value_label(field, value),
            hue="#8a8f99" if is_none else _HUES[place % len(_HUES)],
            shape=_SHAPES[(place // len(_HUES) if field != "tier" else place) % len(_SHAPES)],
            count=values.count(value),
            href=state.toggled_missing(field) if is_none else state.toggled(field, value),
            ticked=field in state.missing if is_none else value in state.values(field),
        )
    return signs


def _value(site: Site, card: TaskCard, field: str) -> str:
    """Return the one value of a card that gives its colour; of several tiers the hardest, of skills the first."""
    if field == "tier":
        return str(max(card.tiers, key=lambda tier: tier.level)) if card.tiers else _NONE
    if field in ("domain", "os"):
        return str(getattr(card, field) or _NONE)
    return _first_values(site, field).get(card.task_id, _NONE)


@lru_cache(maxsize=8)
def _first_values(site: Site, field: str) -> dict[str, str]:
    """Return the first value of a field by task."""
    cards = site.engine.catalogue.cards
    pairs = site.engine.facet_table.columns[field].pairs()
    return {cards[row].task_id: value for row, value in reversed(pairs)}
