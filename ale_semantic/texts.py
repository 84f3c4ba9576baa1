"""The text of a card, field by field, as it is searched; and its sentences."""

from __future__ import annotations

import re
from collections.abc import Callable

from ale_semantic.types import Field, TaskCard

SEARCHED_FIELDS = (
    Field.OVERVIEW,
    Field.TITLE,
    Field.SUMMARY,
    Field.PROMPT,
    Field.MUST_DO,
    Field.SOFTWARE,
    Field.INPUTS,
    Field.SUBDOMAIN,
)
_SHORTEST_SENTENCE = 24  # characters; shorter pieces ("Input:") say nothing alone and join the next one


def field_text(card: TaskCard, field: Field) -> str:
    """Return the text of a field as it is embedded and searched."""
    return _FIELD_TEXTS[field](card)


_BOUNDARY = re.compile(r"\n+|(?<=[.!?;:])\s+|(?<=[。！？；])")


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the character span of each sentence or line; very short pieces join the one that follows."""
    spans: list[tuple[int, int]] = []
    start = 0
    for end, after in [*((match.start(), match.end()) for match in _BOUNDARY.finditer(text)), (len(text), len(text))]:
        piece = text[start:end].strip()
        if len(piece) < _SHORTEST_SENTENCE and after < len(text):
            continue
        if piece:
            lead = len(text[start:end]) - len(text[start:end].lstrip())
            spans.append((start + lead, start + lead + len(piece)))
        start = after
    return spans


def _overview(card: TaskCard) -> str:
    return f"{card.title}. {card.summary}"


def _inputs(card: TaskCard) -> str:
    return "\n".join(
        " ".join(part for part in (file.name, file.raw_format and f"({file.raw_format})", file.description) if part)
        for file in card.inputs
    )


_FIELD_TEXTS: dict[Field, Callable[[TaskCard], str]] = {
    Field.OVERVIEW: _overview,
    Field.TITLE: lambda card: card.title,
    Field.SUMMARY: lambda card: card.summary,
    Field.PROMPT: lambda card: card.prompt,
    Field.MUST_DO: lambda card: "\n".join(card.must_do),
    Field.SOFTWARE: lambda card: ", ".join(card.software_names),
    Field.INPUTS: _inputs,
    Field.SUBDOMAIN: lambda card: card.subdomain or "",
}
