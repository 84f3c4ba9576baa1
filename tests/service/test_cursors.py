"""Cursors: they come back as the place they stand for, and no other question, index or damage gets through."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ale_semantic.service.cursors import make_cursor, question_of, read_cursor
from ale_semantic.service.problems import CursorError, CursorExpiredError, CursorMismatchError

QUESTION = question_of("search", query="lease", where="os = linux")
INDEX = "etag of an index"


@given(offset=st.integers(0, 2**32 - 1), query=st.text(), index=st.text())
def test_a_cursor_gives_back_its_offset(offset: int, query: str, index: str) -> None:
    question = question_of("search", query=query)
    assert read_cursor(make_cursor(offset, question, index), question, index) == offset


def test_a_cursor_fits_into_an_address_as_it_is() -> None:
    cursor = make_cursor(20, QUESTION, INDEX)
    assert len(cursor) < 50
    assert cursor.replace("-", "").replace("_", "").isalnum()


@pytest.mark.parametrize("offset", [-1, 2**32])
def test_an_offset_that_no_cursor_can_hold_is_refused(offset: int) -> None:
    with pytest.raises(ValueError, match="offset"):
        make_cursor(offset, QUESTION, INDEX)


@given(place=st.integers(0, 38), sign=st.sampled_from("AZaz09-_"))
def test_one_changed_sign_is_noticed(place: int, sign: str) -> None:
    cursor = make_cursor(20, QUESTION, INDEX)
    changed = cursor[:place] + sign + cursor[place + 1 :]
    if changed != cursor:
        with pytest.raises(CursorError):
            read_cursor(changed, QUESTION, INDEX)


@given(st.text(max_size=60))
def test_any_other_text_is_no_cursor(text: str) -> None:
    with pytest.raises(CursorError):
        read_cursor(text, QUESTION, INDEX)


def test_a_cut_or_padded_cursor_is_no_cursor() -> None:
    cursor = make_cursor(20, QUESTION, INDEX)
    for other in (cursor[:-1], cursor + "=", cursor + "A", f" {cursor}", cursor.replace("A", "%41")):
        with pytest.raises(CursorError):
            read_cursor(other, QUESTION, INDEX)


@pytest.mark.parametrize(
    "other",
    [
        question_of("similar", query="lease", where="os = linux"),
        question_of("search", query="contract", where="os = linux"),
        question_of("search", query="lease", where="os = windows"),
        question_of("search", query="lease", where="os = linux", mode="dense"),
    ],
    ids=["route", "query", "filter", "option"],
)
def test_another_question_is_refused(other: bytes) -> None:
    with pytest.raises(CursorMismatchError, match="another question"):
        read_cursor(make_cursor(20, QUESTION, INDEX), other, INDEX)


def test_another_index_is_refused_and_says_so_first() -> None:
    with pytest.raises(CursorExpiredError, match="index was exchanged"):
        read_cursor(make_cursor(20, QUESTION, INDEX), question_of("similar"), "another")


def test_the_order_of_a_questions_parts_is_of_no_account() -> None:
    assert question_of("search", a=1, b=[2, 3]) == question_of("search", b=[2, 3], a=1)
    assert question_of("search", b=[2, 3]) != question_of("search", b=[3, 2])
