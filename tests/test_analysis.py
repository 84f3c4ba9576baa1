"""From text to terms: folding, splitting, stemming, character pairs."""

from __future__ import annotations

import pytest

from ale_semantic.analysis import fold_text, terms, words


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("ABC", "abc"),
        ("Ärger über Öl", "arger uber ol"),
        ("année", "annee"),
        ("ＦＵＬＬ　width", "full width"),
        ("Straße", "strasse"),
        ("ﬁle", "file"),
        ("ガイド", "ガイド"),  # the voicing mark makes another word
        ("x²", "x2"),
    ],
)
def test_folding(text: str, folded: str) -> None:
    assert fold_text(text) == folded


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        ("C++ and C# code", ["c++", "and", "c#", "code"]),
        ("a+b", ["a", "b"]),
        ("2d-drawings", ["2d", "drawings"]),
        ("EPSG:2154", ["epsg", "2154"]),
        ("snake_case", ["snake", "case"]),
        ('"unclosed (', ["unclosed"]),
        ("*", []),
        ("\N{GRINNING FACE}\0", []),
        ("年报", ["年报"]),
        ("核心技术", ["核心", "心技", "技术"]),
        ("字", ["字"]),
        ("用Python写", ["用", "python", "写"]),
    ],
)
def test_words(text: str, found: list[str]) -> None:
    assert words(text) == found


def test_terms_are_stemmed_without_function_words_and_keep_repeats() -> None:
    assert terms("The runs of the running invoices and an invoice") == ["run", "run", "invoic", "invoic"]
    assert terms("how do I") == []
