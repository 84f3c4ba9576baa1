"""Passages: nothing of a long text is dropped, and each passage says where it stands."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import HashEncoder, toy_card, toy_cards

from ale_semantic.embeddings.passages import (
    FieldTokens,
    Passage,
    PassageKind,
    card_passages,
    text_room,
    token_ledger,
    windows,
)
from ale_semantic.texts import SEARCHED_FIELDS, field_text, sentences
from ale_semantic.types import Field, TaskCard

ENCODER = HashEncoder()
# Token lengths and the gaps before them: gaps of nothing are parts of one word, or Chinese.
SPANS = st.lists(st.tuples(st.sampled_from([0, 0, 1, 1, 2]), st.integers(1, 5)), max_size=120)
TEXTS = st.text(alphabet=st.sampled_from("ab. \n。:!年\t"), max_size=200)


def spans_of(steps: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    spans, place = [], 0
    for gap, length in steps:
        spans.append((place + gap, place + gap + length))
        place += gap + length
    return spans


def passages_of(card: TaskCard, room: int) -> list[Passage]:
    tokens = {field: ENCODER.token_spans([field_text(card, field)])[0] for field in SEARCHED_FIELDS}
    return list(card_passages(3, card, tokens.__getitem__, room=room))


def ledger_of(card: TaskCard, passages: Sequence[Passage], cut: Sequence[int]) -> dict[Field, FieldTokens]:
    tokens = {field: ENCODER.token_spans([field_text(card, field)])[0] for field in SEARCHED_FIELDS}
    return {entry.field: entry for entry in token_ledger(card, tokens.__getitem__, passages, cut)}


@settings(max_examples=60)
@given(SPANS, st.integers(1, 40))
def test_windows_hold_every_token_and_no_more_than_fit(steps: list[tuple[int, int]], room: int) -> None:
    tokens = spans_of(steps)
    found = windows(tokens, room)
    for first, last in tokens:
        assert any(start <= first and last <= end for start, end in found)
    for start, end in found:
        assert 0 < sum(start <= first and last <= end for first, last in tokens) <= room
    assert found == sorted(set(found))
    assert (len(found) == 1) == (0 < len(tokens) <= room)


def test_windows_begin_and_end_between_words_and_overlap() -> None:
    tokens = spans_of([(number % 3 == 0, 2) for number in range(60)])  # words of three tokens
    words = {start for start, _ in tokens[::3]}
    found = windows(tokens, 20)
    assert all(start in words for start, _ in found)
    assert all(end + 1 in words for _, end in found[:-1])
    assert all(later[0] < earlier[1] for earlier, later in pairwise(found))


def test_windows_of_one_endless_word_are_few() -> None:
    assert len(windows(spans_of([(1, 1), (1, 1), *[(0, 1)] * 10_000]), 250)) < 60


@settings(max_examples=60)
@given(TEXTS)
def test_sentences_are_in_order_apart_and_hold_all_but_blanks(text: str) -> None:
    found = sentences(text)
    place = 0
    for start, end in found:
        assert place <= start < end
        assert text[start:end] == text[start:end].strip()
        assert not text[place:start].strip()
        place = end
    assert not text[place:].strip()


def test_sentences_end_at_stops_and_lines_and_short_ones_join_the_next() -> None:
    text = (
        "Input:\nA list of all suppliers of 2024. Match every one of them!\n\n"
        "从年报中提取核心技术人员的姓名和职务并写入表格。再写一份简短的说明。 End."
    )
    assert [text[start:end] for start, end in sentences(text)] == [
        "Input:\nA list of all suppliers of 2024.",
        "Match every one of them!",
        "从年报中提取核心技术人员的姓名和职务并写入表格。",
        "再写一份简短的说明。 End.",
    ]


@settings(max_examples=40)
@given(TEXTS.filter(str.strip), st.integers(1, 12))
def test_every_token_of_any_card_is_in_a_passage(text: str, room: int) -> None:
    card = toy_card(task_prompt=text, summary=text)
    found = passages_of(card, room)
    for one in found:
        assert one.card == 3
        assert one.text == field_text(card, one.field)[one.start : one.end]
        assert len(ENCODER.token_spans([one.text])[0]) <= room
    assert all(entry.dropped == 0 for entry in ledger_of(card, found, [0] * len(found)).values())


@pytest.mark.parametrize("card", toy_cards(), ids=lambda card: card.task_id)
def test_each_field_has_a_view_or_chunks(card: TaskCard) -> None:
    found = passages_of(card, room=8)
    for field in SEARCHED_FIELDS:
        whole = [one.kind for one in found if one.field is field and one.kind is not PassageKind.SENTENCE]
        tokens = len(ENCODER.token_spans([field_text(card, field)])[0])
        if tokens:
            assert whole == ([PassageKind.VIEW] if tokens <= 8 else [PassageKind.CHUNK] * len(whole))
            assert (len(whole) > 1) == (tokens > 8)
        else:
            assert whole == []


def test_a_ledger_tells_what_is_in_no_passage_and_what_the_model_cuts() -> None:
    card = toy_card(task_prompt="one two three four five six")
    whole = passages_of(card, room=30)
    entry = ledger_of(card, whole, [0] * len(whole))[Field.PROMPT]
    assert entry == FieldTokens(card.task_id, Field.PROMPT, seen=6, dropped=0)
    part = [Passage(0, Field.PROMPT, PassageKind.CHUNK, 0, 13, "one two three")]
    assert ledger_of(card, part, [0])[Field.PROMPT] == FieldTokens(card.task_id, Field.PROMPT, seen=3, dropped=3)
    assert ledger_of(card, part, [1])[Field.PROMPT].dropped == 4
    assert ledger_of(card, [], [])[Field.TITLE].dropped == 2


def test_a_blank_field_stands_in_no_ledger() -> None:
    card = toy_card(software=None, input_files=None, agent_must_do=None)
    found = passages_of(card, room=8)
    assert not {Field.SOFTWARE, Field.INPUTS, Field.MUST_DO} & set(ledger_of(card, found, [0] * len(found)))


@pytest.mark.parametrize(("most", "prefix", "room"), [(256, 0, 254), (512, 3, 507), (4, 9, 1)])
def test_the_room_for_text_is_what_prefix_and_special_tokens_leave(most: int, prefix: int, room: int) -> None:
    assert text_room(most, prefix) == room


def test_the_texts_of_the_fields_are_the_public_ones() -> None:
    card = toy_card(agent_must_do=["First", "Second"], software=["`numpy`", "NumPy", "Python 3.12"])
    assert field_text(card, Field.OVERVIEW) == f"{card.title}. {card.summary}"
    assert field_text(card, Field.MUST_DO) == "First\nSecond"
    assert field_text(card, Field.SOFTWARE) == "NumPy, Python"
    assert field_text(card, Field.INPUTS) == "notes (txt) Plain notes"
    assert all(re.search(r"\S", field_text(card, field)) for field in SEARCHED_FIELDS)
