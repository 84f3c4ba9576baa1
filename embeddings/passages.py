"""From a card to passages: what is embedded, where it stands in the card, and what was left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from ale_semantic.texts import SEARCHED_FIELDS, field_text, sentences
from ale_semantic.types import Field, TaskCard

LAYOUT_VERSION = 2  # raised whenever the same card yields other passages: older bundles are then rebuilt
_SPLIT_FIELDS = (Field.SUMMARY, Field.PROMPT, Field.MUST_DO, Field.INPUTS)  # also searched sentence by sentence
_OVERLAP = 0.25  # share of a chunk that the next one repeats, so that no thought is cut without a whole copy
_SPECIAL_TOKENS = 2  # what a model puts around each text

TokenSpans = Sequence[tuple[int, int]]


class PassageKind(IntEnum):
    """The grain of a passage."""

    VIEW = 0  # a whole short field, or title and summary together
    CHUNK = 1  # as much of a long field as the model takes
    SENTENCE = 2


@dataclass(frozen=True, slots=True)
class Passage:
    """A stretch of one field of the card in row `card`; `start` and `end` are character offsets in its text."""

    card: int
    field: Field
    kind: PassageKind
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class FieldTokens:
    """How many tokens of one field of one card are in some passage, and how many in none."""

    task_id: str
    field: Field
    seen: int
    dropped: int


def text_room(max_tokens: int, prefix_tokens: int) -> int:
    """Return how many tokens of text a model takes beside its prefix and the special tokens."""
    return max(1, max_tokens - prefix_tokens - _SPECIAL_TOKENS)


def card_passages(
    row: int, card: TaskCard, tokens_of: Callable[[Field], TokenSpans], *, room: int
) -> Iterator[Passage]:
    """Yield the passages of one card.

    Args:
        row: the card's row in the catalogue.
        card: the card.
        tokens_of: the character span of each token of a field's text.
        room: how many tokens of text the model takes (`text_room`).
    """
    for field in SEARCHED_FIELDS:
        text = field_text(card, field)
        if not text:
            continue
        tokens = tokens_of(field)
        chunks = windows(tokens, room)
        kind = PassageKind.VIEW if len(chunks) == 1 else PassageKind.CHUNK
        for start, end in chunks:
            yield Passage(row, field, kind, start, end, text[start:end])
        if field in _SPLIT_FIELDS:
            for start, end in _fitting(sentences(text), tokens, room):
                yield Passage(row, field, PassageKind.SENTENCE, start, end, text[start:end])


def passage_columns(passages: Sequence[Passage]) -> NDArray[np.int32]:
    """Return field, kind, start and end of each passage, shape (passages, 4)."""
    fields = tuple(Field)
    rows = [(fields.index(one.field), int(one.kind), one.start, one.end) for one in passages]
    return np.array(rows, dtype=np.int32).reshape(len(rows), 4)


def token_ledger(
    card: TaskCard, tokens_of: Callable[[Field], TokenSpans], passages: Sequence[Passage], cut: Sequence[int]
) -> list[FieldTokens]:
    """Count, for each field, the tokens that stand in some passage and those that the model does not see.

    Args:
        card: the card.
        tokens_of: the character span of each token of a field's text.
        passages: the card's passages.
        cut: for each passage, how many of its own tokens exceed the model's input.
    """
    ledger = []
    for field in SEARCHED_FIELDS:
        tokens = tokens_of(field)
        own = [(passage, over) for passage, over in zip(passages, cut, strict=True) if passage.field is field]
        spans = [(passage.start, passage.end) for passage, _ in own]
        seen = sum(any(start <= first and last <= end for start, end in spans) for first, last in tokens)
        if tokens:
            missed = len(tokens) - seen
            ledger.append(FieldTokens(card.task_id, field, seen, missed + sum(over for _, over in own)))
    return ledger


def windows(tokens: TokenSpans, room: int) -> list[tuple[int, int]]:
    """Return character spans of at most `room` tokens that overlap and together cover all tokens.

    A span begins and ends between words where it can, so that its text yields the same tokens again.
    """
    spans = []
    first = 0
    while first < len(tokens):
        stop = min(first + room, len(tokens))
        if stop < len(tokens):
            stop = _word_start(tokens, stop, first + 1)
        spans.append((tokens[first][0], tokens[stop - 1][1]))
        if stop == len(tokens):
            break
        first = _word_start(tokens, stop - int((stop - first) * _OVERLAP), first + 1)
    return spans


def _word_start(tokens: TokenSpans, wanted: int, least: int) -> int:
    """Return the last position from `least` to `wanted` at which a word begins, or `wanted` if there is none."""
    for position in range(wanted, least, -1):
        if tokens[position][0] > tokens[position - 1][1]:
            return position
    return max(wanted, least)


def _fitting(spans: Sequence[tuple[int, int]], tokens: TokenSpans, room: int) -> Iterator[tuple[int, int]]:
    """Yield the spans, those with more than `room` tokens cut into windows."""
    position = 0
    for start, end in spans:
        while position < len(tokens) and tokens[position][1] <= start:
            position += 1
        stop = position
        while stop < len(tokens) and tokens[stop][0] < end:
            stop += 1
        if stop - position <= room:
            yield start, end
        else:
            yield from windows(tokens[position:stop], room)
