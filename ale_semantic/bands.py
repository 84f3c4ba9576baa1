"""Scores and bands: from a ranking to how likely each task answers, on one scale for all modes and models.

Ranking orders the cards of one query; its scores can't be compared between queries, since some card is always
the best. What can be compared is the evidence: how near the nearest passage is, how well the query's words are met,
how much of the query the best card covers. A logistic model of that evidence says whether the catalogue answers the
query at all; that is the best card's score, and the others' are lower by how far they lie behind. The model is fitted
by `benchmarks/fit_bands.py` on judged queries with and without an answer (docs/quality.md). Cosines enter in standard
deviations from those between unrelated texts of the catalogue, which each bundle stores for its own encoder.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from ale_semantic.fusion import Scores
from ale_semantic.types import Band

# Scales beside those of the modes: searches by example, and queries in other languages than English. The evidence of
# these is the discounted cosine of the best card's passages, as it is, in `best`, and the highest BM25 score of the
# words that the glossary has in English, in `coverage`.
SIMILAR, MULTILINGUAL = "similar", "multilingual"
_EXACT_LOGIT = 2.2  # a probability of 0.9: the best card holds every word of the query, and one of them is rare
# 0.95: surer than that a query's model can't be, and the cards behind the best must be told apart.
MOST_LOGIT = 3.0
_UNKNOWN_LOGIT = -10.0  # no word of the query is known to the catalogue or the model


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation of a cosine between unrelated texts."""

    mean: float
    deviation: float

    def standardise(self, value: float) -> float:
        """Return how many standard deviations a value lies above the mean."""
        return (value - self.mean) / max(self.deviation, 1e-6)


@dataclass(frozen=True, slots=True)
class Background:
    """What an encoder says of unrelated texts: best passage, late interaction, overview."""

    best: Spread
    late: Spread
    overview: Spread

    @classmethod
    def from_json(cls, stored: Mapping[str, Mapping[str, float]]) -> Background:
        """Read what `dataclasses.asdict` wrote."""
        return cls(**{name: Spread(**value) for name, value in stored.items()})


# For parts in memory and encoders that weren't measured: the usual cosines between unrelated texts with MiniLM.
UNKNOWN_BACKGROUND = Background(Spread(0.2, 0.1), Spread(0.3, 0.1), Spread(0.1, 0.1))


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the catalogue says of one query: standardised cosines of the best card, share of the words it covers.

    `exact`: the best card holds every word and one is rare. `unknown`: no word is known to catalogue or model.
    """

    best: float = 0.0
    late: float = 0.0
    overview: float = 0.0
    coverage: float = 0.0
    exact: bool = False
    unknown: bool = False

    def features(self) -> NDArray[np.float64]:
        """Return best, late, overview and coverage, shape (4,)."""
        return np.array([self.best, self.late, self.overview, self.coverage])


NO_EVIDENCE = Evidence()


@dataclass(frozen=True, slots=True)
class Scale:
    """The fitted model of one mode, and the scores from which a hit is weak or strong.

    `evidence` weighs the four features of `Evidence`, `intercept` goes with them: together they give the query's
    logit, at most `most`. `behind` is what a card loses for each unit that its fused score lies behind the best's.
    """

    evidence: tuple[float, ...]
    intercept: float
    behind: float
    weak: float
    strong: float
    most: float = MOST_LOGIT

    def query_logit(self, evidence: Evidence) -> float:
        """Return the logit of the probability that the catalogue answers a query."""
        if evidence.unknown:
            return _UNKNOWN_LOGIT
        logit = float(np.dot(self.evidence, evidence.features())) + self.intercept
        logit = max(logit, _EXACT_LOGIT) if evidence.exact else logit
        return min(logit, self.most)

    def scores(self, fused: Scores, evidence: Evidence) -> Scores:
        """Return how likely each card answers, in (0, 1), in the order of the fused scores.

        Args:
            fused: the fused score of every card, whether it passes the filter or not, shape (cards,); so a card's
                score doesn't depend on the filter, and the best card that passes need not be good.
            evidence: what the catalogue says of the query.
        """
        logits = self.query_logit(evidence) - self.behind * (fused.max() - fused)
        return np.asarray(1 / (1 + np.exp(-np.minimum(np.maximum(logits, -30), 30))), dtype=np.float32)

    def band(self, score: float) -> Band:
        """Return the band of a score."""
        if score >= self.strong:
            return Band.STRONG
        return Band.WEAK if score >= self.weak else Band.NONE

    def levels(self, scores: Scores) -> NDArray[np.int64]:
        """Return 0 (none), 1 (weak) or 2 (strong) for each score."""
        return np.asarray((scores >= self.weak).astype(np.int64) + (scores >= self.strong))


@cache
def scales() -> Mapping[str, Scale]:
    """Return the fitted scales by mode, and that of searches by example."""
    stored = json.loads((files("ale_semantic") / "data" / "bands.json").read_text(encoding="utf-8"))
    return {name: Scale(**{**entry, "evidence": tuple(entry["evidence"])}) for name, entry in stored["scales"].items()}
