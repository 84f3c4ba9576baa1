"""What rules phrases out without a search never rules out one that is there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields

import pytest

from ale_semantic.understanding.rules import alternatives, may_hold, rules


def lists() -> Iterator[tuple[str, Sequence[str]]]:
    """Yield every list of phrases of the table with its name."""
    table = rules()
    yield "software offered", table.software_offered_after
    yield "software applied", table.software_applied_after
    for rule in table.phrases:
        yield f"{rule.where} explicit", rule.explicit
        yield f"{rule.where} offered", rule.offered
    for language, one in table.relations.items():
        yield from ((f"{language} {field.name}", getattr(one, field.name)) for field in fields(one))


LISTS = [(name, phrases) for name, phrases in lists() if not isinstance(phrases, str) and phrases]
CONTEXTS = ("{}", "give me {} now", "({})", "X{}Y", "{}ing", "un{}", "Ⅻ {}-wise", "{}を", "ı {}", "{}\u0301")


@pytest.mark.parametrize(("name", "phrases"), LISTS, ids=[name for name, _ in LISTS])
def test_a_text_that_holds_a_phrase_may_hold_it(name: str, phrases: Sequence[str]) -> None:
    expression = re.compile(alternatives(phrases), re.IGNORECASE)
    spelled = [form.removesuffix("*") for phrase in phrases for form in (phrase, phrase.upper(), phrase.title())]
    spelled += [phrase.removesuffix("*") + "tails" for phrase in phrases if phrase.endswith("*")]
    held = [text for form in CONTEXTS for text in map(form.format, spelled) if expression.search(text)]
    assert len(held) >= len(phrases)
    assert [text for text in held if not may_hold(text, phrases)] == []


def test_other_texts_are_ruled_out() -> None:
    assert not may_hold("segment a tumour on scans", rules().relations["en"].easier)
    assert not may_hold("preposition", ("prepos", "position"))
    assert may_hold("upper", ("up*",))
    assert not may_hold("up", ("upper*",))
    assert may_hold("anything", ("++",))
