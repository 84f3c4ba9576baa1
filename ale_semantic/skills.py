"""Which skills each card needs: assigned from its text, with the evidence, and matched with queries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ale_semantic.arrays import mapped
from ale_semantic.embeddings.encoder import Encoder, Vectors
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.errors import AleSemanticError, BundleError
from ale_semantic.facet_fields import FacetField, FieldKind
from ale_semantic.fusion import Mask, Scores
from ale_semantic.products import dots, weighted_sum
from ale_semantic.skill_definitions import (
    Skill,
    definitions_digest,
    find_skill,
    load_skills,
    plain_skills,
    skill_key,
    skills_from,
)
from ale_semantic.skill_model import (
    CUE_WEIGHTS,
    SkillModel,
    affinities,
    cue_scores,
    load_model,
    phrasing_starts,
    phrasing_vectors,
    skill_cosines,
    skill_vectors,
)
from ale_semantic.texts import field_text
from ale_semantic.types import Field, TaskCard

FIELD = "skill"
_ARRAYS = ("scores", "vectors", "phrasings", "affinity")
_ARRAY = "skill_{}.npy"
_DEFINITIONS = "skills.json"
_CUE_WORTH = 0.1  # cosine that a cue in a passage is worth when the passage to show is chosen
# A query asks for the nearest skill, if that is near enough, and for those that are nearly as near.
_NEARLY = 0.1  # cosine
_SHARPNESS = 20.0  # of the softmax that says how much each skill counts for a query's ranking
_STANDS_OUT = 3.0  # standard deviations over the skills: near enough where no cosine is known to be


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why a card is taken to need a skill: the passage that says so best, and the cues found in the card."""

    field: Field
    text: str
    cosine: float
    cues: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SkillMatch:
    """A skill that a query asks for."""

    id: str
    name: str
    cosine: float


