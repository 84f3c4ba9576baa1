"""ETags: one index, one version, one tag; and what `If-None-Match` may say."""

from __future__ import annotations

import pytest

from ale_semantic.service.etags import etag_of, is_known


def test_an_etag_is_weak_and_follows_the_index() -> None:
    assert etag_of("a").startswith('W/"')
    assert etag_of("a") == etag_of("a")
    assert len({etag_of("a"), etag_of("b"), etag_of("a", "x")}) == 3


@pytest.mark.parametrize("header", ['W/"x"', '"x"', '"y", W/"x"', "*", '"y",W/"x"'])
def test_a_known_etag_is_recognised(header: str) -> None:
    assert is_known(header, 'W/"x"')


@pytest.mark.parametrize("header", [None, "", "x", '"y"', 'W/"xx"', 'w/"x"'])
def test_another_etag_is_not(header: str | None) -> None:
    assert not is_known(header, 'W/"x"')
