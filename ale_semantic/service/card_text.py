"""A whole card as plain text, by part and by page, for clients that read it as text."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated

from pydantic import Field

from ale_semantic.engine import Engine
from ale_semantic.errors import QueryError
from ale_semantic.types import InputFile, TaskCard

from .compact import Compact


class CardPart(StrEnum):
    """A part of a card."""

    WHOLE = "whole"
    OVERVIEW = "overview"  # summary, tiers, machine, software
    PROMPT = "prompt"
    MUST_DO = "must_do"
    INPUTS = "inputs"


class CardPage(Compact):
    """A page of a card's text."""

    task_id: str
    title: str
    part: CardPart
    text: str
    offset: int
    total_characters: int
    next_offset: Annotated[int | None, Field(description="`offset` of the next page; absent on the last")] = None

    def page_text(self) -> str:
        """Return the page as text, with how to go on."""
        more = f"\n[{self.total_characters} characters in all; go on with offset={self.next_offset}]"
        return self.text + (more if self.next_offset is not None else "")


def card_page(engine: Engine, task_id: str, part: CardPart, *, offset: int, limit: int) -> CardPage:
    """Return a page of a part of a card.

    Args:
        engine: the engine.
        task_id: the task.
        part: which part.
        offset: characters before the page.
        limit: characters of the page.

    Raises:
        UnknownNameError: if there is no such task.
        QueryError: if the part ends before the page.
    """
    card = engine.catalogue.get(task_id)
    text = "\n".join(_lines(card, part, engine))
    if offset and offset >= len(text):
        raise QueryError(f"offset {offset} is past the end: {part} of {task_id} has {len(text)} characters")
    end = offset + limit
    return CardPage(
        task_id=card.task_id,
        title=card.title,
        part=part,
        text=text[offset:end],
        offset=offset,
        total_characters=len(text),
        next_offset=end if end < len(text) else None,
    )


def _lines(card: TaskCard, part: CardPart, engine: Engine) -> Iterator[str]:
    whole = part is CardPart.WHOLE
    if whole or part is CardPart.OVERVIEW:
        yield from _overview(card, engine)
    if whole or part is CardPart.PROMPT:
        yield from ("", "PROMPT", card.prompt) if whole else (card.prompt,)
    if whole or part is CardPart.MUST_DO:
        yield from ("", "MUST DO") if whole else ()
        yield from (f"- {step}" for step in card.must_do)
    if whole or part is CardPart.INPUTS:
        yield from ("", "INPUT FILES") if whole else ()
        yield from map(_file, card.inputs)


def _overview(card: TaskCard, engine: Engine) -> Iterator[str]:
    yield f"{card.title} ({card.task_id})"
    yield card.summary
    yield f"domain: {card.domain}" + (f" / {card.subdomain}" if card.subdomain else "")
    yield f"tiers: {', '.join(card.tiers) or 'none'}"
    yield f"os: {card.os or 'unknown'}; GPU: {_yes(card.gpu)}; licensed software: {_yes(card.licensed)}"
    yield f"time limit: {f'{card.timeout} s' if card.timeout is not None else 'unknown'}"
    uses = dict.fromkeys(f"{use.name} {use.version or ''}".strip() for use in card.software)
    yield f"software: {', '.join(uses) or 'none named'}"
    if engine.skills is not None:
        row = engine.catalogue.row(card.task_id)
        names = [engine.skills.name(skill) for skill in engine.skills.skills_of(row)]
        yield f"skills: {', '.join(names) or 'none recognised'}"


def _file(file: InputFile) -> str:
    formats = ", ".join(file.formats) or file.raw_format or "format unknown"
    return " ".join(f"- {file.name} [{formats}] {file.path} {file.description}".split())


def _yes(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"
