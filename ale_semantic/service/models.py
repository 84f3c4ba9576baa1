"""What the service answers, as models: they describe docs/json.md to OpenAPI, and tests hold the answers to them."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from ale_semantic.facet_fields import FieldKind
from ale_semantic.plans import SearchPlan
from ale_semantic.types import Band, Mode, OperatingSystem, Provenance, Tier, Verdict
from ale_semantic.types import Field as CardField
from ale_semantic.variants import Variant


class Model(BaseModel):
    """Base of all answers: nothing that isn't described here is ever answered."""

    model_config = ConfigDict(extra="forbid", frozen=True, serialize_by_alias=True)


class FacetValue(Model):
    """One value of a field with the number of tasks that have it."""

    value: str
    count: int
    selected: bool = Field(description="Whether the filter asks for it.")


class Facet(Model):
    """All values of one field, zero counts included, counted under the other fields' selections."""

    values: list[FacetValue]
    missing: int = Field(description="Tasks that have no value.")
    multivalued: bool = Field(description="A task may count under several values.")


class InputFile(Model):
    """One input file of a task."""

    name: str
    format: str
    path: str
    description: str


class Finding(Model):
    """Something that a maintainer may want to mend in a card."""

    code: str
    message: str


class CardParts(Model):
    """A card, or the columns of it that were asked for; docs/json.md describes them."""

    task_id: str
    title: str = ""
    summary: str = ""
    category: str = Field(default="", description="The domain.")
    subdomain: str | None = None
    task_prompt: str = ""
    agent_must_do: list[str] = []
    software: list[str] = Field(default=[], description="As the card spells it.")
    input_files: list[InputFile] = []
    taxonomy: dict[str, str] = {}
    source_repo_path: str = ""
    tiers: list[Tier] = []
    os: OperatingSystem | None = Field(default=None, description="Null where the source doesn't tell.")
    gpu: bool | None = None
    licensed: bool | None = None
    timeout: int | None = Field(default=None, description="Seconds.")
    variants: list[str] = []
    published: bool | None = None
    findings: list[Finding] = []
    software_names: list[str] = Field(default=[], description="Canonical names, as the filter takes them.")
    input_formats: list[str] = Field(default=[], description="Canonical names, as the filter takes them.")


class Passage(Model):
    """The passage of a card that is nearest to the query."""

    field: CardField
    text: str
    cosine: float | None = Field(description="Null when only words matched.")


class Leg(Model):
    """What one leg of the search says of a task."""

    score: float
    rank: int


class Why(Model):
    """The reasons of a hit; a leg that missed the task or took no part is null."""

    passage: Passage | None
    matched_words: list[str]
    dense: Leg | None
    lexical: Leg | None
    note: str | None


class Hit(Model):
    """One task of an answer."""

    task_id: str
    title: str
    score: float = Field(ge=0, le=1, description="How likely the task answers; one scale for all queries and modes.")
    band: Band
    rank: int = Field(ge=1, description="From 1 over all pages.")
    why: Why
    card: CardParts


class Recognised(Model):
    """A part of the query that was taken for more than words; its key in `ignore` makes it mere words again."""

    key: str
    phrase: str
    label: str
    where: str = Field(description="The filter that it stands for, blank for a relation to a named task.")
    applied: bool


class Page(Model):
    """What every answer of several pages has."""

    total: int = Field(ge=0, description="Number of tasks in the whole answer, all pages.")
    next: str | None = Field(description="Cursor of the next page; null on the last.")
    generation: str = Field(description="The build of the index that answered.")
    provenance: Provenance


class SearchAnswer(Page):
    """The answer to a search."""

    schema_version: int = Field(alias="schema", description="Version of this shape.")
    query: str
    where: str = Field(description="The filter in canonical form.")
    mode: Mode
    verdict: Verdict = Field(
        description="`none`: nothing fits the query; `filtered-out`: the filter left nothing; `browse`: no query."
    )
    hits: list[Hit]
    facets: dict[str, Facet] = Field(description="By field, as far as they were asked for.")
    counted: str = Field(description="What the facets count, in words.")
    notices: list[str] = Field(description="What one must know, such as a language that the index doesn't speak.")
    recognised: list[Recognised]
    plan: SearchPlan | None = Field(description="How the vectors were searched; null where they were not.")


class FacetsAnswer(Model):
    """Counts of each field's values."""

    schema_version: int = Field(alias="schema")
    query: str
    where: str
    counted: str
    total: int
    facets: dict[str, Facet]
    generation: str
    provenance: Provenance


class TasksAnswer(Page):
    """A page of cards in the order of their ids."""

    schema_version: int = Field(alias="schema")
    where: str
    tasks: list[CardParts]


class TaskProblem(Model):
    """Why one task of a batch isn't there."""

    type: str
    title: str
    status: int
    detail: str
    nearest: list[str]


class BatchItem(Model):
    """One task of a batch: its card, or why there is none."""

    index: int = Field(description="Its place in the request, from 0.")
    task_id: str
    card: CardParts | None
    problem: TaskProblem | None


class BatchAnswer(Model):
    """The tasks of a batch in the order they were asked for."""

    schema_version: int = Field(alias="schema")
    tasks: list[BatchItem]
    failed: int
    generation: str
    provenance: Provenance


class FieldValue(Model):
    """One value of a field over the whole catalogue."""

    value: str
    count: int


class FilterField(Model):
    """One field of the filter language."""

    name: str
    kind: FieldKind
    description: str
    operators: list[str]
    distinct: int
    missing: int
    multivalued: bool
    values: list[FieldValue] | None = Field(description="All values with their counts; null for free text.")


class Limits(Model):
    """What one request may ask for."""

    max_k: int
    max_query_chars: int
    max_body_bytes: int
    deadline_seconds: float


class CatalogueAnswer(Model):
    """What there is to search, and all that a search form needs to know."""

    schema_version: int = Field(alias="schema")
    tasks: int
    fields: list[FilterField]
    card_columns: list[str] = Field(description="What `fields` takes.")
    modes: list[Mode]
    bands: list[Band]
    variants: list[Variant]
    limits: Limits
    generation: str
    provenance: Provenance


class ReloadAnswer(Model):
    """What a reload did."""

    reloaded: bool = Field(description="False if the newest build was open already.")
    generation: str
    provenance: Provenance


class ProblemAnswer(Model):
    """A refusal (RFC 9457)."""

    type: str = Field(description="What programs tell kinds apart by.")
    title: str
    status: int
    detail: str = Field(description="What is wrong and how to mend it.")
    param: str | None = Field(description="The parameter that it lies in.")
    nearest: list[str] = Field(description="Valid names near to an unknown one.")
    position: int | None = Field(description="Character of the filter where the fault is, from 0.")
    request_id: str | None = Field(description="Under which the service's log has more.")
