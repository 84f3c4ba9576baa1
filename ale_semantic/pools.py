"""Some cards of an index, scored and related as if they were an index of their own, and the norm of their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ale_semantic.components import Component
from ale_semantic.embeddings.likeness import CardViews, Crowd, Likeness
from ale_semantic.fusion import Scores
from ale_semantic.ranking import SHARPNESS, Ranker

# A word that one of a great many cards holds would outweigh all else. Among 157 cards, for which the weights were
# fitted, a component lies at most so many deviations above its mean.
_MOST_DEVIATIONS = 12.5
_LENDERS = 100  # candidates that lend one by one: beyond them each has a thousandth of the softmax

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


@dataclass(frozen=True, slots=True)
class Lenders:
    """Cards that lend to related ones: the best candidates one by one, all other cards as a crowd."""

    best: CardViews
    weights: Scores
    crowds: tuple[Crowd, ...]
    likeness: Likeness

    @classmethod
    def of(
        cls, candidates: Sequence[tuple[Pool, Scores]], sample: tuple[Pool, Scores], cards: int, likeness: Likeness
    ) -> Lenders:
        """Weigh lenders by their own scores, and a card of the sample by how many others it stands for.

        Args:
            candidates: cards and their own scores, of at most `_BLOCK` cards each.
            sample: cards drawn from all, and their own scores.
            cards: the number of all.
            likeness: what tells how related they are to others.
        """
        chosen = np.concatenate([pool.rows for pool, _ in candidates])
        others = ~np.isin(sample[0].rows, chosen)
        worth = (cards - len(chosen)) / max(1, int(np.count_nonzero(others)))
        counts = [*(np.ones(len(pool.rows)) for pool, _ in candidates), worth * others]
        shares = [
            count * np.exp(SHARPNESS * own) for count, (_, own) in zip(counts, [*candidates, sample], strict=True)
        ]
        total = sum(float(share.sum()) for share in shares)
        weights = [np.asarray(share / total, dtype=np.float32) for share in shares]
        first = np.sort(np.argsort(-weights[0], kind="stable")[:_LENDERS])
        best, own = candidates[0][0].views.part(first), weights[0][first]
        weights[0][first] = 0.0
        views = [pool.views for pool, _ in [*candidates, sample]]
        return cls(best, own, tuple(likeness.crowd(*one) for one in zip(views, weights, strict=True)), likeness)

    def lent(self, pool: Pool) -> Scores:
        """Return what they lend to each card of a pool, shape (rows,)."""
        lent = self.weights @ self.likeness.between(self.best, pool.views)
        for crowd in self.crowds:
            lent = lent + self.likeness.to_crowd(crowd, pool.views)
        return np.asarray(lent, dtype=np.float32)


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
