"""Coverage: what the catalogue holds by domain, tier and skill, and how well it covers a list of topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ale_semantic.curriculum.material import Material
from ale_semantic.curriculum.records import Pool, Record, TaskRef, require_tasks
from ale_semantic.curriculum.skills import NO_SKILLS
from ale_semantic.curriculum.time_limit import require_time
from ale_semantic.errors import CurriculumError
from ale_semantic.types import Band, Provenance

if TYPE_CHECKING:
    from ale_semantic.engine import Engine

NO_TIER = "(none)"
_BEST_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Cell(Record):
    """How many tasks stand in a domain, a tier and (null: any) a skill; a task of two tiers counts in both."""

    domain: str
    tier: str
    skill: str | None
    tasks: int


@dataclass(frozen=True, slots=True)
class TopicCoverage(Record):
    """How well the pool covers one topic: the band of its best task, and the best few."""

    topic: str
    band: Band
    best: TaskRef | None
    score: float | None
    others: tuple[TaskRef, ...]


@dataclass(frozen=True, slots=True)
class CoverageResult(Record):
    """Counts, empty cells of domain and tier, skills that few tasks need, and the topics in their order."""

    tasks: int
    cells: tuple[Cell, ...]
    empty: tuple[Cell, ...]
    rare_skills: tuple[Cell, ...]
    topics: tuple[TopicCoverage, ...]
    provenance: Provenance | None
    notices: tuple[str, ...] = field(default=())

    @property
    def weak_topics(self) -> tuple[str, ...]:
        """Return the topics without a strong match."""
        return tuple(topic.topic for topic in self.topics if topic.band is not Band.STRONG)


def coverage(engine: Engine, *, pool: Pool | None = None, topics: Sequence[str] = ()) -> CoverageResult:
    """Count the pool by domain, tier and skill, and look up each topic in it.

    Args:
        engine: the engine.
        pool: which tasks are counted; None counts all.
        topics: topics in any words, such as the lines of a syllabus; blank ones are passed over.

    Raises:
        LimitError: if the pool is empty.
        FilterError: if its filter can't be understood.
    """
    chosen = pool or Pool()
    material = Material.of(engine)
    allowed = chosen.mask(material.catalogue, material.facets)
    require_tasks(allowed, chosen)
    rows = [int(row) for row in np.flatnonzero(allowed)]
    cells = _cells(material, rows)
    counted = {(cell.domain, cell.tier) for cell in cells if cell.skill is None}
    domains = sorted({domain for domain, _ in counted})
    tiers = [tier for tier in material.facets.values("tier") if any(t == tier for _, t in counted)]
    return CoverageResult(
        tasks=len(rows),
        cells=cells,
        empty=tuple(Cell(d, t, None, 0) for d in domains for t in tiers if (d, t) not in counted),
        rare_skills=_rare_skills(material, rows),
        topics=tuple(_topic(engine, chosen, topic.strip()) for topic in topics if topic.strip()),
        provenance=material.provenance,
        notices=() if material.skills is not None else (NO_SKILLS,),
    )


def read_topics(text: str) -> tuple[str, ...]:
    """Return the topics of a list, one a line; blank lines and lines that begin with # are passed over.

    Raises:
        CurriculumError: if there is none.
    """
    found = tuple(line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    if not found:
        raise CurriculumError("the list holds no topic: write one a line")
    return found


def _cells(material: Material, rows: Sequence[int]) -> tuple[Cell, ...]:
    counts: Counter[tuple[str, str, str | None]] = Counter()
    for row in rows:
        card = material.catalogue.cards[row]
        skills = material.skill_names(material.skills_of(row))
        for tier in tuple(map(str, card.tiers)) or (NO_TIER,):
            counts.update((card.domain, tier, skill) for skill in (None, *skills))
    order = {tier: place for place, tier in enumerate((*material.facets.values("tier"), NO_TIER))}
    keys = sorted(counts, key=lambda key: (key[0], order[key[1]], key[2] or ""))
    return tuple(Cell(*key, counts[key]) for key in keys)


def _rare_skills(material: Material, rows: Sequence[int], most: int = 1) -> tuple[Cell, ...]:
    """Return the skills that at most `most` tasks of the pool need, those that none needs included."""
    if material.skills is None:
        return ()
    counts = Counter(skill for row in rows for skill in material.skills_of(row))
    rare = [(counts[skill], material.skills.name(skill)) for skill in material.skills.ids if counts[skill] <= most]
    return tuple(Cell("", "", name, count) for count, name in sorted(rare))


def _topic(engine: Engine, pool: Pool, topic: str) -> TopicCoverage:
    require_time()
    found = engine.search(topic, where=pool.condition(), k=_BEST_SHOWN + len(pool.exclude), facets=False)
    hits = [hit for hit in found.hits if hit.task_id not in pool.exclude][:_BEST_SHOWN]
    if not hits:
        return TopicCoverage(topic, Band.NONE, None, None, ())
    best = hits[0]
    return TopicCoverage(
        topic, best.band, TaskRef.of(best.card), best.score, tuple(TaskRef.of(hit.card) for hit in hits[1:])
    )
