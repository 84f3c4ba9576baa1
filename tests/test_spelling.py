"""Typing errors are mended, and nothing else is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from toy import HashEncoder, toy_cards

from ale_semantic.lexical import LexicalIndex
from ale_semantic.query_vectors import QueryVectors
from ale_semantic.spelling import Speller


class Pieces(HashEncoder):
    """Takes the words it knows in one piece and all others letter by letter, as a word-piece model does."""

    def token_spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        return [
            [(0, len(text))] if text in {"house", "wine", "grade"} else [(at, at + 1) for at in range(len(text))]
            for text in texts
        ]


@pytest.fixture(scope="module")
def speller() -> Speller:
    space: Any = None  # the encoder is at hand
    return Speller(LexicalIndex.build(toy_cards()), QueryVectors(space, Pieces()))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("recncile suplier invocies", "reconcile supplier invoices"),
        ("Map soil mositure", "Map soil moisture"),
        ("ilnvoices", "invoices"),
    ],
)
def test_typing_errors_are_mended(speller: Speller, query: str, text: str) -> None:
    corrected = speller.correct(query)
    assert corrected.text == text
    assert not corrected.unknown
    assert all(weight <= 1 for _, weight in corrected.terms)


@pytest.mark.parametrize(
    "query",
    [
        "reconcile invoices",
        "wines graded in houses",  # the model's words, with endings
        "fit",  # too short to be told from others
        "EPSG:2154",
        "年报",
        "the of and",
        "",
    ],
)
def test_what_is_no_error_stays(speller: Speller, query: str) -> None:
    corrected = speller.correct(query)
    assert (corrected.text, corrected.replaced, corrected.unknown) == (query, (), False)


def test_a_word_that_resembles_none_stays_and_is_unknown(speller: Speller) -> None:
    corrected = speller.correct("khgcvyuui")
    assert (corrected.text, corrected.unknown) == ("khgcvyuui", True)
    assert not speller.correct("khgcvyuui invoices").unknown


def test_a_mended_word_counts_as_much_as_it_resembles(speller: Speller) -> None:
    ((term, weight),) = speller.correct("reconcle").terms
    assert term == "reconcil"
    assert weight == pytest.approx(1 - 1 / 9)  # one letter of nine is missing


def test_known_words(speller: Speller) -> None:
    assert speller.knows("invoices")
    assert speller.knows("house")
    assert not speller.knows("khgcvyuui")
