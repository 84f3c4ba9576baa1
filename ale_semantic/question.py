"""One request as the engine takes it: checked, its filter as a mask, the tasks that it names found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ale_semantic.errors import QueryError
from ale_semantic.facets import FacetTable
from ale_semantic.filters import Condition
from ale_semantic.fusion import Mask
from ale_semantic.languages import ENGLISH
from ale_semantic.requests import choice
from ale_semantic.types import Band, Mode, Recognised

MAX_K = 10_000
DEFAULT_K = 10


@dataclass(frozen=True, slots=True)
class Page:
    """Which hits are wanted, and what is to be said of them.

    Attributes:
        k: the number of hits.
        offset: the number of hits before them.
        mode: which legs take part.
        min_band: leave out hits below this band.
        count_facets: also count the facets.
    """

    k: int = DEFAULT_K
    offset: int = 0
    mode: Mode = Mode.HYBRID
    min_band: Band | None = None
    count_facets: bool = True

    @classmethod
    def of(cls, k: int, offset: int, mode: Mode | str, min_band: Band | str | None, count_facets: bool) -> Page:
        """Check what a user asks.

        Raises:
            QueryError: if k, offset, mode or band can't be served.
        """
        if not 1 <= k <= MAX_K:
            raise QueryError(f"k must be between 1 and {MAX_K}, not {k}")
        if offset < 0:
            raise QueryError(f"offset must not be negative, but is {offset}")
        band = choice(Band, min_band, "band") if min_band is not None else None
        return cls(k, offset, choice(Mode, mode, "mode"), band, count_facets)


@dataclass(frozen=True, slots=True)
class Question:
    """One parsed request.

    Attributes:
        query: the text, or what stands for it where tasks are given.
        page: which hits are wanted.
        where: the user's own filter.
        condition: that and what the query adds.
        mask: the cards that pass the condition, shape (cards,).
        named: rows of the tasks whose id or title is the query, and which of the two it is.
        left_out: rows that the asker has already.
        recognised: what was read in the query.
        language: its ISO 639-1 code.
        notices: what the asker must know.
    """

    query: str
    page: Page
    where: str
    condition: Condition | None
    mask: Mask
    named: Mapping[int, str]
    left_out: tuple[int, ...] = ()
    recognised: tuple[Recognised, ...] = ()
    language: str = ENGLISH
    notices: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        query: str,
        page: Page,
        table: FacetTable,
        named: Mapping[int, str],
        own: Condition | None,
        whole: Condition | None,
    ) -> Question:
        """Make a question of a text, the user's own filter, and the whole one with what the query adds.

        Raises:
            FilterError: if a filter names what the catalogue doesn't have.
        """
        return cls(query, page, str(own) if own is not None else "", whole, table.mask(whole), named)

    def without(self, rows: Iterable[int]) -> Question:
        """Return the question over all cards but some, which the asker has already."""
        left_out = tuple(rows)
        mask = self.mask.copy()
        mask[list(left_out)] = False
        return replace(self, mask=mask, left_out=left_out)
