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

from ale_semantic.embeddings.encoder import Encoder, TextKind
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.embeddings.vectors import Vectors, unit
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
_MEANING_SHARE = 0.6  # of the evidence for ranking; the rest are cues


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


def phrasing_vectors(skills: Sequence[Skill], encoder: Encoder) -> Vectors:
    """Return one unit vector a phrasing (definitions and prototypes), skill by skill, shape (phrasings, dimension)."""
    return encoder.encode([text for skill in skills for text in skill.texts], TextKind.DOCUMENT)


def phrasing_starts(skills: Sequence[Skill]) -> NDArray[np.int64]:
    """Return the first phrasing of each skill, shape (skills,)."""
    return np.cumsum([0, *(len(skill.texts) for skill in skills[:-1])]).astype(np.int64)


def skill_vectors(skills: Sequence[Skill], phrasings: Vectors) -> Vectors:
    """Return one unit vector a skill, the mean of its phrasings, shape (skills, dimension)."""
    return unit(np.add.reduceat(phrasings, phrasing_starts(skills), axis=0))


def skill_cosines(space: VectorSpace, vectors: Vectors, cards: int) -> Scores:
    """Return the mean cosine of each card's best few passages with each skill, shape (cards, skills)."""
    found = np.zeros((cards, len(vectors)), dtype=np.float32)
    for first, stop in _chunks(space.starts):
        rows = slice(int(space.starts[first]), int(space.starts[stop]))
        starts = space.starts[first : stop + 1] - space.starts[first]
        for column, own in enumerate(vectors @ space.backend.vectors[rows].T):
            found[first:stop, column] = mean_of_best(own, starts, BEST_PASSAGES)
    return found


def cue_scores(cards: Sequence[TaskCard], skills: Sequence[Skill]) -> Scores:
    """Return the number of each skill's cues that each card holds, weighted by field, shape (cards, skills)."""
    found = np.zeros((len(cards), len(skills)), dtype=np.float32)
    weights = np.array(list(CUE_WEIGHTS.values()), dtype=np.float32)
    for row, card in enumerate(cards):
        texts = [field_text(card, field).lower() for field in CUE_WEIGHTS]
        together = "\n".join(texts)
        counts = np.array([skill.cue_counts(texts, together) for skill in skills], dtype=np.float32)
        found[row] = counts.reshape(len(skills), len(texts)) @ weights
    return found


def affinities(cosines: Scores, cues: Scores) -> Scores:
    """Return how much each card asks for each skill, for ranking: shape (skills, cards), rows standardised.

    Args:
        cosines: `skill_cosines` of the cards.
        cues: `cue_scores` of the cards.
    """
    meaning, words = _standardised_columns(cosines), _standardised_columns(np.log1p(cues))
    return np.ascontiguousarray(_standardised_columns(_MEANING_SHARE * meaning + (1 - _MEANING_SHARE) * words).T)


def _standardised_columns(values: Scores) -> Scores:
    return np.asarray((values - values.mean(axis=0)) / (values.std(axis=0) + 1e-9), dtype=np.float32)


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
