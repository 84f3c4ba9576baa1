"""How likely a card needs a skill: evidence from meaning and from cues, weighed by a small logistic model.

The weights in `data/skill_model.json` are fitted by `benchmarks/fit_skills.py` on cards judged by reading;
docs/skills.md says how well they do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ale_semantic.embeddings.encoder import Encoder, TextKind, Vectors
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.fusion import Scores, mean_of_best
from ale_semantic.skill_definitions import Skill
from ale_semantic.texts import field_text
from ale_semantic.types import Field, TaskCard

# A cue in the title says more than one deep in the prompt.
CUE_WEIGHTS: Mapping[Field, float] = {
    Field.TITLE: 3.0,
    Field.SUMMARY: 2.0,
    Field.SOFTWARE: 2.0,
    Field.MUST_DO: 1.0,
    Field.INPUTS: 0.5,
    Field.PROMPT: 0.5,
    Field.SUBDOMAIN: 0.5,
}
BEST_PASSAGES = 3
_CHUNK = 50_000  # passages compared with the skills at once
_FILE = "skill_model.json"


@dataclass(frozen=True, slots=True)
class SkillModel:
    """The fitted weights.

    Attributes:
        cosine_weight: weight of the standardised cosine.
        cue_weight: weight of log(1 + weighted number of cues found).
        intercepts: how common each skill is, by its id.
        threshold: the probability from which a card has a skill.
        gate: the cosine from which a query asks for a skill, for the encoder that the model was fitted with.
        encoder: digest of the encoder whose cosines `centres` and `spreads` describe.
        centres: mean cosine of each skill over the cards that the model was fitted on, by id.
        spreads: standard deviation of the same.
        definitions: digest of the definitions that the model was fitted with.
        figures: how well it does, as docs/skills.md shows it.
    """

    cosine_weight: float
    cue_weight: float
    intercepts: Mapping[str, float]
    threshold: float
    gate: float
    encoder: str
    centres: Mapping[str, float]
    spreads: Mapping[str, float]
    definitions: str
    figures: Mapping[str, Any]

    def probabilities(self, skills: Sequence[Skill], cosines: Scores, cues: Scores, encoder: str) -> Scores:
        """Return how likely each card needs each skill, shape (cards, skills).

        Args:
            skills: the skills of the columns; one the model wasn't fitted with counts as averagely common.
            cosines: `skill_cosines` of the cards.
            cues: `cue_scores` of the cards.
            encoder: digest of the encoder of the cosines. Those of another encoder than the fitted one are
                standardised over the given cards.
        """
        centres, spreads = cosines.mean(axis=0), cosines.std(axis=0)
        if encoder == self.encoder:
            centres = _by_skill(self.centres, skills, centres)
            spreads = _by_skill(self.spreads, skills, spreads)
        standard = (cosines - centres) / np.where(spreads < 1e-6, np.inf, spreads)
        usual = np.full(len(skills), float(np.mean(list(self.intercepts.values()))))
        logits = (
            self.cosine_weight * standard + self.cue_weight * np.log1p(cues) + _by_skill(self.intercepts, skills, usual)
        )
        return np.asarray(1 / (1 + np.exp(-logits)), dtype=np.float32)


@cache
def load_model() -> SkillModel:
    """Return the fitted weights."""
    text = (resources.files("ale_semantic") / "data" / _FILE).read_text(encoding="utf-8")
    return SkillModel(**json.loads(text))


def skill_vectors(skills: Sequence[Skill], encoder: Encoder) -> Vectors:
    """Return one unit vector a skill, the mean of its definition and prototypes, shape (skills, dimension)."""
    texts = [text for skill in skills for text in skill.texts]
    made = encoder.encode(texts, TextKind.DOCUMENT)
    starts = np.cumsum([0, *(len(skill.texts) for skill in skills[:-1])])
    sums = np.add.reduceat(made, starts, axis=0)
    return np.asarray(sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9), dtype=np.float32)


def skill_cosines(space: VectorSpace, vectors: Vectors, cards: int) -> Scores:
    """Return the mean cosine of each card's best few passages with each skill, shape (cards, skills)."""
    found = np.zeros((cards, len(vectors)), dtype=np.float32)
    for first, stop in _chunks(space.starts):
        rows = slice(int(space.starts[first]), int(space.starts[stop]))
        scores = vectors @ space.backend.vectors[rows].T
        owner = space.passages.cards[rows] - first
        for column, own in enumerate(scores):
            found[first:stop, column] = mean_of_best(own, owner, stop - first, BEST_PASSAGES)
    return found


def cue_scores(cards: Sequence[TaskCard], skills: Sequence[Skill]) -> Scores:
    """Return the number of each skill's cues that each card holds, weighted by field, shape (cards, skills)."""
    found = np.zeros((len(cards), len(skills)), dtype=np.float32)
    patterns = [skill.patterns for skill in skills]
    for row, card in enumerate(cards):
        for field, weight in CUE_WEIGHTS.items():
            text = field_text(card, field).lower()
            if text:
                found[row] += [weight * sum(pattern.search(text) is not None for pattern in own) for own in patterns]
    return found


def _chunks(starts: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Yield ranges of cards with about `_CHUNK` passages each, at least one card."""
    first = 0
    while first < len(starts) - 1:
        stop = int(np.searchsorted(starts, starts[first] + _CHUNK, side="right")) - 1
        stop = max(stop, first + 1)
        yield first, stop
        first = stop


def _by_skill(values: Mapping[str, float], skills: Sequence[Skill], otherwise: Scores) -> Scores:
    return np.array([values.get(skill.id, float(own)) for skill, own in zip(skills, otherwise, strict=True)])
