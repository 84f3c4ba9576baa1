"""The tools that an assistant finds tasks with: search, similar, show, facets."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Annotated, Protocol, TypeVar

from mcp.types import CallToolResult, TextContent
from pydantic import Field

from ale_semantic.engine import Engine
from ale_semantic.errors import UnknownNameError
from ale_semantic.requests import MAX_QUERY_CHARACTERS
from ale_semantic.types import Band
from ale_semantic.variants import Variant

from .card_text import CardPage, CardPart, card_page
from .compact import Compact, FacetList, HitList

_Answer = TypeVar("_Answer")

MAX_ROWS = 50
MAX_TASKS = 20
MAX_FACET_VALUES = 200
PAGE_CHARACTERS = 12_000

Where = Annotated[
    str,
    Field(
        max_length=5_000,
        description="Filter, e.g. \"domain = legal and os = linux\" or 'tier in (near-term, full-spectrum)'; "
        "blank: all tasks",
    ),
]
Rows = Annotated[int, Field(ge=1, le=MAX_ROWS, description="Rows of this page")]
Offset = Annotated[int, Field(ge=0, le=100_000, description="Rows before this page: `next_offset` of the page before")]
TaskId = Annotated[str, Field(min_length=1, max_length=200, description="The task's id, e.g. domain/name")]
LeastBand = Annotated[Band | None, Field(description="Leave out hits that fit less well; counts are then of the rest")]


class Asker(Protocol):
    """Whatever answers questions from the engine that is open now, off the event loop."""

    def __call__(
        self, stage: str, question: Callable[[Engine], _Answer], /, *, text: str = "", bulk: bool = False
    ) -> Awaitable[_Answer]:
        """Answer a question.

        Args:
            stage: what its time is booked under.
            question: called with the engine.
            text: what is searched for, for the log if the settings ask for it.
            bulk: it may take seconds.
        """


class ShownFacet(StrEnum):
    """The facets that are shown unless others are named: those by which one chooses."""

    DOMAIN = "domain"
    TIER = "tier"
    OS = "os"
    SOFTWARE = "software"
    FORMAT_FAMILY = "format_family"
    SKILL = "skill"


def answer(found: Compact, text: str) -> CallToolResult:
    """Return an answer as structured content with a short text beside it; either tells all."""
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=found.to_dict())


class FindingTools:
    """Tools about single tasks; each method's signature and docstring is what a client is told."""

    def __init__(self, ask: Asker) -> None:
        """Answer from whatever `ask` has open."""
        self._ask = ask

    async def search(
        self,
        query: Annotated[
            str,
            Field(
                max_length=MAX_QUERY_CHARACTERS,
                description="Everyday words, keywords, an id or a title, in any language; blank browses by id",
            ),
        ] = "",
        where: Where = "",
        k: Rows = 10,
        offset: Offset = 0,
        min_band: LeastBand = None,
        understand: Annotated[
            bool,
            Field(description="Read phrases such as 'on Windows' or 'easier than X' as filters; told in the answer"),
        ] = True,
    ) -> Annotated[CallToolResult, HitList]:
        """Find benchmark tasks by meaning, among those that pass a filter.

        Gives compact rows; `show` gives a whole card. `verdict` says whether anything really fits: with "none" don't
        present the rows as answers.
        """

        def question(engine: Engine) -> HitList:
            found = engine.search(
                query, where=where, k=k, offset=offset, min_band=min_band, facets=False, understand=understand
            )
            return HitList.of(found, offset=offset)

        page = await self._ask("mcp_search", question, text=query)
        return answer(page, page.text())

    async def similar(
        self,
        tasks: Annotated[tuple[str, ...], Field(max_length=MAX_TASKS, description="Ids of tasks to be near to")] = (),
        text: Annotated[
            str,
            Field(max_length=MAX_QUERY_CHARACTERS, description="A task description to be near to, instead or besides"),
        ] = "",
        unlike: Annotated[tuple[str, ...], Field(max_length=MAX_TASKS, description="Ids of tasks to be far from")] = (),
        variant: Annotated[
            Variant | None,
            Field(
                description="What must differ from `tasks`: their domain, their software, or the tier (easier, harder)"
            ),
        ] = None,
        where: Where = "",
        k: Rows = 10,
        offset: Offset = 0,
        min_band: LeastBand = None,
    ) -> Annotated[CallToolResult, HitList]:
        """Find tasks like given ones or like a pasted description; the given tasks are left out."""

        def question(engine: Engine) -> HitList:
            found = engine.similar(
                *tasks,
                unlike=unlike,
                text=text,
                where=where,
                k=k,
                offset=offset,
                min_band=min_band,
                facets=False,
                variant=variant,
            )
            return HitList.of(found, offset=offset)

        page = await self._ask("mcp_similar", question, text=text)
        return answer(page, page.text())

    async def show(
        self,
        task_id: TaskId,
        part: Annotated[CardPart, Field(description="Which part of the card")] = CardPart.WHOLE,
        offset: Annotated[
            int, Field(ge=0, description="Characters before this page: `next_offset` of the page before")
        ] = 0,
        limit: Annotated[int, Field(ge=500, le=50_000, description="Characters of this page")] = PAGE_CHARACTERS,
    ) -> Annotated[CallToolResult, CardPage]:
        """Show one task's whole card, or a part of it: prompt, what must be done, input files, software, machine."""
        page = await self._ask("mcp_show", lambda engine: card_page(engine, task_id, part, offset=offset, limit=limit))
        return answer(page, page.page_text())

    async def facets(
        self,
        fields: Annotated[
            tuple[str, ...], Field(max_length=20, description="Facets to count; by default those by which one chooses")
        ] = tuple(ShownFacet),
        query: Annotated[
            str, Field(max_length=MAX_QUERY_CHARACTERS, description="With `min_band`: count only tasks that match this")
        ] = "",
        where: Where = "",
        min_band: LeastBand = None,
        limit: Annotated[int, Field(ge=1, le=MAX_FACET_VALUES, description="Values listed per facet")] = 15,
    ) -> Annotated[CallToolResult, FacetList]:
        """List the values that filters take, with the number of tasks of each.

        A facet's own selection in `where` doesn't narrow its counts.
        """

        def question(engine: Engine) -> FacetList:
            found = engine.search(query, where=where, k=1, min_band=min_band)
            known = {facet.field: facet for facet in found.facets}
            for name in fields:
                if name not in known and name not in set(ShownFacet):
                    raise UnknownNameError("facet", name, known)
            chosen = [known[name] for name in dict.fromkeys(fields) if name in known]
            return FacetList.of(chosen, counted=found.counted, where=found.where, limit=limit)

        counts = await self._ask("mcp_facets", question, text=query)
        return answer(counts, counts.text())
