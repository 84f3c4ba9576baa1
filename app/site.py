"""What all tabs share: the engine, built once, and what is computed once from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import TYPE_CHECKING

from ale_semantic.errors import UnknownNameError

if TYPE_CHECKING:
    from ale_semantic.embeddings.atlas import Atlas
    from ale_semantic.engine import Engine
    from ale_semantic.types import TaskCard


@dataclass(frozen=True, slots=True)
class Screen:
    """What a state looks like: the main part as HTML, the window's title, and one sentence for screen readers."""

    html: str
    title: str
    status: str


@dataclass(slots=True)
class _Once:
    """A value made by the first who asks, while the others wait."""

    lock: Lock = field(default_factory=Lock)
    value: Atlas | None = None


@dataclass(frozen=True, slots=True)
class Site:
    """One page for all its visitors; safe to share between threads."""

    engine: Engine
    _atlas: _Once = field(default_factory=_Once)

    def atlas(self) -> Atlas:
        """Return the map's layout: the index's own, or one that is drawn now and kept."""
        with self._atlas.lock:
            if self._atlas.value is None:
                self._atlas.value = getattr(self.engine, "atlas", None) or _drawn(self.engine)
            return self._atlas.value

    def warm_up(self) -> None:
        """Do in the background what the first visitor would wait for."""
        Thread(target=self._warm_up, name="warm-up", daemon=True).start()

    def _warm_up(self) -> None:
        self.engine.search("warm up", k=1)
        self.atlas()

    def card(self, task_id: str) -> TaskCard | None:
        """Return a task, None if the catalogue doesn't have it."""
        try:
            return self.engine.catalogue.get(task_id)
        except UnknownNameError:
            return None


def _drawn(engine: Engine) -> Atlas:
    from ale_semantic.embeddings.atlas import draw_atlas, mean_vectors

    space = engine.ranker.space
    texts = [f"{card.title}. {card.summary} {card.subdomain or ''}" for card in engine.catalogue]
    return draw_atlas(mean_vectors(space.backend.vectors, space.starts), texts)
