"""What all tabs share: the engine, built once, and what is computed once from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock, Thread
from typing import TYPE_CHECKING, Generic, TypeVar

from ale_semantic.analysis import fold_text
from ale_semantic.errors import UnknownNameError
from ale_semantic.types import Verdict

if TYPE_CHECKING:
    from ale_semantic.embeddings.atlas import Atlas
    from ale_semantic.engine import Engine
    from ale_semantic.types import TaskCard

    from .curriculum.starters import Starters

EXAMPLES = (
    "segment a tumour on CT scans",
    "reconcile invoices with bank statements",
    "turn a drawing into a 3D model",
    "clean up a messy spreadsheet",
    "read a contract for risky clauses",
    "simulate a circuit",
    "count cells in microscope pictures",
    "map land use from satellite images",
    "find out why a test fails now and then",
    "edit the sound of a film",
    "design a survey and analyse its answers",
    "plan deliveries for a fleet of trucks",
)
_SHOWN_EXAMPLES = 6
_Source = TypeVar("_Source")
_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Screen:
    """What a state looks like: the main part as HTML, the window's title, and one sentence for screen readers."""

    html: str
    title: str
    status: str


@dataclass(slots=True)
class _Once(Generic[_Source, _Value]):
    """A value made by the first who asks, while the others wait."""

    make: Callable[[_Source], _Value]
    lock: Lock = field(default_factory=Lock)
    value: _Value | None = None

    def get(self, source: _Source) -> _Value:
        with self.lock:
            if self.value is None:
                self.value = self.make(source)
            return self.value


def _atlas(engine: Engine) -> Atlas:
    """Return the index's own map, or draw one."""
    from ale_semantic.embeddings.atlas import draw_atlas
    from ale_semantic.embeddings.vectors import mean_vectors

    stored: Atlas | None = getattr(engine, "atlas", None)
    if stored is not None:
        return stored
    space = engine.ranker.space
    texts = [f"{card.title}. {card.subdomain or ''}" for card in engine.catalogue]
    return draw_atlas(mean_vectors(space.backend.vectors, space.starts), texts)


def _twins(engine: Engine) -> dict[str, tuple[str, ...]]:
    """Return the near twins of each task that has any, by id."""
    from ale_semantic.curriculum import duplicates

    found: dict[str, list[str]] = {}
    for pair in duplicates(engine).pairs:
        found.setdefault(pair.first.task_id, []).append(pair.second.task_id)
        found.setdefault(pair.second.task_id, []).append(pair.first.task_id)
    return {task_id: tuple(others) for task_id, others in found.items()}


def _examples(engine: Engine) -> tuple[str, ...]:
    """Return the example queries that this catalogue answers well."""
    good = (text for text in EXAMPLES if engine.search(text, k=1, facets=False).verdict is Verdict.STRONG)
    return tuple(islice(good, _SHOWN_EXAMPLES))


def _starters(site: Site) -> Starters:
    from .curriculum.starters import find_starters

    return find_starters(site.engine, site.examples())


@dataclass(frozen=True, slots=True)
class Site:
    """One page for all its visitors; safe to share between threads."""

    engine: Engine
    _atlas: _Once[Engine, Atlas] = field(default_factory=lambda: _Once(_atlas))
    _twins: _Once[Engine, dict[str, tuple[str, ...]]] = field(default_factory=lambda: _Once(_twins))
    _examples: _Once[Engine, tuple[str, ...]] = field(default_factory=lambda: _Once(_examples))
    _starters: _Once[Site, Starters] = field(default_factory=lambda: _Once(_starters))

    def atlas(self) -> Atlas:
        """Return the map's layout: the index's own, or one that is drawn now and kept."""
        return self._atlas.get(self.engine)

    def twins(self, task_id: str) -> tuple[TaskCard, ...]:
        """Return the tasks that are almost the same as one, the most alike first."""
        return tuple(map(self.engine.catalogue.get, self._twins.get(self.engine).get(task_id, ())))

    def examples(self) -> tuple[str, ...]:
        """Return example queries that have a clear answer here."""
        return self._examples.get(self.engine)

    def warm_up(self) -> None:
        """Do in the background what the first visitor would wait for."""
        Thread(target=self._warm_up, name="warm-up", daemon=True).start()

    def _warm_up(self) -> None:
        self.examples()
        self._twins.get(self.engine)
        self.atlas()
        self.starters()

    def task_id(self, name: str) -> str:
        """Return the id of the task that an id, a title, or a part that only one task has names; else the name."""
        if self.card(name) is not None:
            return name
        wanted = fold_text(name)
        cards = self.engine.catalogue.cards
        exact = [card.task_id for card in cards if fold_text(card.title) == wanted]
        near = exact or [card.task_id for card in cards if wanted in fold_text(f"{card.task_id} {card.title}")]
        return near[0] if len(near) == 1 else name  # the engine says which names are nearest

    def starters(self) -> Starters:
        """Return examples for the Curriculum tab that have an answer here."""
        return self._starters.get(self)

    def card(self, task_id: str) -> TaskCard | None:
        """Return a task, None if the catalogue doesn't have it."""
        try:
            return self.engine.catalogue.get(task_id)
        except UnknownNameError:
            return None
