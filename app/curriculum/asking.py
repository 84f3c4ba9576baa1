"""What each view of the Curriculum tab is given, and what it gives back."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from ale_semantic.analysis import fold_text
from ale_semantic.curriculum import Curriculum, Pool
from ale_semantic.curriculum.records import Record
from ale_semantic.types import TaskCard, Tier

from ..conditions import condition_of
from ..context import Site
from ..labels import value_label
from ..state import State
from . import parameters
from .parameters import Parameters

_ID = re.compile(r"\w+/[\w.-]*\w")

# The engine's words and the page's, in this order.
_PLAIN = (
    ("the pool holds no longer path to this goal", "no path to this goal has more steps"),
    ("the pool holds", "the filters leave"),
    ("iden the pool", "iden the filters"),
    ("of the pool", "that may be taken"),
    ("the pool", "the filters"),
    ("min_closeness", "the least closeness"),
)


class CurriculumView(StrEnum):
    """The views of the tab, by their name in the address."""

    PATH = "path"
    LADDERS = "ladders"
    SUBSET = "subset"
    SPLIT = "split"
    COVERAGE = "coverage"
    TOPICS = "topics"
    DUPLICATES = "duplicates"
    PREREQUISITES = "prerequisites"


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to a view: the page, the address, the view's parameters, and the tasks that may be taken."""

    site: Site
    state: State
    given: Parameters
    pool: Pool

    @classmethod
    def of(cls, site: Site, state: State) -> Ask:
        """Read a state; its facets say which tasks may be taken.

        Raises:
            FilterError: if the filter can't be understood.
        """
        given = Parameters.of(state)
        return cls(site, state, given, pool_of(state, tuple(map(site.task_id, given.all("exclude")))))

    @property
    def cards(self) -> Sequence[TaskCard]:
        """Return all tasks, for fields that name one."""
        return self.site.engine.catalogue.cards

    @property
    def skills(self) -> tuple[str, ...]:
        """Return the names of all skills, none if the index has none."""
        table = self.site.engine.skills
        return tuple(sorted(table.name(skill) for skill in table.ids)) if table is not None else ()

    @property
    def tiers(self) -> tuple[Tier, ...]:
        """Return the tiers from easy to hard."""
        return tuple(Tier)

    @property
    def tier_options(self) -> tuple[tuple[str, str], ...]:
        """Return the tiers as values and labels to choose from."""
        return tuple((str(tier), str(tier)) for tier in Tier)

    def link(self, **changes: Any) -> str:
        """Return a link to this view with other parameters."""
        return parameters.link(self.state, changes)

    def fresh(self, view: str, **given: Any) -> str:
        """Return a link to a view with these parameters alone."""
        return parameters.fresh(self.state, view, **given)

    def added(self, name: str, value: str) -> str:
        """Return a link with one more value of a parameter that may be repeated."""
        return self.link(**{name: tuple(dict.fromkeys((*self.given.all(name), value)))})

    def without(self, name: str, value: str) -> str:
        """Return a link without one value of a parameter that may be repeated."""
        return self.link(**{name: tuple(other for other in self.given.all(name) if other != value)})

    def title(self, task_id: str) -> str:
        """Return a task's title, or what was given if there is no such task."""
        card = self.site.card(self.site.task_id(task_id))
        return card.title if card is not None else task_id

    def reads(self, text: str) -> str:
        """Return one of the engine's lines as a sentence in the page's words, with titles instead of ids."""

        def named_or_kept(match: re.Match[str]) -> str:
            card = self.site.card(match.group())
            return f"“{card.title}”" if card is not None else match.group()

        named = _ID.sub(named_or_kept, text)
        for term, plain in _PLAIN:
            named = named.replace(term, plain)
        for domain in {card.domain for card in self.cards if "_" in card.domain}:
            named = named.replace(domain, value_label("domain", domain))
        return f"{named[:1].upper()}{named[1:]}."

    def end(self, name: str) -> str:
        """Return what a path starts or ends with: an id if the text is one or a whole title, else the text."""
        text = self.given.text(name)
        wanted = fold_text(text)
        named = [card.task_id for card in self.cards if wanted and fold_text(card.title) == wanted]
        return named[0] if len(named) == 1 else text


@dataclass(frozen=True, slots=True)
class Answer:
    """What a view found.

    Attributes:
        record: the whole answer, for a file of JSON.
        shown: what the view's template shows.
        status: one sentence for screen readers.
        lists: the lists of tasks that can be kept as curriculum files.
        notices: what the user should see.
    """

    record: Record
    shown: Mapping[str, Any]
    status: str
    lists: tuple[Curriculum, ...] = ()
    notices: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class Example:
    """An example to click."""

    label: str
    href: str


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """One view: its label, what it is for, whether the facets narrow it, and how it answers (None: nothing asked)."""

    view: CurriculumView
    label: str
    lead: str
    answer: Callable[[Ask], Answer | None]
    examples: Callable[[Ask], list[Example]]
    facets: Callable[[Ask], str] = lambda ask: "Only tasks that pass the filters are taken."


def pool_of(state: State, exclude: tuple[str, ...] = ()) -> Pool:
    """Return the tasks that pass the facets, without the excluded ones."""
    parts = {name: state.values(name) for name in ("domain", "os") if name not in state.missing}
    rest = replace(state, chosen=tuple(pair for pair in state.chosen if pair[0] not in parts))
    condition = condition_of(rest)
    return Pool(
        where=str(condition) if condition is not None else "",
        domains=parts.get("domain", ()),
        systems=parts.get("os", ()),
        exclude=exclude,
    )


def changes_of_pool(state: State, pool: Pool) -> dict[str, Any]:
    """Return the changes of a state that make its facets those of a wider pool."""
    now = pool_of(state)
    kept = state
    if now.domains and not pool.domains:
        kept = replace(kept, chosen=tuple(pair for pair in kept.chosen if pair[0] != "domain"))
    if now.systems and not pool.systems:
        kept = replace(kept, chosen=tuple(pair for pair in kept.chosen if pair[0] != "os"))
    if now.where and not pool.where:
        own = tuple(pair for pair in kept.chosen if pair[0] in ("domain", "os") and pair[0] not in state.missing)
        kept = replace(kept, chosen=own, missing=(), where="")
    return {"chosen": kept.chosen, "missing": kept.missing, "where": kept.where}
