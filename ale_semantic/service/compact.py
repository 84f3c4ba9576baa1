"""Answers in few words, for clients that pay by the token: rows instead of cards, each with a line of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from ale_semantic.render import shorten
from ale_semantic.types import Band, Facet, Hit, SearchResult, TaskCard, Verdict

PASSAGE_CHARACTERS = 160
_SOFTWARE_SHOWN = 6

_SENTENCES = {
    Verdict.STRONG: "{total} tasks; the best of them clearly answer the query.",
    Verdict.WEAK: "Nothing answers the query clearly; these are the nearest of {total} tasks.",
    Verdict.NONE: "Nothing fits this query: try other words. The nearest of {total} tasks:",
    Verdict.FILTERED_OUT: "No task passes the filter: loosen it. `facets` lists the values there are.",
    Verdict.BROWSE: "{total} tasks, in the order of their ids.",
}


class Compact(BaseModel):
    """A record of few words; what is empty is left out of its JSON."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON values without nulls."""
        return self.model_dump(mode="json", exclude_none=True)


class TaskRow(Compact):
    """What one line tells of a task."""

    task_id: str
    title: str
    domain: str
    tiers: list[str] = Field(description="near-term, full-spectrum or last-exam; may be empty")
    os: str | None = None
    software: list[str] = Field(description="canonical names, the first few")

    @classmethod
    def of(cls, card: TaskCard) -> TaskRow:
        """Return a card's row."""
        return cls(**_facts(card))

    def line(self) -> str:
        """Return the row as one line of text."""
        facts = [", ".join(self.tiers) or "no tier", self.os or "system unknown", ", ".join(self.software)]
        return f"{self.task_id} | {self.title} | {' | '.join(fact for fact in facts if fact)}"


class HitRow(TaskRow):
    """One hit: the task, how well it fits (0 to 1, and its band), and the text that fits best."""

    rank: int
    score: Annotated[float | None, Field(description="0 to 1; absent where nothing was asked")] = None
    band: Band | None = None
    passage: Annotated[str | None, Field(description="the start of the passage that fits best")] = None

    @classmethod
    def of_hit(cls, hit: Hit, *, browse: bool) -> HitRow:
        """Return a hit's row; of a browsed list without scores, which mean nothing there."""
        passage = hit.why.passage
        text = hit.card.summary if browse else passage.text if passage is not None else ""
        return cls(
            **_facts(hit.card),
            rank=hit.rank,
            score=None if browse else round(hit.score, 3),
            band=None if browse else hit.band,
            passage=shorten(text, PASSAGE_CHARACTERS) or None,
        )

    def line(self) -> str:
        """Return the hit as one or two lines of text."""
        fit = f" | {self.band} {self.score:.2f}" if self.band is not None and self.score is not None else ""
        passage = f"\n   {self.passage}" if self.passage else ""
        return f"{self.rank}. {super().line()}{fit}{passage}"


class HitList(Compact):
    """A page of hits out of `total`."""

    query: str
    where: str
    verdict: Verdict = Field(description="strong, weak or none: how well the best fits; browse: no query; filtered-out")
    total: int
    hits: list[HitRow]
    next_offset: Annotated[int | None, Field(description="`offset` of the next page; absent on the last")] = None
    recognised: Annotated[list[str], Field(description="parts of the query read as filters or relations")]
    notices: list[str]
    demo: Annotated[bool | None, Field(description="the cards are demo cards, not the benchmark's")] = None

    @classmethod
    def of(cls, result: SearchResult, *, offset: int) -> HitList:
        """Return an answer as rows."""
        browse = result.verdict is Verdict.BROWSE
        shown = offset + len(result.hits)
        return cls(
            query=shorten(result.query, PASSAGE_CHARACTERS),
            where=result.where,
            verdict=result.verdict,
            total=result.total,
            hits=[HitRow.of_hit(hit, browse=browse) for hit in result.hits],
            next_offset=shown if result.hits and shown < result.total else None,
            recognised=[f"{part.phrase!r} as {part.where or part.label}" for part in result.recognised if part.applied],
            notices=list(result.notices),
            demo=result.provenance.demo or None,
        )

    def text(self) -> str:
        """Return the page as text: verdict, notices, a line or two a hit."""
        lines = [_SENTENCES[self.verdict].format(total=self.total)]
        lines += [f"Read {part}." for part in self.recognised]
        lines += self.notices
        lines += ["These are demo cards, not the benchmark's."] if self.demo else []
        lines += [hit.line() for hit in self.hits]
        lines += [f"More: offset={self.next_offset}"] if self.next_offset is not None else []
        return "\n".join(lines)


class FacetCounts(Compact):
    """A facet's values with their counts, the most frequent first."""

    field: str
    values: dict[str, int]
    missing: Annotated[int, Field(description="tasks without a value")]
    left_out: Annotated[int, Field(description="values not listed here; ask for this field alone with a higher limit")]
    selected: list[str]

    @classmethod
    def of(cls, facet: Facet, *, limit: int) -> FacetCounts:
        """Return a facet's first values; chosen ones are always among them."""
        order = sorted(facet.values, key=lambda value: -value.count)
        shown = [value for place, value in enumerate(order) if place < limit or value.selected]
        return cls(
            field=facet.field,
            values={value.value: value.count for value in shown},
            missing=facet.missing,
            left_out=len(facet.values) - len(shown),
            selected=[value.value for value in facet.values if value.selected],
        )

    def line(self) -> str:
        """Return the facet as one line of text."""
        parts = [f"{value} {count}" for value, count in self.values.items()]
        parts += [f"(missing) {self.missing}"] if self.missing else []
        parts += [f"... {self.left_out} more values"] if self.left_out else []
        return f"{self.field}: {'; '.join(parts)}"


class FacetList(Compact):
    """Counts by facet, and what was counted."""

    counted: str
    where: str
    facets: list[FacetCounts]

    @classmethod
    def of(cls, facets: Sequence[Facet], *, counted: str, where: str, limit: int) -> FacetList:
        """Return facets with at most `limit` values each."""
        return cls(counted=counted, where=where, facets=[FacetCounts.of(facet, limit=limit) for facet in facets])

    def text(self) -> str:
        """Return the counts as text, a line a facet."""
        return "\n".join([f"Counts of {self.counted}.", *(facet.line() for facet in self.facets)])


def _facts(card: TaskCard) -> dict[str, Any]:
    return {
        "task_id": card.task_id,
        "title": card.title,
        "domain": card.domain,
        "tiers": list(map(str, card.tiers)),
        "os": str(card.os) if card.os else None,
        "software": list(card.software_names[:_SOFTWARE_SHOWN]),
    }


def numbered(lines: Iterable[str]) -> list[str]:
    """Return lines with their places before them."""
    return [f"{place}. {line}" for place, line in enumerate(lines, start=1)]


def joined(head: Sequence[str], lines: Sequence[str]) -> str:
    """Return the text of an answer: what is said first, then its rows."""
    return "\n".join([*head, *lines])


def rounded(value: float | None) -> float | None:
    """Return a closeness as it is shown."""
    return round(value, 3) if value is not None else None
