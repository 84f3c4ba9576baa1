"""The state of the page: all of it stands in the address, as a plain query string that people can read and edit.

    ?q=tumour&os=linux&tier=near-term&tier=last-exam&sort=title&sel=legal/lease_review

The names below are the page's own; every other name is a field of the filter (`os`, `tier`, `software`, ...), and
names with a dot (`curriculum.hours`) belong to the tab before the dot. Names that begin with `_` belong to Gradio.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode

from ale_semantic.types import Band, Mode

PAGE_SIZE = 10
PAGE_SIZES = (10, 25, 50)
MAX_ADDRESS = 60_000  # characters; web servers refuse request lines of 64 kB
_READABLE = "/:,()"  # signs that may stand in a query string as they are


class Tab(StrEnum):
    """The views that the navigation leads to."""

    SEARCH = "search"
    SIMILAR = "similar"
    CURRICULUM = "curriculum"
    MAP = "map"
    OVERVIEW = "overview"
    SELECTION = "selection"


class View(StrEnum):
    """How hits are laid out."""

    LIST = "list"
    TABLE = "table"


class Sort(StrEnum):
    """The order of hits; each but relevance can be turned round."""

    RELEVANCE = "relevance"
    TITLE = "title"
    DOMAIN = "domain"
    TIER = "tier"
    OS = "os"
    SOFTWARE = "software"
    INPUTS = "inputs"
    TIMEOUT = "timeout"


_Choice = TypeVar("_Choice", Tab, View, Sort, Mode, Band)
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class State:
    """Everything that a link restores.

    Attributes:
        ignore: keys of recognised parts of the query that are mere words.
        chosen: pairs of field and value ticked in the facets, in the order they were ticked.
        missing: fields that must have no value.
        selection: ids in the basket, in the user's order.
        notes: pairs of id and note.
        extra: parameters of further tabs, their names with a dot.
        problems: what in the address could not be used, one sentence each.
    """

    tab: Tab = Tab.SEARCH
    query: str = ""
    ignore: tuple[str, ...] = ()
    mode: Mode = Mode.HYBRID
    band: Band | None = None
    chosen: Pairs = ()
    missing: tuple[str, ...] = ()
    where: str = ""
    sort: Sort = Sort.RELEVANCE
    descending: bool = False
    page: int = 1
    size: int = PAGE_SIZE
    view: View = View.LIST
    task: str = ""
    like: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    text: str = ""
    color: str = ""
    selection: tuple[str, ...] = ()
    notes: Pairs = ()
    extra: Pairs = ()
    problems: tuple[str, ...] = ()

    @classmethod
    def from_query(cls, query: str) -> State:
        """Read a query string; what can't be used is told in `problems`, never dropped silently."""
        if len(query) > MAX_ADDRESS:
            return cls(problems=(f"The address has {len(query):,} characters; at most {MAX_ADDRESS:,} are taken.",))
        return _Reader(parse_qsl(query.removeprefix("?"), keep_blank_values=True)).state()

    def to_query(self) -> str:
        """Return the whole state as a query string without `?`; defaults are left out."""
        basket = [("sel", task_id) for task_id in self.selection]
        basket += [("note", f"{task_id}:{text}") for task_id, text in self.notes]
        return urlencode([*self._pairs(), *basket], safe=_READABLE)

    def link(self, **changes: Any) -> str:
        """Return a link to this state with changes, without the basket, which the browser adds.

        Any change but of the page and what is open starts at the first page again.
        """
        if changes.keys() - {"page", "task", "selection", "notes"}:
            changes = {"page": 1, "task": "", **changes}
        return "?" + urlencode(list(replace(self, **changes)._pairs()), safe=_READABLE)

    def toggled(self, field: str, value: str) -> str:
        """Return a link that ticks or unticks one value of a facet."""
        pair = (field, value)
        kept = tuple(other for other in self.chosen if other != pair)
        return self.link(chosen=kept if pair in self.chosen else (*self.chosen, pair))

    def toggled_missing(self, field: str) -> str:
        """Return a link that asks, or no longer asks, for tasks without a value of the field."""
        kept = tuple(other for other in self.missing if other != field)
        return self.link(missing=kept if field in self.missing else (*self.missing, field))

    def unfiltered(self) -> str:
        """Return a link without any filter."""
        return self.link(chosen=(), missing=(), where="", band=None)

    @property
    def has_filter(self) -> bool:
        """Tell whether any filter is set."""
        return bool(self.chosen or self.missing or self.where)

    @property
    def offset(self) -> int:
        """Return the number of hits before this page."""
        return (self.page - 1) * self.size

    def values(self, field: str) -> tuple[str, ...]:
        """Return the values ticked in one facet."""
        return tuple(value for name, value in self.chosen if name == field)

    def _pairs(self) -> Iterable[tuple[str, str]]:
        """Yield every parameter but the basket's, defaults left out."""
        for name, value, default in (
            ("tab", self.tab, Tab.SEARCH),
            ("q", self.query, ""),
            ("mode", self.mode, Mode.HYBRID),
            ("band", self.band or "", ""),
        ):
            if value != default:
                yield name, str(value)
        yield from (("ignore", key) for key in self.ignore)
        yield from self.chosen
        yield from (("missing", field) for field in self.missing)
        for name, value, default in (
            ("where", self.where, ""),
            ("sort", ("-" if self.descending else "") + self.sort, Sort.RELEVANCE),
            ("page", str(self.page), "1"),
            ("size", str(self.size), str(PAGE_SIZE)),
            ("view", self.view, View.LIST),
        ):
            if value != default:
                yield name, str(value)
        yield from (("like", task_id) for task_id in self.like)
        yield from (("unlike", task_id) for task_id in self.unlike)
        yield from ((name, value) for name, value in (("text", self.text), ("color", self.color)) if value)
        yield from self.extra
        if self.task:
            yield "task", self.task


