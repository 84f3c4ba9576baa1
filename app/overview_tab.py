"""The overview: how the tasks spread over domains, tiers, systems, software and formats; each number is a link."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ale_semantic.types import Facet, OperatingSystem, TaskCard, Tier

from .conditions import chips, condition_of
from .context import Screen, Site
from .labels import field_label, plural, value_label
from .state import State, Tab
from .view import render

_BARS = 14  # values of a bar chart
_CHARTS = ("software", "input_format", "subdomain", "timeout", "gpu", "licensed")
_NO_TIER = "no tier"
_OTHER_SYSTEM = "system not given"


@dataclass(frozen=True, slots=True)
class Cell:
    """One square of the heat map; `shade` is 0 to 100."""

    count: int
    shade: int
    href: str
    label: str


@dataclass(frozen=True, slots=True)
class HeatMap:
    """Domains by tier and system; totals stand last."""

    groups: tuple[tuple[str, int], ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, str, tuple[Cell, ...], int], ...]
    totals: tuple[int, ...]
    total: int


@dataclass(frozen=True, slots=True)
class Gap:
    """A combination of tier and system that some domains lack."""

    label: str
    domains: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar; `width` is 0 to 100."""

    label: str
    count: int
    width: float
    href: str


@dataclass(frozen=True, slots=True)
class Chart:
    """The most frequent values of one facet, and how many others there are."""

    label: str
    bars: tuple[Bar, ...]
    others: int


def view(site: Site, state: State) -> Screen:
    """Return the overview of the tasks that pass the state's filter."""
    condition = condition_of(state)
    mask = site.engine.facet_table.mask(condition)
    cards = [card for card, passes in zip(site.engine.catalogue, mask, strict=True) if passes]
    facets = site.engine.facets(where=condition)
    search = State(chosen=state.chosen, missing=state.missing, where=state.where)
    table = heat_map(cards, search)
    html = render(
        "overview.html",
        state=state,
        search=search,
        chips=list(chips(state)),
        table=table,
        gaps=gaps(table),
        charts=[chart(facet, search) for facet in _charted(facets)],
        total=len(cards),
        whole=len(site.engine.catalogue),
        tiers=Counter(_tier_count(card) for card in cards),
    )
    return Screen(html, "Overview – ALE Semantic", f"Overview of {plural(len(cards), 'task')}")


def heat_map(cards: Sequence[TaskCard], search: State) -> HeatMap:
    """Count the tasks of each domain by tier and system; a task in two tiers counts under both."""
    places = {(place, card.domain) for card in cards for place in _places(card)}
    systems = [os for os in (*OperatingSystem, None) if any(place[1] == os for place, _ in places)]
    tiers = [tier for tier in (*Tier, None) if any(place[0] == tier for place, _ in places)]
    counts = Counter((card.domain, *place) for card in cards for place in _places(card))
    highest = max(counts.values(), default=1)
    columns = [(tier, os) for tier in tiers for os in systems]
    rows = []
    for domain in sorted({card.domain for card in cards}):
        cells = tuple(_cell(counts[domain, tier, os], highest, search, domain, tier, os) for tier, os in columns)
        total = sum(card.domain == domain for card in cards)
        rows.append((value_label("domain", domain), _link(search, domain, None, None, whole=True), cells, total))
    return HeatMap(
        groups=tuple((str(tier or _NO_TIER), len(systems)) for tier in tiers),
        columns=tuple(_system(os) for _, os in columns),
        rows=tuple(rows),
        totals=tuple(sum(counts[domain, tier, os] for domain in {c.domain for c in cards}) for tier, os in columns),
        total=len(cards),
    )


def gaps(table: HeatMap) -> list[Gap]:
    """Return for each tier and system the domains that have no task there."""
    tiers = [name for name, width in table.groups for _ in range(width)]
    found = []
    for place, (tier, system) in enumerate(zip(tiers, table.columns, strict=True)):
        empty = tuple(label for label, _, cells, _ in table.rows if not cells[place].count)
        if empty and tier != _NO_TIER:
            found.append(Gap(f"{tier}, {system}", empty))
    return found


def chart(facet: Facet, search: State) -> Chart:
    """Return the most frequent values of a facet as bars."""
    used = sorted((value for value in facet.values if value.count), key=lambda value: -value.count)
    longest = used[0].count if used else 1
    bars = tuple(
        Bar(
            value_label(facet.field, value.value),
            value.count,
            100 * value.count / longest,
            search.link(chosen=(*(p for p in search.chosen if p[0] != facet.field), (facet.field, value.value))),
        )
        for value in used[:_BARS]
    )
    return Chart(field_label(facet.field), bars, max(0, len(used) - _BARS))


def _charted(facets: Iterable[Facet]) -> Iterator[Facet]:
    by_name = {facet.field: facet for facet in facets}
    return (by_name[name] for name in _CHARTS if name in by_name and by_name[name].values)


def _places(card: TaskCard) -> Iterator[tuple[Tier | None, OperatingSystem | None]]:
    return ((tier, card.os) for tier in (card.tiers or (None,)))


def _cell(count: int, highest: int, search: State, domain: str, tier: Tier | None, os: OperatingSystem | None) -> Cell:
    label = f"{value_label('domain', domain)}, {tier or _NO_TIER}, {_system(os)}: {plural(count, 'task')}"
    return Cell(count, shade(count, highest), _link(search, domain, tier, os), label)


def _link(search: State, domain: str, tier: Tier | None, os: OperatingSystem | None, *, whole: bool = False) -> str:
    """Return the search that a row or a cell stands for."""
    return narrowed(search, {"domain": domain} if whole else {"domain": domain, "tier": tier, "os": os})


def shade(count: int, highest: int) -> int:
    """Return how dark a count's square is, 0 to 100; small counts stay told apart."""
    share: float = (count / highest) ** 0.6
    return round(100 * share)


def narrowed(search: State, named: Mapping[str, str | None]) -> str:
    """Return a link to a search with one value for each named field, or (None) without any value of it."""
    chosen = [pair for pair in search.chosen if pair[0] not in named]
    chosen += [(name, str(value)) for name, value in named.items() if value]
    missing = {name for name, value in named.items() if not value} | set(search.missing)
    return search.link(tab=Tab.SEARCH, chosen=tuple(chosen), missing=tuple(sorted(missing)))


def _system(os: OperatingSystem | None) -> str:
    return value_label("os", os) if os else _OTHER_SYSTEM


def _tier_count(card: TaskCard) -> str:
    return {0: "none", 1: "one"}.get(len(card.tiers), "several")
