"""Some cards of an index, scored and related as if they were an index of their own, and the norm of their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ale_semantic.components import Component
from ale_semantic.embeddings.crowds import Multitude
from ale_semantic.embeddings.likeness import CardViews, Crowd, Likeness
from ale_semantic.fusion import Scores
from ale_semantic.ranking import SHARPNESS, Ranker
from ale_semantic.sketch import EQUAL, MOST_DEVIATIONS, Estimate, Known, Strata

_LENDERS = 50  # candidates that lend one by one, without the crowd's small error

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
    """Mean and deviation of each component over all cards, and how their weighted sum follows from what is known."""

    components: Mapping[Component, tuple[float, float]]
    weights: Mapping[Component, float]
    total: Estimate

    @classmethod
    def of(
        cls,
        known: Known,
        exact: Mapping[Component, Scores],
        base: Sequence[Parts],
        sample: Parts,
        weights: Mapping[Component, float],
    ) -> Norm:
        """Estimate what all cards' components are like.

        Args:
            known: what is nearly known of all cards.
            exact: components that are known of all.
            base: components of the candidates whatever the filter.
            sample: those of a sample of all.
            weights: what each component weighs.
        """
        strata = Strata.of(known, np.concatenate([part.rows for part in base]), sample.rows)
        joined = {name: np.concatenate([part.components[name] for part in base]) for name in sample.components}
        measured = {}
        for name, scores in sample.components.items():
            if name in exact:
                spread = float(exact[name].std())
                measured[name] = float(exact[name].mean()), spread if spread >= EQUAL else float("inf")
            else:
                found = strata.estimate(joined[name], scores)
                measured[name] = found.mean, found.deviation
        plain = cls(measured, weights, Estimate(0.0, 1.0, np.zeros(0, np.float32), 0.0))
        return cls(measured, weights, strata.estimate(plain.own(joined), plain.own(sample.components)))

    def own(self, components: Mapping[Component, Scores]) -> Scores:
        """Return the standardised weighted sum of components."""
        total = np.zeros(len(next(iter(components.values()))), dtype=np.float32)
        for name, scores in components.items():
            mean, deviation = self.components[name]
            total += self.weights[name] * np.minimum((scores - mean) / deviation, MOST_DEVIATIONS)
        return np.asarray((total - self.total.mean) / self.total.deviation, dtype=np.float32)

    def powers(self, known: Known, rows: Rows, highest: float) -> Scores:
        """Return nearly how much each of some cards counts as a lender, as a power of its own score, shape (rows,).

        Args:
            known: what is nearly known of all cards.
            rows: the cards.
            highest: the own score that none of them has a higher one than.
        """
        guessed = ((self.total.slopes @ known.columns)[rows] - self.total.mean) / self.total.deviation
        # The mean of a power is higher than the power of the mean, by the variance of what isn't known.
        more = 0.5 * SHARPNESS**2 * self.total.noise / self.total.deviation**2
        return np.asarray(np.exp(SHARPNESS * np.minimum(guessed, highest) + more), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Lenders:
    """Cards that lend to related ones: the best candidates one by one, all other cards as a crowd."""

    best: CardViews
    weights: Scores
    crowd: Crowd
    likeness: Likeness

    @classmethod
    def of(
        cls,
        candidates: Sequence[tuple[Pool, Scores]],
        others: Multitude,
        powers: Scores,
        cards: int,
        likeness: Likeness,
    ) -> Lenders:
        """Weigh lenders by their own scores, and one that isn't a candidate by how many others it stands for.

        Args:
            candidates: cards and their own scores, of at most `_BLOCK` cards each.
            others: cards drawn from all.
            powers: how much each of these counts by itself, shape (others,).
            cards: the number of all.
            likeness: what tells how related they are to others.
        """
        chosen = np.concatenate([pool.rows for pool, _ in candidates])
        left = ~np.isin(others.rows, chosen)
        worth = (cards - len(chosen)) / max(1, int(np.count_nonzero(left)))
        shares = [np.exp(SHARPNESS * own) for _, own in candidates]
        crowd = worth * left * powers
        total = sum(float(share.sum()) for share in (*shares, crowd))
        weights = [np.asarray(share / total, dtype=np.float32) for share in shares]
        first = np.sort(np.argsort(-weights[0], kind="stable")[:_LENDERS])
        best, own = candidates[0][0].views.part(first), weights[0][first]
        weights[0][first] = 0.0
        crowds = [likeness.crowd(pool.views, one) for (pool, _), one in zip(candidates, weights, strict=True)]
        crowds.append(others.crowd(np.asarray(crowd / total, dtype=np.float32)))
        return cls(best, own, Crowd.joined(crowds), likeness)

    def lent(self, pool: Pool) -> Scores:
        """Return what they lend to each card of a pool, shape (rows,)."""
        lent = self.weights @ self.likeness.between(self.best, pool.views)
        lent = lent + self.likeness.to_crowd(self.crowd, pool.views)
        return np.asarray(lent, dtype=np.float32)


def pool_of(ranker: Ranker, rows: Rows, domains: NDArray[np.int32]) -> Pool:
    """Take some cards, in the order of their rows, out of an index; their vectors are copied into memory."""
    space = ranker.space.subset(rows)
    skills = ranker.skills
    if skills is not None:
        skills = replace(skills, affinity=skills.affinity[:, rows])
    own = Ranker.of(space, ranker.lexical, None, skills, ranker.background)
    return Pool(rows, own, CardViews.of(ranker.space, rows, domains[rows]))
