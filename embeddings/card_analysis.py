"""What is read from a card's text without a model: its words and the cues of skills; known cards aren't read again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ale_semantic.card_words import FIELDS, CardWords
from ale_semantic.fusion import Scores
from ale_semantic.skill_definitions import Skill, definitions_digest
from ale_semantic.skill_model import cue_scores
from ale_semantic.texts import field_text
from ale_semantic.types import Field, TaskCard

from .cache import EmbeddingCache, content_key
from .records import pack, unpack

# Changed whenever the same text yields other words (analysis.py, card_words.py) or other scores of the same cues.
VERSION = "analysis 1"


@dataclass(frozen=True, slots=True)
class CardAnalysis:
    """A card's words, and the score of each skill's cues, shape (skills,)."""

    words: CardWords
    cues: Scores


class CardAnalyser:
    """Reads cards, each once as long as the cache keeps it."""

    def __init__(self, cache: EmbeddingCache, skills: Sequence[Skill]) -> None:
        """Keep the definitions of the skills and what remembers."""
        self._cache = cache
        self._skills = skills
        self._digest = definitions_digest(skills)

    def analyse(self, cards: Sequence[TaskCard]) -> list[CardAnalysis]:
        """Return what is read from each card, in their order."""
        keys = [content_key(VERSION, self._digest, *(field_text(card, field) for field in FIELDS)) for card in cards]
        found = {key: _read(content) for key, content in self._cache.get(keys).items()}
        new = {key: card for key, card in zip(keys, cards, strict=True) if key not in found}
        cues = cue_scores(list(new.values()), self._skills)
        fresh = {key: CardAnalysis(CardWords.of(card), own) for (key, card), own in zip(new.items(), cues, strict=True)}
        self._cache.put({key: _written(analysis) for key, analysis in fresh.items()})
        found |= fresh
        return [found[key] for key in keys]


def _written(analysis: CardAnalysis) -> bytes:
    words = analysis.words
    plain = {"terms": {field: " ".join(own) for field, own in words.terms.items()}, "spelled": " ".join(words.spelled)}
    text: NDArray[Any] = np.frombuffer(json.dumps(plain, ensure_ascii=False).encode(), np.uint8)
    return pack({"cues": analysis.cues, "words": text})


def _read(content: bytes) -> CardAnalysis:
    arrays = unpack(content)
    plain = json.loads(arrays["words"].tobytes())
    terms = {Field(field): tuple(own.split()) for field, own in plain["terms"].items()}
    return CardAnalysis(CardWords(terms, tuple(plain["spelled"].split())), arrays["cues"])
