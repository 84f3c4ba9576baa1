"""Query vectors: kept within bytes, counted, used."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from service_toys import build_toys
from toy import HashEncoder

from ale_semantic import Engine
from ale_semantic.service.vectors import ServedVectors


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder: Path = build_toys(tmp_path_factory.mktemp("vectors") / "index")
    return Engine.open(folder, encoder=HashEncoder())


def test_each_query_is_encoded_once(engine: Engine) -> None:
    encoder = HashEncoder()
    vectors = ServedVectors(engine.ranker.space, encoder, kept=10)
    first, second, again = vectors.of(["an orbit", "a lease", "an orbit"])
    assert encoder.encoded == ["an orbit", "a lease"]
    assert again is first
    np.testing.assert_array_equal(vectors.of(["a lease"])[0].vector, second.vector)
    assert encoder.encoded == ["an orbit", "a lease"]
    assert vectors.counts() == (1, 2)
    assert first.vector.base is None  # holds no batch alive


def test_size_is_bounded_in_bytes(engine: Engine) -> None:
    encoder = HashEncoder()
    vectors = ServedVectors(engine.ranker.space, encoder, kept=10)
    for number in range(100):
        vectors.of([f"long query {number} " * 20])
        assert vectors._bytes <= vectors._room
    assert 0 < len(vectors._entries) < 20
    vectors.of(["long query 99 " * 20])
    assert len(encoder.encoded) == 100


def test_nothing_is_kept_where_none_may_be(engine: Engine) -> None:
    encoder = HashEncoder()
    vectors = ServedVectors(engine.ranker.space, encoder, kept=0)
    vectors.of(["an orbit"])
    vectors.of(["an orbit"])
    assert encoder.encoded == ["an orbit", "an orbit"]
