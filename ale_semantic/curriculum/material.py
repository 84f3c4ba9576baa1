"""What a curriculum is made of: cards, facets, likeness of tasks, and skills; made once per engine."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ale_semantic.catalogue import Catalogue
from ale_semantic.curriculum.records import TaskRef
from ale_semantic.curriculum.similarity import Matrix, Wording, card_similarity, chance_level, closeness_of
from ale_semantic.curriculum.skills import SkillTable, skills_of_engine
from ale_semantic.errors import CurriculumError
from ale_semantic.facets import FacetTable
from ale_semantic.fusion import Mask
from ale_semantic.types import Provenance

if TYPE_CHECKING:
    from ale_semantic.engine import Engine

# Two tasks are near twins if either is reached. On the benchmark's cards the shared wording of twins and of other
# pairs leaves a gap from 0.20 to 0.30, and their closeness one from 0.60 to 0.68 (docs/curriculum-quality.md).
TWIN_WORDING = 0.25
TWIN_CLOSENESS = 0.65
SAME_SUBDOMAIN = 0.5  # what a common subdomain counts beside common skills, which count up to 1
_KEPT = 2  # engines; each holds two matrices of (cards, cards)


@dataclass(frozen=True, slots=True)
class Likeness:
    """The evidence that two tasks are alike: closeness of meaning (null without vectors) and shared wording."""

    closeness: float | None
    wording: float


@dataclass(frozen=True, slots=True)
class Material:
    """One catalogue, prepared. Without an index there are no vectors (`closeness` is None) and no skills."""

    catalogue: Catalogue
    facets: FacetTable
    wording: Wording
    overlap: Matrix
    closeness: Matrix | None
    chance: float
    skills: SkillTable | None
    provenance: Provenance | None

    @classmethod
    def of(cls, engine: Engine) -> Material:
        """Return the material of an engine, made at its first use."""
        with _lock:
            for known, material in _made:
                if known is engine:
                    return material
            material = cls._make(engine)
            _made.append((engine, material))
            return material

    @classmethod
    def _make(cls, engine: Engine) -> Material:
        similarity = card_similarity(engine)
        chance = chance_level(similarity, [card.domain for card in engine.catalogue])
        wording = Wording.of(engine.catalogue.cards)
        return cls(
            catalogue=engine.catalogue,
            facets=engine.facet_table,
            wording=wording,
            overlap=wording.between_cards(),
            closeness=closeness_of(similarity, chance),
            chance=chance,
            skills=skills_of_engine(engine),
            provenance=engine.provenance,
        )

    @classmethod
    def of_catalogue(cls, catalogue: Catalogue) -> Material:
        """Return the material of cards without an index: wording and facets, no vectors and no skills."""
        wording = Wording.of(catalogue.cards)
        table = FacetTable.from_cards(catalogue.cards)
        return cls(catalogue, table, wording, wording.between_cards(), None, 0.0, None, None)

    def near(self) -> Matrix:
        """Return the closeness of each two tasks.

        Raises:
            CurriculumError: if there are no vectors.
        """
        if self.closeness is None:
            raise CurriculumError("closeness needs an index: make one with ale-semantic build")
        return self.closeness

    def links(self) -> Matrix:
        """Return what each two tasks have in common besides their meaning, 0 to 1, shape (cards, cards).

        The share of skills, or of software where there are no skills; half a point more within one subdomain.
        """
        if self.skills is not None:
            sets = [self.skills_of(row) for row in range(len(self.catalogue))]
        else:
            sets = [frozenset(card.software_names) for card in self.catalogue]
        places = {name: place for place, name in enumerate(sorted(frozenset[str]().union(*sets)))}
        held = np.zeros((len(sets), len(places)), dtype=np.float32)
        for row, names in enumerate(sets):
            held[row, [places[name] for name in names]] = 1
        shared = held @ held.T
        sizes = held.sum(axis=1)
        share = shared / np.maximum(sizes[:, None] + sizes[None, :] - shared, 1)
        subdomains = np.asarray([card.subdomain or f"({row})" for row, card in enumerate(self.catalogue)])
        same = subdomains[:, None] == subdomains[None, :]
        return np.asarray(np.minimum(share + SAME_SUBDOMAIN * same, 1.0), dtype=np.float32)

    def twins(self, *, wording: float = TWIN_WORDING, closeness: float = TWIN_CLOSENESS) -> Mask:
        """Return which tasks are near twins, shape (cards, cards), the diagonal left out."""
        alike = self.overlap >= wording
        if self.closeness is not None:
            alike = alike | (self.closeness >= closeness)
        return np.asarray(alike & ~np.eye(len(alike), dtype=bool))

    def likeness(self, first: int, second: int) -> Likeness:
        """Return the evidence that two tasks are alike."""
        near = float(self.closeness[first, second]) if self.closeness is not None else None
        return Likeness(near, float(self.overlap[first, second]))

    def ref(self, row: int) -> TaskRef:
        """Return the reference to a row's task."""
        return TaskRef.of(self.catalogue.cards[row])

    def skills_of(self, row: int) -> frozenset[str]:
        """Return a task's skills; none where the index has none."""
        return frozenset(self.skills.skills_of(row)) if self.skills is not None else frozenset()

    def skill_names(self, ids: frozenset[str] | set[str]) -> tuple[str, ...]:
        """Return the names of skills, sorted."""
        return tuple(sorted(self.skills.name(skill_id) for skill_id in ids)) if self.skills is not None else ()


_lock = threading.Lock()
_made: deque[tuple[Engine, Material]] = deque(maxlen=_KEPT)
