"""Some cards of an index, scored and related as if they were an index of their own, and the norm of their scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ale_semantic.components import Component
from ale_semantic.embeddings.likeness import CardViews
from ale_semantic.fusion import Scores
from ale_semantic.ranking import Ranker

# A word that one of a great many cards holds would outweigh all else. Among 157 cards, for which the weights were
# fitted, a component lies at most so many deviations above its mean.
_MOST_DEVIATIONS = 12.5

Rows = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Pool:
    """Some cards as an index of their own: their rows in the catalogue, and what scores and relates them."""

    rows: Rows
    ranker: Ranker
    views: CardViews


@dataclass(frozen=True, slots=True)
class Parts:
    """Components of some cards, shape (rows,) each; `best` is the best passage's cosine, `passages` its row."""

    rows: Rows
    components: Mapping[Component, Scores]
    best: Scores
    passages: Rows


@dataclass(frozen=True, slots=True)
class Norm:
    """Mean and deviation of each component over the sample, and those of their weighted sum."""

    components: Mapping[Component, tuple[float, float]]
    weights: Mapping[Component, float]
    mean: float
    deviation: float

    @classmethod
    def of(cls, sample: Parts, weights: Mapping[Component, float], words: Scores | None) -> Norm:
        """Measure the components of a sample; `words` are the BM25 scores of all cards."""
        measured = {name: _mean_and_deviation(scores) for name, scores in sample.components.items()}
        if words is not None:
            measured[Component.WORDS] = _mean_and_deviation(words)
        total = cls(measured, weights, 0.0, 1.0).own(sample.components)
        return cls(measured, weights, *_mean_and_deviation(total))

    def own(self, components: Mapping[Component, Scores]) -> Scores:
        """Return the standardised weighted sum of components."""
        total = np.zeros(len(next(iter(components.values()))), dtype=np.float32)
        for name, scores in components.items():
            mean, deviation = self.components[name]
            total += self.weights[name] * np.minimum((scores - mean) / deviation, _MOST_DEVIATIONS)
        return np.asarray((total - self.mean) / self.deviation, dtype=np.float32)


def pool_of(ranker: Ranker, rows: Rows, domains: NDArray[np.int32]) -> Pool:
    """Take some cards, in the order of their rows, out of an index; their vectors are copied into memory."""
    space = ranker.space.subset(rows)
    skills = ranker.skills
    if skills is not None:
        skills = replace(skills, affinity=skills.affinity[:, rows])
    own = Ranker.of(space, ranker.lexical, None, skills, ranker.background)
    return Pool(rows, own, CardViews.of(space, rows, domains[rows]))


def _mean_and_deviation(scores: Scores) -> tuple[float, float]:
    """Return the mean and the deviation, infinite where all are equal: such a component tells nothing."""
    spread = float(scores.std())
    return float(scores.mean()), spread if spread >= 1e-9 else float("inf")
