"""Lists of hits as search and similar show them: cards or table, verdict, order, pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ale_semantic.types import Hit, SearchResult, TaskCard, Verdict

from .labels import plural
from .state import Sort, State

_HIGHEST = 10**9  # tasks without a number or tier stand last
_SORT_KEYS: Mapping[Sort, Callable[[TaskCard], Any]] = {
    Sort.TITLE: lambda card: card.title.casefold(),
    Sort.DOMAIN: lambda card: card.domain,
    Sort.TIER: lambda card: card.tiers[0].level if card.tiers else _HIGHEST,
    Sort.OS: lambda card: card.os or "~",
    Sort.SOFTWARE: lambda card: (card.software_names or ("~",))[0].casefold(),
    Sort.INPUTS: lambda card: len(card.inputs),
    Sort.TIMEOUT: lambda card: card.timeout if card.timeout is not None else _HIGHEST,
}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table: its heading, the link that sorts by it, and how it is sorted now."""

    label: str
    href: str
    aria_sort: str


@dataclass(frozen=True, slots=True)
class Pager:
    """Links to other pages; None in `numbers` stands for numbers left out."""

    current: int
    previous: str | None
    following: str | None
    numbers: tuple[tuple[int, str] | None, ...]
    first: int
    last: int
    total: int


def sorted_hits(hits: Iterable[Hit], state: State) -> list[Hit]:
    """Return hits in the order that the state asks for; equals stay in their order."""
    if state.sort is Sort.RELEVANCE:
        return list(hits)
    key = _SORT_KEYS[state.sort]
    return sorted(hits, key=lambda hit: key(hit.card), reverse=state.descending)


def page_of(hits: Sequence[Hit], state: State) -> list[Hit]:
    """Return the hits of the state's page."""
    return list(hits[state.offset : state.offset + state.size])


def columns(state: State) -> list[Column]:
    """Return the table's columns; a click sorts by one, a second click turns the order round."""
    found = []
    for sort in (Sort.TITLE, Sort.DOMAIN, Sort.TIER, Sort.OS, Sort.SOFTWARE, Sort.INPUTS, Sort.TIMEOUT):
        current = state.sort is sort
        label = {Sort.OS: "System", Sort.INPUTS: "Files", Sort.TIMEOUT: "Limit"}.get(sort, sort.capitalize())
        href = state.link(sort=sort, descending=current and not state.descending)
        found.append(Column(label, href, ("descending" if state.descending else "ascending") if current else "none"))
    return found


def pager(state: State, total: int) -> Pager:
    """Return the links to the other pages of `total` hits."""
    pages = max(1, -(-total // state.size))
    near = {1, pages, *range(state.page - 1, state.page + 2)}
    numbers: list[tuple[int, str] | None] = []
    for number in sorted(number for number in near if 1 <= number <= pages):
        if numbers and numbers[-1] is not None and number > numbers[-1][0] + 1:
            numbers.append(None)
        numbers.append((number, state.link(page=number)))
    return Pager(
        current=state.page,
        previous=state.link(page=state.page - 1) if state.page > 1 else None,
        following=state.link(page=state.page + 1) if state.page < pages else None,
        numbers=tuple(numbers),
        first=min(state.offset + 1, total),
        last=min(state.offset + state.size, total),
        total=total,
    )


@dataclass(frozen=True, slots=True)
class Banner:
    """What the whole answer amounts to, and what to try."""

    kind: str
    headline: str
    advice: str


def banner(result: SearchResult) -> Banner:
    """Return the verdict on an answer in words."""
    total = plural(result.total, "task")
    match result.verdict:
        case Verdict.STRONG:
            return Banner("strong", "Clear matches", f"The best of {total} clearly answer this.")
        case Verdict.WEAK:
            advice = "These come nearest. Name the software, the kind of file or the field of work to sharpen it."
            return Banner("weak", "Related, but no clear match", advice)
        case Verdict.NONE:
            advice = "No task is about this. Try other words for it; what comes nearest is shown all the same."
            return Banner("none", "Nothing fits", advice)
        case Verdict.FILTERED_OUT:
            return Banner("empty", "The filter leaves no task", "No task passes all of it. Take one part away:")
        case Verdict.BROWSE:
            return Banner("browse", "", "")


def status(result: SearchResult) -> str:
    """Return the sentence that a screen reader hears after a search."""
    verdict = banner(result)
    return f"{plural(result.total, 'task')}. {verdict.headline}".strip()
