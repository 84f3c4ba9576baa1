"""Bands and verdict: how well a hit answers the query, on a scale fitted per model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ale_semantic.types import Band


@dataclass(frozen=True, slots=True)
class Thresholds:
    """A score of at least `strong` is strong, of at least `weak` is weak, below it is none."""

    strong: float
    weak: float

    def band(self, score: float) -> Band:
        """Return the band of a score."""
        if score >= self.strong:
            return Band.STRONG
        return Band.WEAK if score >= self.weak else Band.NONE

    def levels(self, scores: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return 0 (none), 1 (weak) or 2 (strong) for each score."""
        return np.asarray((scores >= self.weak).astype(np.int64) + (scores >= self.strong))
