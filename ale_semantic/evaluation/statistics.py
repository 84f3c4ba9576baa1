"""How sure a mean is, and whether two runs differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
_SEED = 20260611
_RESAMPLES = 5000
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its bootstrap confidence interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of (run - baseline) over the same queries, its interval, and the p-value of a paired test."""

    mean: float
    low: float
    high: float
    p_value: float
    better: int
    worse: int


def interval(values: Values) -> Interval:
    """Return the mean with a 95 % percentile bootstrap interval over queries.

    Source: Efron & Tibshirani, An Introduction to the Bootstrap, 1993, chapter 13.
    """
    if len(values) == 0:
        return Interval(float("nan"), float("nan"), float("nan"))
    low, high = _bounds(values)
    return Interval(float(values.mean()), low, high)


def paired(values: Values, baseline: Values) -> Difference:
    """Compare two runs over the same queries by a paired randomisation (sign-flip) test.

    Source: Smucker, Allan & Carterette, A Comparison of Statistical Significance Tests for Information
    Retrieval Evaluation, CIKM 2007.
    """
    from scipy.stats import permutation_test

    delta = values - baseline
    low, high = _bounds(delta)
    if len(delta) < 2 or not np.any(delta):  # of one query, both signs are as extreme
        p_value = 1.0
    else:
        tested = permutation_test(
            (delta,),
            lambda sample, axis: np.mean(sample, axis=axis),
            permutation_type="samples",
            vectorized=True,
            n_resamples=_RESAMPLES,
            rng=np.random.default_rng(_SEED),
        )
        p_value = float(tested.pvalue)
    return Difference(float(delta.mean()), low, high, p_value, int((delta > 0).sum()), int((delta < 0).sum()))


def _bounds(values: Values) -> tuple[float, float]:
    from scipy.stats import bootstrap

    if len(values) < 2 or np.ptp(values) == 0:
        return float(values.mean()), float(values.mean())
    found = bootstrap(
        (values,),
        np.mean,
        n_resamples=_RESAMPLES,
        confidence_level=_CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(_SEED),
    ).confidence_interval
    return float(found.low), float(found.high)