@dataclass(frozen=True, slots=True)
class SkillTable:
    """The skills of all cards of one index, rows in the order of the catalogue. Safe to share between threads.

    Attributes:
        skills: the definitions, in the order of the columns.
        scores: how likely each card needs each skill, shape (cards, skills).
        threshold: the score from which a card has a skill.
        gate: the cosine from which a query asks for a skill; None where it isn't known for the encoder.
        vectors: one unit vector a skill, shape (skills, dimension).
        phrasings: one unit vector a phrasing, skill by skill, shape (phrasings, dimension).
        affinity: how much each card asks for each skill, for ranking, shape (skills, cards), rows standardised.
        cards: the cards.
        space: their passages and vectors.
    """

    skills: tuple[Skill, ...]
    scores: Scores
    threshold: float
    gate: float | None
    vectors: Vectors
    phrasings: Vectors
    affinity: Scores
    cards: Sequence[TaskCard]
    space: VectorSpace
    _starts: NDArray[np.int64] = field(init=False, repr=False, compare=False)  # the first phrasing of each skill

    def __post_init__(self) -> None:
        """Count what every query needs."""
        object.__setattr__(self, "_starts", phrasing_starts(self.skills))

    @classmethod
    def open(cls, folder: Path, cards: Sequence[TaskCard], space: VectorSpace) -> SkillTable | None:
        """Read the table that `write` wrote into a folder; None if there is none.

        Raises:
            BundleError: if it is damaged or doesn't fit the cards.
        """
        if not (folder / _DEFINITIONS).is_file():
            return None
        try:
            stored = json.loads((folder / _DEFINITIONS).read_text(encoding="utf-8"))
            skills = skills_from(stored["skills"], str(folder / _DEFINITIONS), cues_checked=True)
            scores, vectors, phrasings, affinity = (mapped(folder / _ARRAY.format(name)) for name in _ARRAYS)
            threshold, gate = float(stored["threshold"]), stored["gate"]
        except (OSError, ValueError, KeyError, TypeError, AleSemanticError) as fault:
            raise BundleError(f"{folder / _DEFINITIONS}: the skills can't be read: {fault}") from None
        expected = (len(cards), len(skills)), (len(skills), space.identity.dimension), (len(skills), len(cards))
        if (scores.shape, vectors.shape, affinity.shape) != expected:
            raise BundleError(
                f"{folder / _DEFINITIONS}: these skills don't fit {len(cards)} cards: build the index anew"
            )
        return cls(skills, scores, threshold, gate, vectors, phrasings, affinity, cards, space)

    def write(self, folder: Path) -> None:
        """Write the table into a folder: scores and vectors as arrays, definitions as JSON."""
        for name in _ARRAYS:
            np.save(folder / _ARRAY.format(name), getattr(self, name), allow_pickle=False)
        stored = {
            "threshold": self.threshold,
            "gate": self.gate,
            "encoder": self.space.identity.digest,
            "digest": definitions_digest(self.skills),
            "skills": plain_skills(self.skills),
        }
        (folder / _DEFINITIONS).write_text(json.dumps(stored, ensure_ascii=False) + "\n", encoding="utf-8")

    @property
    def ids(self) -> tuple[str, ...]:
        """Return the ids of all skills."""
        return tuple(skill.id for skill in self.skills)

    @property
    def matrix(self) -> Mask:
        """Return which card needs which skill, shape (cards, skills)."""
        return np.asarray(self.scores >= self.threshold)

    def find(self, text: str) -> Skill:
        """Return the skill that a text names by id or name.

        Raises:
            UnknownNameError: if there is none; the nearest names are given.
        """
        return find_skill(self.skills, text)

    def name(self, skill_id: str) -> str:
        """Return the name of a skill."""
        return self.skills[self._column(skill_id)].name

    def skills_of(self, row: int) -> tuple[str, ...]:
        """Return the ids of the skills that a card needs, the likeliest first."""
        scores = self.scores[row]
        order = np.argsort(-scores, kind="stable")
        return tuple(self.skills[column].id for column in order if scores[column] >= self.threshold)

    def score(self, row: int, skill_id: str) -> float:
        """Return how likely a card needs a skill, from 0 to 1."""
        return float(self.scores[row, self._column(skill_id)])

    def rows_with(self, skill_id: str) -> NDArray[np.int64]:
        """Return the rows of the cards that need a skill, the likeliest first."""
        scores = self.scores[:, self._column(skill_id)]
        order = np.argsort(-scores, kind="stable")
        return order[scores[order] >= self.threshold]

    def evidence(self, row: int, skill_id: str) -> Evidence:
        """Return the passage of a card that best shows a skill, and the words in the card that point to it."""
        column = self._column(skill_id)
        skill, card = self.skills[column], self.cards[row]
        rows = np.arange(self.space.starts[row], self.space.starts[row + 1])
        cosines = self.space.backend.scores(self.vectors[column][None, :], rows)[0]
        passages = [self.space.passages.passage(int(place), self.cards) for place in rows]
        worth = [len(_cues_in(skill, passage.text)) for passage in passages]
        best = int(np.argmax(cosines + _CUE_WORTH * np.minimum(worth, 2)))
        texts = (field_text(card, field) for field in CUE_WEIGHTS)
        cues = tuple(dict.fromkeys(word for text in texts for word in _cues_in(skill, text)))
        return Evidence(passages[best].field, passages[best].text, float(cosines[best]), cues)

    def match(self, vector: Vectors) -> tuple[SkillMatch, ...]:
        """Return the skills that a query asks for, the nearest first; none if none is near enough.

        Args:
            vector: the query's unit vector, shape (dimension,).
        """
        cosines = dots(self.vectors, vector)
        if len(cosines) < 2 or cosines.std() < 1e-6:
            return ()
        gate = self.gate if self.gate is not None else cosines.mean() + _STANDS_OUT * cosines.std()
        wanted = (cosines > gate) & (cosines > cosines.max() - _NEARLY)
        order = np.argsort(-cosines, kind="stable")
        return tuple(
            SkillMatch(self.skills[column].id, self.skills[column].name, float(cosines[column]))
            for column in order
            if wanted[column]
        )

    def asked_for(self, matches: Sequence[SkillMatch]) -> Scores:
        """Return how well each card answers to the skills that a query asks for, shape (cards,); 0 for none."""
        if not matches:
            return np.zeros(len(self.scores), dtype=np.float32)
        columns = [self._column(match.id) for match in matches]
        weights = np.array([match.cosine for match in matches], dtype=np.float32)
        return np.asarray(self.scores[:, columns] @ weights, dtype=np.float32)

    def ranking_evidence(self, vector: Vectors) -> tuple[Scores, float]:
        """Return how much each card asks for the skills that a query is near to, and how near the nearest is.

        Args:
            vector: the query's unit vector, shape (dimension,).

        Returns:
            Scores of shape (cards,), the skills' affinities averaged by the softmax of the query's nearness to
            them, and the cosine of the nearest phrasing of any skill.
        """
        near = np.maximum.reduceat(dots(self.phrasings, vector), self._starts)
        share = np.exp(_SHARPNESS * (near - near.max()))
        return weighted_sum(share / share.sum(), self.affinity), float(near.max())

    def facet(self) -> dict[FacetField, list[tuple[str, ...]]]:
        """Return the facet of the skills with each card's values."""
        return {self.field(): [tuple(map(self.name, self.skills_of(row))) for row in range(len(self.scores))]}

    def field(self) -> FacetField:
        """Return the facet's field; a filter may name a skill by its name or its id."""
        names = {skill_key(key): skill.name for skill in self.skills for key in (skill.id, skill.name)}

        def canonical(text: str) -> tuple[str, ...]:
            name = names.get(skill_key(text))
            return (name,) if name else ()

        return FacetField(
            FIELD,
            FieldKind.MULTI,
            "What the agent must be able to do; assigned from the card's text.",
            lambda card: (),
            vocabulary=tuple(skill.name for skill in self.skills),
            canonical=canonical,
        )

    def _column(self, skill_id: str) -> int:
        for column, skill in enumerate(self.skills):
            if skill.id == skill_id:
                return column
        return self.skills.index(self.find(skill_id))


def assign_skills(
    cards: Sequence[TaskCard],
    space: VectorSpace,
    encoder: Encoder,
    *,
    skills: Sequence[Skill] | None = None,
    model: SkillModel | None = None,
    cues: Scores | None = None,
) -> SkillTable:
    """Assign skills to the cards of an index.

    Args:
        cards: the cards; looked at for cues, unless those are given, and for the evidence that the table shows.
        space: their passages and vectors.
        encoder: the encoder of the space.
        skills: the definitions; by default the project's.
        model: the weights; by default the fitted ones.
        cues: `cue_scores` of the cards.
    """
    chosen = tuple(skills) if skills is not None else load_skills()
    weights = model or load_model()
    digest = space.identity.digest
    phrasings = phrasing_vectors(chosen, encoder)
    vectors = skill_vectors(chosen, phrasings)
    found = cues if cues is not None else cue_scores(cards, chosen)
    cosines = skill_cosines(space, vectors, len(found))
    scores = weights.probabilities(chosen, cosines, found, digest)
    gate = weights.gate if digest == weights.encoder else None
    affinity = affinities(cosines, found)
    return SkillTable(chosen, scores, weights.threshold, gate, vectors, phrasings, affinity, cards, space)


def _cues_in(skill: Skill, text: str) -> list[str]:
    """Return the first words that each cue of a skill finds in a text."""
    return [" ".join(found.split()) for found in skill.cues_in(text.lower())]
