"""The components of a score: what each says of a card, and how they become one."""

from __future__ import annotations

import numpy as np
import pytest

from ale_semantic.components import WEIGHTS, Component, View, fuse
from ale_semantic.fusion import standardise

A = np.array([1, 2, 3], dtype=np.float32)
B = np.array([3, 1, 2], dtype=np.float32)


def test_components_are_standardised_weighted_and_summed() -> None:
    found = fuse({Component.PASSAGES: A, Component.WORDS: B}, {Component.PASSAGES: 0.75, Component.WORDS: 0.25})
    # In units of the common standard deviation: 0.75 * (-1, 0, 1) + 0.25 * (1, -1, 0) = (-0.5, -0.25, 0.75).
    np.testing.assert_allclose(found, standardise(np.array([-0.5, -0.25, 0.75], dtype=np.float32)), rtol=1e-5)


def test_the_unit_of_a_component_does_not_matter() -> None:
    one = fuse({Component.PASSAGES: A, Component.WORDS: B}, WEIGHTS)
    other = fuse({Component.PASSAGES: 10 + 5 * A, Component.WORDS: 0.01 * B}, WEIGHTS)
    np.testing.assert_allclose(one, other, atol=1e-5)


def test_every_component_has_a_weight() -> None:
    assert set(WEIGHTS) == set(Component)
    assert all(weight > 0 for weight in WEIGHTS.values())


@pytest.mark.parametrize(("floor", "least"), [(None, 0.2), (0.1, 0.1)])
def test_a_card_without_the_field_is_as_far_as_the_farthest_that_has_it(floor: float | None, least: float) -> None:
    cosines = np.array([0.9, 0.2, 0.8, 0.5], dtype=np.float32)
    view = View(np.array([1, 2, 3]), np.array([0, 2, 2], dtype=np.int32))  # cards 0 and 2 of three have the field
    np.testing.assert_allclose(view.scores(cosines, 3, floor), [0.2, least, 0.8], rtol=1e-6)
