"""The search tab: query, facets, verdict, hits."""

from __future__ import annotations

from ale_semantic.errors import AleSemanticError, FilterError
from ale_semantic.types import Band, Mode, SearchResult, Verdict

from .conditions import Chip, chips, condition_of
from .context import Screen, Site
from .facet_panel import panel
from .labels import plural
from .results import banner, columns, page_of, pager, sorted_hits, status
from .state import PAGE_SIZES, Sort, State
from .view import render


def answer(site: Site, state: State) -> SearchResult:
    """Return the hits of a state's page; in another order than relevance, all hits.

    The ranking cuts nothing off: without it, far tasks would stand first. So only related ones are listed then,
    unless there are none.

    Raises:
        AleSemanticError: if the query or the filter can't be served.
    """
    if state.sort is Sort.RELEVANCE:
        return _search(site, state, state.size, state.offset, state.band)
    everything = max(1, len(site.engine.catalogue))
    result = _search(site, state, everything, 0, state.band or Band.WEAK)
    return result if result.total else _search(site, state, everything, 0, state.band)


def _search(site: Site, state: State, k: int, offset: int, band: Band | None) -> SearchResult:
    return site.engine.search(
        state.query,
        where=condition_of(state),
        k=k,
        offset=offset,
        mode=state.mode,
        min_band=band if state.query else None,
        ignore=state.ignore,
    )


def view(site: Site, state: State) -> Screen:
    """Return the search tab."""
    try:
        result = answer(site, state)
    except AleSemanticError as fault:
        return fault_view(state, fault)
    hits = list(result.hits)
    if state.sort is not Sort.RELEVANCE:
        hits = page_of(sorted_hits(hits, state), state)
    html = render(
        "search.html",
        state=state,
        result=result,
        hits=hits,
        browse=not result.query,
        banner=banner(result),
        chips=[*understood(state, result), *chips(state)],
        offers=offers(state, result),
        ways_out=ways_out(site, state) if result.verdict is Verdict.FILTERED_OUT else [],
        panel=panel(result.facets, state, result.counted),
        pager=pager(state, result.total),
        columns=columns(state),
        sorts=list(Sort),
        modes=list(Mode),
        sizes=PAGE_SIZES,
        examples=site.examples(),
    )
    title = f"{state.query} – ALE Semantic" if state.query else "ALE Semantic"
    return Screen(html, title, status(result))


def understood(state: State, result: SearchResult) -> list[Chip]:
    """Return the parts of the query that were taken for more than words; without one, it is mere words."""
    return [
        Chip(f"“{part.phrase}”", part.label, state.link(ignore=(*state.ignore, part.key)))
        for part in result.recognised
        if part.applied
    ]


def offers(state: State, result: SearchResult) -> list[Chip]:
    """Return the filters that the query's words suggest."""
    found = []
    for part in result.recognised:
        if not part.applied and part.where:
            where = f"({state.where}) and {part.where}" if state.where else part.where
            found.append(Chip(f"“{part.phrase}”", part.label, state.link(where=where)))
    return found


def ways_out(site: Site, state: State) -> list[Chip]:
    """Return the parts of a filter that leaves nothing, each with the number of tasks without it."""
    found = []
    for chip in chips(state):
        without = State.from_query(chip.href)
        try:
            passing = int(site.engine.facet_table.mask(condition_of(without)).sum())
        except FilterError:
            continue
        if passing:
            found.append(Chip(f"Without {chip.label}: {chip.value}", plural(passing, "task"), chip.href))
    return found


def fault_view(state: State, fault: AleSemanticError) -> Screen:
    """Return a page that says what is wrong with the request and how to mend it."""
    html = render(
        "fault.html",
        message=str(fault),
        pointer=fault.pointer() if isinstance(fault, FilterError) else "",
        chips=list(chips(state)),
        state=state,
    )
    return Screen(html, "Not understood – ALE Semantic", f"Not understood: {fault}")
