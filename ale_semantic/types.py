"""The records that pass between rooms: cards, hits, facets, results. All frozen, all named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from ale_semantic.plans import SearchPlan

if TYPE_CHECKING:
    import pandas


class Tier(StrEnum):
    """Difficulty tier of the benchmark; `level` orders them."""

    NEAR_TERM = "near-term"
    FULL_SPECTRUM = "full-spectrum"
    LAST_EXAM = "last-exam"

    @property
    def level(self) -> int:
        """Return 0 for the easiest tier, 2 for the hardest."""
        return list(Tier).index(self)


class OperatingSystem(StrEnum):
    """Operating system of the machine a task runs on."""

    LINUX = "linux"
    WINDOWS = "windows"
    MACOS = "macos"


class Mode(StrEnum):
    """Which legs of the search take part."""

    HYBRID = "hybrid"
    DENSE = "dense"
    LEXICAL = "lexical"


class Band(StrEnum):
    """How well one hit answers the query, calibrated per model and mode."""

    STRONG = "strong"
    WEAK = "weak"
    NONE = "none"


class Verdict(StrEnum):
    """What the whole answer amounts to."""

    STRONG = "strong"  # at least one strong hit
    WEAK = "weak"  # something related, nothing that clearly answers
    NONE = "none"  # tasks pass the filter, but none is near the query
    FILTERED_OUT = "filtered-out"  # the filter itself left no task
    BROWSE = "browse"  # no query: all that pass the filter, in the order of their ids


class Field(StrEnum):
    """A part of a card whose text is searched."""

    TITLE = "title"
    SUMMARY = "summary"
    PROMPT = "prompt"
    MUST_DO = "must_do"
    SOFTWARE = "software"
    INPUTS = "inputs"
    SUBDOMAIN = "subdomain"
    OVERVIEW = "overview"  # title and summary together


@dataclass(frozen=True, slots=True)
class SoftwareUse:
    """One software of a card: canonical name, version where the card gives one, and the card's spelling."""

    name: str
    version: str | None
    raw: str


@dataclass(frozen=True, slots=True)
class InputFile:
    """One input file of a task; `formats` are canonical names, `raw_format` is the card's spelling."""

    name: str
    path: str
    description: str
    raw_format: str
    formats: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a maintainer may want to mend in a card."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class TaskCard:
    """The public part of one task, validated and with canonical vocabulary.

    `os`, `gpu`, `licensed` and `timeout` (seconds) are None where the source doesn't tell. `tiers` is
    sorted from easy to hard and may be empty.
    """

    task_id: str
    title: str
    summary: str
    prompt: str
    domain: str
    subdomain: str | None = None
    taxonomy_domain: str | None = None
    must_do: tuple[str, ...] = ()
    software: tuple[SoftwareUse, ...] = ()
    inputs: tuple[InputFile, ...] = ()
    tiers: tuple[Tier, ...] = ()
    os: OperatingSystem | None = None
    gpu: bool | None = None
    licensed: bool | None = None
    timeout: int | None = None
    variants: tuple[str, ...] = ()
    published: bool | None = None
    source_path: str = ""
    findings: tuple[Finding, ...] = ()

    @property
    def software_names(self) -> tuple[str, ...]:
        """Return the canonical software names, each once, in the card's order."""
        return tuple(dict.fromkeys(use.name for use in self.software))

    @property
    def input_formats(self) -> tuple[str, ...]:
        """Return the canonical input formats, each once, in the card's order."""
        return tuple(dict.fromkeys(name for file in self.inputs for name in file.formats))


@dataclass(frozen=True, slots=True)
class PassageMatch:
    """The passage of a card that is nearest to the query; `cosine` is null when only words matched."""

    field: Field
    text: str
    cosine: float | None


@dataclass(frozen=True, slots=True)
class LegScore:
    """What one leg says of one card; `rank` counts from 1 among the cards that pass the filter."""

    score: float
    rank: int


@dataclass(frozen=True, slots=True)
class Why:
    """Why a hit is there: best passage, matched words, and each leg's score (null: the leg missed it)."""

    passage: PassageMatch | None
    matched_words: tuple[str, ...]
    dense: LegScore | None
    lexical: LegScore | None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One task of an answer; `rank` counts from 1 over all pages."""

    card: TaskCard
    score: float
    band: Band
    rank: int
    why: Why

    @property
    def task_id(self) -> str:
        """Return the id of the task."""
        return self.card.task_id


@dataclass(frozen=True, slots=True)
class FacetValue:
    """One value of a facet with the number of tasks that have it."""

    value: str
    count: int
    selected: bool = False


@dataclass(frozen=True, slots=True)
class Facet:
    """All values of one facet; `missing` counts the tasks that have none."""

    field: str
    values: Sequence[FacetValue]
    missing: int
    multivalued: bool


@dataclass(frozen=True, slots=True)
class Provenance:
    """What made an answer, enough to make it again."""

    catalogue: str
    fingerprint: str
    cards: int
    model: str
    model_revision: str
    layout: int
    version: str
    demo: bool = False


@dataclass(frozen=True, slots=True)
class FailedLimit:
    """A limit that can't be met: its name, what was asked, and the nearest value that can be had."""

    limit: str
    asked: str
    nearest: str

    def __str__(self) -> str:
        """Return the limit as part of a sentence."""
        return f"{self.limit} {self.asked} ({self.nearest})"


@dataclass(frozen=True, slots=True)
class Recognised:
    """A part of the query that was taken for more than words, shown as a chip that can be switched off.

    `key` names it in `ignore`; `phrase` stands in the query; `label` says what it was taken for; `where` is the
    filter it stands for, blank for a relation to a named task. Where it isn't `applied`, it is only offered.
    """

    key: str
    phrase: str
    label: str
    where: str
    applied: bool


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer to one query: a page of hits out of `total`, with counts over `counted`."""

    query: str
    where: str
    mode: Mode
    verdict: Verdict
    total: int
    hits: tuple[Hit, ...]
    facets: tuple[Facet, ...]
    counted: str
    provenance: Provenance
    notices: tuple[str, ...] = field(default=())
    recognised: tuple[Recognised, ...] = field(default=())
    plan: SearchPlan | None = None  # None where no vectors were searched

    def rows(self) -> list[dict[str, str | int | float | None]]:
        """Return one flat row a hit: rank, task_id, title, score, band, domain, tiers, os, software, passage."""
        return [_row(hit) for hit in self.hits]

    def to_pandas(self) -> pandas.DataFrame:
        """Return `rows()` as a data frame, ready for a notebook."""
        import pandas

        return pandas.DataFrame(self.rows(), columns=list(ROW_COLUMNS))


ROW_COLUMNS = ("rank", "task_id", "title", "score", "band", "domain", "tiers", "os", "software", "passage")


def _row(hit: Hit) -> dict[str, str | int | float | None]:
    card = hit.card
    passage = hit.why.passage
    return {
        "rank": hit.rank,
        "task_id": card.task_id,
        "title": card.title,
        "score": hit.score,
        "band": str(hit.band),
        "domain": card.domain,
        "tiers": ", ".join(card.tiers),
        "os": str(card.os) if card.os else None,
        "software": ", ".join(card.software_names),
        "passage": passage.text if passage else None,
    }
