"""A request is checked once, and knows which tasks it names and which it leaves out."""

from __future__ import annotations

import numpy as np
import pytest
from toy import toy_cards

from ale_semantic.errors import QueryError, UnknownNameError
from ale_semantic.facets import FacetTable
from ale_semantic.filters import parse
from ale_semantic.question import MAX_K, Page, Question
from ale_semantic.types import Band, Mode


def test_a_page_takes_names_for_members() -> None:
    assert Page.of(3, 6, "dense", "weak", False) == Page(3, 6, Mode.DENSE, Band.WEAK, False)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ((0, 0, "hybrid", None, True), f"k must be between 1 and {MAX_K}, not 0"),
        ((MAX_K + 1, 0, "hybrid", None, True), f"not {MAX_K + 1}"),
        ((1, -1, "hybrid", None, True), "offset must not be negative, but is -1"),
        ((1, 0, "vector", None, True), "unknown mode 'vector'; valid are hybrid, dense, lexical"),
        ((1, 0, "hybrid", "good", True), "unknown band 'good'"),
    ],
)
def test_what_can_not_be_served_is_named(asked: tuple[int, int, str, str | None, bool], told: str) -> None:
    with pytest.raises(QueryError, match=told):
        Page.of(*asked)


def test_the_whole_filter_makes_the_mask_and_the_own_one_is_told() -> None:
    cards = toy_cards()
    table = FacetTable.from_cards(cards)
    own, whole = parse("os = linux"), parse("os = linux and gpu = no")
    question = Question.of("orbit", Page(), table, {1: "its title is the query"}, own, whole)
    assert question.where == str(own)
    assert np.array_equal(question.mask, table.mask(whole))
    assert question.mask.any()
    assert not np.array_equal(question.mask, table.mask(own))
    assert question.named == {1: "its title is the query"}
    with pytest.raises(UnknownNameError):
        Question.of("orbit", Page(), table, {}, None, parse("domain = nowhere"))


def test_rows_that_are_left_out_leave_the_first_question_as_it_was() -> None:
    table = FacetTable.from_cards(toy_cards())
    whole = Question.of("orbit", Page(), table, {}, None, None)
    rest = whole.without(iter([0, 2]))
    assert whole.mask.all()
    assert whole.left_out == ()
    assert np.flatnonzero(~rest.mask).tolist() == [0, 2]
    assert rest.left_out == (0, 2)
