"""The language of a query, and what the glossary makes of it: in doubt it is English and left alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ale_semantic.glossary import gloss, has_glossary
from ale_semantic.languages import ENGLISH, detect_language, language_name, language_table

DATA = Path(__file__).parent / "data"
# Words that an English model and catalogue would know, for tests without either.
KNOWN = frozenset(
    "medical imaging genome variants animation service restaurant menu simulation data model a the".split()
)


def detect(query: str) -> str:
    return detect_language(query, KNOWN.__contains__)


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("年报 核心技术人员", "zh"),
        ("用 KiCad 画电路板", "zh"),
        ("Docker を Kubernetes に移す", "ja"),
        ("ゲーム制作", "ja"),
        ("암 환자의 생존 분석", "ko"),
        ("анализ сетевого трафика", "ru"),
        ("لوحة معلومات", "ar"),
        ("contar colonias de levadura", "es"),
        ("¿qué modelo predice la gripe?", "es"),
        ("Jahresberichte auswerten", "de"),
        ("etwas Leichteres vor dem Umzug", "de"),
        ("compter les colonies de levure", "fr"),
        ("rotation des cultures", "fr"),
        ("previsão de gripe", "pt"),
        ("contare le colonie di lievito", "it"),
    ],
)
def test_a_query_in_another_language_is_told(query: str, language: str) -> None:
    assert detect(query) == language


@pytest.mark.parametrize(
    "query",
    [
        "",
        " ",
        "123 !?",
        "kicad gerber",
        "quantum espresso berkeleygw",
        "bwa samtools vcf",
        "genome variants",
        "medical imaging",
        "animation",
        "xqzzt",
        "asdkjh qwpoe zmxnv",
        "α-synuclein aggregation",
        "naïve Bayes classifier",
        "Schrödinger equation solver",
        "appraise flats for a mortgage bank",
        "the résumé of an applicant",
        "NaN",
        "C++",
    ],
)
def test_names_terms_and_nonsense_are_left_english(query: str) -> None:
    assert detect(query) == ENGLISH


def test_english_development_queries_are_english_even_with_no_known_word() -> None:
    queries = [json.loads(line)["query"] for line in (DATA / "own_queries.jsonl").read_text("utf-8").splitlines()]
    wrong = [query for query in queries if detect_language(query, lambda word: False) != ENGLISH]
    assert len(queries) > 100
    assert len(wrong) <= 0.01 * len(queries), wrong


def test_development_queries_in_other_languages_are_not_english() -> None:
    lines = (DATA / "multilingual_queries.jsonl").read_text("utf-8").splitlines()
    queries = [json.loads(line) for line in lines]
    found = [detect_language(query["query"], lambda word: False) for query in queries]
    assert sum(language == ENGLISH for language in found) <= 0.03 * len(queries)
    # Japanese without kana counts as Chinese; the two are ranked alike.
    alike = [{query["lang"], language} <= {"zh", "ja"} for query, language in zip(queries, found, strict=True)]
    right = [query["lang"] == language for query, language in zip(queries, found, strict=True)]
    assert sum(a or b for a, b in zip(alike, right, strict=True)) >= 0.97 * len(queries)


def test_a_language_is_called_by_its_name() -> None:
    assert language_name("ja") == "Japanese"
    assert language_name("xx") == "xx"


def test_no_function_word_is_of_two_minds_with_english() -> None:
    table = language_table().function_words
    english = table[ENGLISH]
    assert {code: words & english for code, words in table.items() if code != ENGLISH and words & english} == {}


@pytest.mark.parametrize(
    ("query", "language", "english"),
    [
        ("contar colonias de levadura", "es", "count colony yeast"),
        ("la Déclaration de revenus", "fr", "tax return"),
        ("Leiterplatten", "de", "circuit board"),
        ("Quantenphysik", "de", "quantum physics"),
        ("医学影像", "zh", "medical imaging"),
        ("医用画像", "zh", "medical imaging"),  # Japanese without kana
        ("細胞の追跡", "ja", "cell tracking"),
        ("dibujar en Ketcher", "es", "ketcher"),
        ("用Blender做动画", "zh", "blender animation"),
        ("zzzz", "de", ""),
        ("анализ", "ru", ""),
    ],
)
def test_the_glossary_keeps_what_it_knows(query: str, language: str, english: str) -> None:
    assert gloss(query, language, frozenset({"ketcher"}).__contains__).text == english


def test_coverage_is_the_share_of_the_words_that_are_known() -> None:
    assert gloss("proteína", "es", lambda word: False).coverage == 1
    assert gloss("proteína zzzz", "es", lambda word: False).coverage == 0.5
    assert gloss("zzzz", "es", lambda word: False).coverage == 0
    assert gloss("", "es", lambda word: False).coverage == 0


def test_each_word_is_given_once() -> None:
    assert gloss("robots y robótica", "es", lambda word: False).text == "robot"


def test_five_languages_have_a_glossary() -> None:
    assert [code for code in ("zh", "es", "de", "ja", "fr", "ko", "ru", "en") if has_glossary(code)] == [
        "zh",
        "es",
        "de",
        "ja",
        "fr",
    ]
