"""How near tasks are to a topic of the user's own words, or to the tasks of a skill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ale_semantic.curriculum.material import Material
from ale_semantic.kept import Kept
from ale_semantic.types import Band, Provenance, Verdict

if TYPE_CHECKING:
    from ale_semantic.engine import Engine

_MOST_KEPT = 64  # topics; two numbers a card each
_LEVELS = (Band.NONE, Band.WEAK, Band.STRONG)


@dataclass(frozen=True, slots=True)
class Relevance:
    """How near each task is to something: 0 to 1, and 2, 1 or 0 for strong, weak or no match; shape (cards,)."""

    scores: NDArray[np.float64]
    levels: NDArray[np.int64]
    label: str

    @property
    def best_level(self) -> int:
        """Return the best match there is."""
        return int(self.levels.max(initial=0))


def topic_relevance(engine: Engine, topic: str) -> Relevance:
    """Search the whole catalogue for a topic; scores run from 0 for the middling task to 1 for the best.

    Raises:
        QueryError: if the topic can't be searched for.
    """
    key = (engine.provenance, topic)
    known = _kept.get(key)
    if known is None:
        known = _search(engine, topic)
        _kept.keep(key, known)
    return known


def _search(engine: Engine, topic: str) -> Relevance:
    found = engine.search(topic, k=len(engine.catalogue), facets=False)
    scores = np.zeros(len(engine.catalogue))
    levels = np.zeros(len(engine.catalogue), dtype=np.int64)
    for hit in found.hits:
        row = engine.catalogue.row(hit.task_id)
        scores[row] = hit.score
        levels[row] = _LEVELS.index(hit.band)
    if found.verdict is Verdict.NONE:
        levels[:] = 0
    middle = float(np.median(scores))
    best = float(scores.max())
    return Relevance(np.clip((scores - middle) / max(best - middle, 1e-9), 0, 1), levels, f"topic {topic!r}")


def task_relevance(material: Material, row: int) -> Relevance:
    """Return the closeness of all tasks to one of them."""
    scores = np.clip(material.near()[row].astype(np.float64), 0, 1)
    scores[row] = 1.0
    levels = np.zeros(len(scores), dtype=np.int64)
    levels[row] = 2
    return Relevance(scores, levels, material.catalogue.cards[row].task_id)


def skill_relevance(material: Material, skill_id: str) -> Relevance:
    """Return 1 for the tasks that need a skill, and for others their closeness to the nearest of those."""
    trains = np.array([skill_id in material.skills_of(row) for row in range(len(material.catalogue))])
    near = np.clip(material.near()[:, trains].max(axis=1, initial=0.0).astype(np.float64), 0, 1)
    names = material.skill_names({skill_id})
    return Relevance(np.where(trains, 1.0, near), trains.astype(np.int64) * 2, f"skill {names[0]!r}")


def central_relevance(material: Material, allowed: NDArray[np.bool_]) -> Relevance:
    """Return how central each task is among the allowed ones: its mean closeness, from 0 to 1 for the most central."""
    near = np.clip(material.near().astype(np.float64), 0, 1)
    means = near[:, allowed].mean(axis=1) if allowed.any() else np.zeros(len(near))
    best = float(means[allowed].max(initial=0.0))
    return Relevance(
        np.clip(means / max(best, 1e-9), 0, 1), np.full(len(near), 2, dtype=np.int64), "the core of the tasks"
    )


_kept: Kept[tuple[Provenance, str], Relevance] = Kept(_MOST_KEPT)
