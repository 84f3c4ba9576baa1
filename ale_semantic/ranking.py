"""The ranking recipe: how the legs' evidence becomes one score a card."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ale_semantic.analysis import terms
from ale_semantic.bands import Thresholds
from ale_semantic.embeddings.encoder import Vectors
from ale_semantic.embeddings.passages import PassageKind
from ale_semantic.embeddings.space import VectorSpace, card_starts
from ale_semantic.fusion import Scores, best_per_card, mean_of_best, standardise
from ale_semantic.lexical import LexicalIndex
from ale_semantic.types import Mode, TaskCard

BEST_SENTENCES = 3
VIEW_WEIGHT, SENTENCE_WEIGHT, LEXICAL_WEIGHT = 0.4, 0.3, 0.3


@dataclass(frozen=True, slots=True)
class Ranking:
    """Scores of all cards for one query; arrays have shape (cards,). A leg that took no part is None."""

    fused: Scores
    dense: Scores | None
    lexical: Scores | None
    best_passage: NDArray[np.int64] | None


@dataclass(frozen=True, slots=True)
class Ranker:
    """The legs of one index and their weights."""

    space: VectorSpace
    lexical: LexicalIndex
    starts: NDArray[np.int64]
    card_vectors: Vectors

    @classmethod
    def of(cls, cards: Sequence[TaskCard], space: VectorSpace, lexical: LexicalIndex) -> Ranker:
        """Prepare the ranking of one index."""
        starts = card_starts(space.passages, len(cards))
        sums = np.add.reduceat(space.backend.vectors, starts[:-1], axis=0)
        return cls(space, lexical, starts, sums / np.linalg.norm(sums, axis=1, keepdims=True))

    def rank(self, query: str, vector: Vectors | None, mode: Mode) -> Ranking:
        """Score all cards.

        Args:
            query: the text.
            vector: its vector, shape (dimension,); None in lexical mode.
            mode: which legs take part.
        """
        lexical = self.lexical.scores(terms(query)) if mode is not Mode.DENSE else None
        if vector is None:
            words = lexical if lexical is not None else np.zeros(self.lexical.cards, dtype=np.float32)
            return Ranking(words, None, words, None)
        passages = self.space.backend.scores(vector[None, :], None)[0]
        best, rows = best_per_card(passages, self.starts)
        sentence = self.space.passages.kinds == PassageKind.SENTENCE
        few = mean_of_best(passages[sentence], self.space.passages.cards[sentence], self.lexical.cards, BEST_SENTENCES)
        fused = VIEW_WEIGHT * standardise(best) + SENTENCE_WEIGHT * standardise(few)
        if lexical is not None:
            fused = fused + LEXICAL_WEIGHT * standardise(lexical)
        return Ranking(fused, best, lexical, rows)

    def rank_similar(self, near: Sequence[int], far: Sequence[int], text: Vectors | None) -> Ranking:
        """Score all cards by nearness to some cards and a text, and distance from others."""
        target = self.card_vectors[list(near)].sum(axis=0) - 0.5 * self.card_vectors[list(far)].sum(axis=0)
        if text is not None:
            target = target + text
        target = target / np.linalg.norm(target)
        passages = self.space.backend.scores(target[None, :].astype(np.float32), None)[0]
        _, rows = best_per_card(passages, self.starts)
        dense = np.clip(self.card_vectors @ target, -1, 1)
        return Ranking(dense, dense, None, rows)

    def thresholds(self, mode: Mode) -> Thresholds:
        """Return the bands of a mode."""
        return Thresholds(strong=0.5, weak=0.3)
