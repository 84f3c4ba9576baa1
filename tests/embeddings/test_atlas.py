"""The atlas: deterministic, near cards close together, clusters named by what tells them apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ale_semantic.embeddings.atlas import Atlas, draw_atlas
from ale_semantic.embeddings.vectors import mean_vectors


def _two_groups(each: int = 20) -> tuple[np.ndarray, list[str]]:
    random = np.random.default_rng(1)
    centres = np.eye(2, 16).repeat(each, axis=0)
    vectors = centres + 0.1 * random.normal(size=centres.shape)
    texts = [f"Invoice audit {place}" for place in range(each)] + [f"Comet orbit {place}" for place in range(each)]
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32), texts


def test_the_same_cards_give_the_same_atlas() -> None:
    vectors, texts = _two_groups()
    first, second = draw_atlas(vectors, texts), draw_atlas(vectors, texts)
    assert (first.points == second.points).all()
    assert (first.clusters == second.clusters).all()
    assert first.names == second.names


def test_points_lie_in_the_unit_square_and_groups_apart() -> None:
    vectors, texts = _two_groups()
    atlas = draw_atlas(vectors, texts)
    assert atlas.points.shape == (40, 2)
    assert atlas.points.min() == 0
    assert atlas.points.max() == 1
    one, other = atlas.points[:20], atlas.points[20:]
    between = np.linalg.norm(one.mean(axis=0) - other.mean(axis=0))
    assert between > 2 * max(one.std(), other.std()) or between > 0.4
    assert not set(atlas.clusters[:20]) & set(atlas.clusters[20:])


def test_clusters_are_named_by_their_own_words() -> None:
    vectors, texts = _two_groups()
    atlas = draw_atlas(vectors, texts)
    assert "invoice" in atlas.names[atlas.clusters[0]]
    assert "comet" in atlas.names[atlas.clusters[-1]]
    assert "comet" not in atlas.names[atlas.clusters[0]]


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_few_cards_stand_on_a_circle(count: int) -> None:
    atlas = draw_atlas(np.eye(count, 8, dtype=np.float32), ["a"] * count)
    assert atlas.points.shape == (count, 2)
    assert len(atlas.names) == min(count, 1)


def test_equal_cards_are_no_fault() -> None:
    atlas = draw_atlas(np.ones((6, 4), dtype=np.float32) / 2, ["same words"] * 6)
    assert np.isfinite(atlas.points).all()


def test_a_text_a_card_is_needed() -> None:
    with pytest.raises(ValueError, match="2 vectors, but 1 texts"):
        draw_atlas(np.eye(2, dtype=np.float32), ["a"])


def test_a_cards_vector_is_the_unit_mean_of_its_passages() -> None:
    vectors = np.array([[1, 0], [0, 1], [0, 1]], dtype=np.float32)
    means = mean_vectors(vectors, np.array([0, 2, 3]))
    assert means == pytest.approx(np.array([[0.5**0.5, 0.5**0.5], [0, 1]]))


def test_an_atlas_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    drawn = draw_atlas(np.eye(3, dtype=np.float32), ["one", "two", "three"])
    assert Atlas.open(tmp_path) is None
    drawn.write(tmp_path)
    read = Atlas.open(tmp_path)
    assert read is not None
    assert read.names == drawn.names
    np.testing.assert_array_equal(read.points, drawn.points)
    np.testing.assert_array_equal(read.clusters, drawn.clusters)


def test_a_few_new_cards_leave_the_others_where_they_were() -> None:
    vectors, texts = _two_groups()
    first = draw_atlas(vectors, texts)
    new = vectors[[1]] + 0.01
    moved = np.concatenate([vectors[5:], new / np.linalg.norm(new)]).astype(np.float32)
    moved = np.concatenate([vectors[:2], moved])
    again = draw_atlas(moved, [*texts[:2], *texts[5:], "Invoice audit anew"], earlier=first)
    np.testing.assert_array_equal(again.points[:-1], np.concatenate([first.points[:2], first.points[5:]]))
    np.testing.assert_array_equal(again.clusters[:-1], np.concatenate([first.clusters[:2], first.clusters[5:]]))
    low, high = first.points[:20].min(axis=0), first.points[:20].max(axis=0)
    assert (low <= again.points[-1]).all()
    assert (again.points[-1] <= high).all()  # among those it is near to
    assert again.clusters[-1] in first.clusters[:20]
    assert len(again.names) == len(first.names)


def test_more_than_a_tenth_new_draws_the_map_anew() -> None:
    vectors, texts = _two_groups()
    first = draw_atlas(vectors[:35], texts[:35])
    np.testing.assert_array_equal(draw_atlas(vectors, texts, earlier=first).points, draw_atlas(vectors, texts).points)


def test_unchanged_cards_in_another_order_keep_their_places() -> None:
    vectors, texts = _two_groups()
    first = draw_atlas(vectors, texts)
    again = draw_atlas(vectors[::-1], texts[::-1], earlier=first)
    np.testing.assert_array_equal(again.points[::-1], first.points)
