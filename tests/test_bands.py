"""From evidence to scores and bands, against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ale_semantic.bands import SIMILAR, Background, Evidence, Scale, Spread, scales
from ale_semantic.types import Band, Mode

SCALE = Scale(evidence=(1.0, 0.5, 0.0, 2.0), intercept=-1.0, behind=2.0, weak=0.3, strong=0.6)
FUSED = np.array([1.0, 3.0, 2.0], dtype=np.float32)


def logistic(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def test_the_best_cards_score_is_the_querys_and_others_fall_behind() -> None:
    evidence = Evidence(best=1.0, late=2.0, overview=9.0, coverage=0.25)  # logit 1 + 1 + 0.5 - 1 = 1.5
    np.testing.assert_allclose(
        SCALE.scores(FUSED, evidence), [logistic(1.5 - 4), logistic(1.5), logistic(1.5 - 2)], rtol=1e-6
    )


@pytest.mark.parametrize(
    ("evidence", "logit"),
    [
        (Evidence(), -1.0),
        (Evidence(best=100.0), 3.0),  # never surer than 0.95
        (Evidence(exact=True), 2.2),
        (Evidence(best=3.8, exact=True), 2.8),
        (Evidence(best=100.0, exact=True, unknown=True), -10.0),
    ],
)
def test_the_querys_logit(evidence: Evidence, logit: float) -> None:
    assert SCALE.query_logit(evidence) == pytest.approx(logit)


def test_the_best_card_is_not_forced_to_one() -> None:
    assert SCALE.scores(FUSED, Evidence(unknown=True)).max() < 0.001


def test_scores_are_within_bounds_however_far_apart() -> None:
    found = SCALE.scores(np.array([-1e6, 0, 1e6], dtype=np.float32), Evidence(best=1e6))
    assert np.isfinite(found).all()
    assert 0 <= found.min() <= found.max() <= 1


@pytest.mark.parametrize(
    ("score", "band", "level"),
    [(0.0, Band.NONE, 0), (0.29, Band.NONE, 0), (0.3, Band.WEAK, 1), (0.6, Band.STRONG, 2), (1.0, Band.STRONG, 2)],
)
def test_bands(score: float, band: Band, level: int) -> None:
    assert SCALE.band(score) is band
    assert SCALE.levels(np.array([score])).tolist() == [level]


def test_cosines_count_in_deviations_from_unrelated_texts() -> None:
    stored = {name: {"mean": 0.6, "deviation": 0.05} for name in ("best", "late", "overview")}
    background = Background.from_json(stored)
    assert background.best.standardise(0.7) == pytest.approx(2.0)
    assert math.isfinite(Spread(0.5, 0.0).standardise(0.5))


def test_there_is_a_fitted_scale_for_every_mode() -> None:
    assert {*Mode, SIMILAR} <= set(scales())
    for name, scale in scales().items():
        assert 0 < scale.weak < scale.strong < 1, name
        assert scale.behind > 0
        assert len(scale.evidence) == 4
