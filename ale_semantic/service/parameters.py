"""What a request may say: the same parameters in a GET's query string and a POST's JSON body."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from ale_semantic.filters.words import MAX_LENGTH
from ale_semantic.question import DEFAULT_K
from ale_semantic.requests import MAX_QUERY_CHARACTERS
from ale_semantic.types import Band, Mode
from ale_semantic.variants import Variant

from .strict_json import Count, strict_json

ALL = "all"
NONE = "none"
_MAX_NAMES = 200  # ids, keys or names in one list: more is a mistake
_MAX_NAME = 1_000  # characters
_MAX_OFFSET = 10_000_000
_CURSOR_CHARACTERS = 200


def _comma_separated(value: Any) -> Any:
    """Take `a,b` for two names; a query string gives a list of one such text."""
    if isinstance(value, str):
        value = [value]
    if isinstance(value, (list, tuple)) and all(isinstance(part, str) for part in value):
        return [name.strip() for part in value for name in part.split(",") if name.strip()]
    return value


def _whole(text: str) -> str:
    """Refuse half characters, which JSON can spell but no answer can repeat."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("holds half a character (a lone surrogate)") from None
    return text


Whole = AfterValidator(_whole)  # after the lengths, else these speak of items instead of characters
Text = Annotated[str, Whole]
Name = Annotated[str, Field(min_length=1, max_length=_MAX_NAME), Whole]
Names = Annotated[list[Name], Field(max_length=_MAX_NAMES)]
CommaNames = Annotated[Names, BeforeValidator(_comma_separated)]
QueryText = Annotated[str, Field(max_length=MAX_QUERY_CHARACTERS), Whole]
CursorText = Annotated[str, Field(max_length=_CURSOR_CHARACTERS), Whole]
WhereText = Annotated[
    str,
    Field(
        max_length=MAX_LENGTH,
        description="Filter, applied before ranking, such as `domain = legal and os = linux and inputs >= 3`.",
        examples=["os = linux and inputs >= 3"],
    ),
    Whole,
]


class Parameters(BaseModel):
    """Base of all parameters: one that isn't known is refused, not ignored."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ShownParameters(Parameters):
    """How much of each card is answered."""

    fields: CommaNames = Field(
        default=[],
        description="Columns of the card to answer (`/catalogue` lists them as `card_columns`); by default all.",
        examples=[["summary", "tiers"]],
    )
    compact: bool = Field(
        default=False, description="Only the short columns of the card: a page of hits in some kB. Not with `fields`."
    )


class PageParameters(Parameters):
    """Which page of an answer."""

    k: Count = Field(default=DEFAULT_K, ge=1, description="Hits on this page; `/catalogue` tells the most.")
    offset: Count = Field(default=0, ge=0, le=_MAX_OFFSET, description="Hits before this page. Not with `cursor`.")
    cursor: CursorText | None = Field(
        default=None,
        description="`next` of the page before, with everything else as it was asked then.",
    )


class QuestionParameters(Parameters):
    """What is searched for."""

    query: QueryText = Field(
        default="",
        description="Everyday words, keywords, a task's id or title; blank browses in the order of the ids.",
        examples=["reconcile supplier invoices"],
    )
    where: WhereText = ""
    mode: Mode = Field(default=Mode.HYBRID, description="Legs that take part.")
    min_band: Band | None = Field(
        default=None, description="Leave out hits below this band; counts are then of the matching tasks."
    )
    understand: bool = Field(
        default=True, description='Read phrases such as "on Windows" for more than words (see `recognised`).'
    )
    ignore: Names = Field(default=[], description="Keys of `recognised` parts to take for mere words.")


class LikenessParameters(Parameters):
    """What tasks are to be near to, and far from."""

    like: Names = Field(default=[], description="Ids of tasks to be near to.", examples=[["legal/lease_review"]])
    unlike: Names = Field(default=[], description="Ids of tasks to be far from.")
    text: QueryText = Field(default="", description="A task description to be near to.")
    where: WhereText = ""
    variant: Variant | None = Field(default=None, description="What must differ from the given tasks.")
    min_band: Band | None = Field(default=None, description="Leave out hits below this band.")


FacetNames = Annotated[
    CommaNames,
    Field(
        description="Fields to count, or `all`; counting all takes about as long as the search.",
        examples=[["tier", "os"]],
    ),
]


# The last base comes first in the documentation.
class SearchParameters(ShownParameters, PageParameters, QuestionParameters):
    """A search by meaning."""

    facets: FacetNames = []


class SimilarParameters(ShownParameters, PageParameters, LikenessParameters):
    """Tasks like given ones, or like a text, and unlike others."""

    facets: FacetNames = []


class FacetsParameters(QuestionParameters):
    """Counts of fields' values."""

    fields: CommaNames = Field(
        default=[], description="Fields to count; by default all but free text.", examples=[["tier", "os"]]
    )


class TasksParameters(ShownParameters, PageParameters):
    """Browse all cards that pass a filter, in the order of their ids."""

    where: WhereText = ""


# The same in a JSON body.


@strict_json
class SearchBody(SearchParameters):
    """A search by meaning."""


@strict_json
class SimilarBody(SimilarParameters):
    """Tasks like given ones, or like a text, and unlike others."""


@strict_json
class FacetsBody(FacetsParameters):
    """Counts of fields' values."""


@strict_json
class TasksBody(TasksParameters):
    """Browse all cards that pass a filter, in the order of their ids."""


class TaskParameters(ShownParameters):
    """One card."""


class OneTask(ShownParameters):
    """One card, and its id from the path."""

    task_id: Text


@strict_json
class BatchParameters(ShownParameters):
    """Several cards by their ids."""

    task_ids: Annotated[list[Name], Field(min_length=1, max_length=_MAX_NAMES)]


class NoParameters(Parameters):
    """Nothing can be chosen."""