OWN_NAMES = frozenset(
    {"tab", "q", "ignore", "mode", "band", "missing", "where", "sort", "page", "size", "view", "task"}
    | {"like", "unlike", "text", "color", "sel", "note"}
)


class _Reader:
    """Takes the parameters of one address apart."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self.pairs = [(name, value) for name, value in pairs if not name.startswith("_")]
        self.last: Mapping[str, str] = dict(self.pairs)
        self.problems: list[str] = []

    def state(self) -> State:
        sort = self.last.get("sort", "")
        size = self._number("size", PAGE_SIZE)
        if size not in PAGE_SIZES:
            self.problems.append(f"size={size} is not one of {', '.join(map(str, PAGE_SIZES))}; {PAGE_SIZE} is used.")
            size = PAGE_SIZE
        state = State(
            tab=self._choice(Tab, "tab", Tab.SEARCH),
            query=self.last.get("q", "").strip(),
            ignore=self._all("ignore"),
            mode=self._choice(Mode, "mode", Mode.HYBRID),
            band=self._choice(Band, "band", Band.NONE) if self.last.get("band") else None,
            chosen=tuple(dict.fromkeys(pair for pair in self.pairs if pair[0] not in OWN_NAMES and "." not in pair[0])),
            missing=self._all("missing"),
            where=self.last.get("where", "").strip(),
            sort=self._choice(Sort, "sort", Sort.RELEVANCE, sort.removeprefix("-")),
            descending=sort.startswith("-"),
            page=self._number("page", 1),
            size=size,
            view=self._choice(View, "view", View.LIST),
            task=self.last.get("task", ""),
            like=self._all("like"),
            unlike=self._all("unlike"),
            text=self.last.get("text", "").strip(),
            color=self.last.get("color", ""),
            selection=self._all("sel"),
            notes=tuple(self._notes().items()),
            extra=tuple(pair for pair in self.pairs if "." in pair[0]),
        )
        return replace(state, problems=tuple(self.problems))

    def _all(self, name: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(value for given, value in self.pairs if given == name and value))

    def _notes(self) -> dict[str, str]:
        parted = (value.partition(":") for value in self._all("note"))
        return {task_id: text.strip() for task_id, _, text in parted if text.strip()}

    def _number(self, name: str, default: int) -> int:
        text = self.last.get(name, str(default))
        if text.isascii() and text.isdigit() and len(text) < 9 and int(text) >= 1:
            return int(text)
        self.problems.append(f"{name}={text[:40]} is not a whole number from 1 on; {default} is used.")
        return default

    def _choice(self, kind: type[_Choice], name: str, default: _Choice, given: str | None = None) -> _Choice:
        text = self.last.get(name, "") if given is None else given
        if not text:
            return default
        try:
            return kind(text)
        except ValueError:
            self.problems.append(f"{name}={text[:40]} is unknown; valid are {', '.join(kind)}. {default} is used.")
            return default
