"""The table of rules (data/understanding.toml), read once."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

# Letters that expressions take for plain ones and folding doesn't.
_ODD = frozenset("ı\u0307ſ\u212a\u0345")
_WORD = re.compile(r"\w+")
_BEGINNING = 3  # letters by which words are found of which a phrase tells the beginning alone
_ANY = "*"  # the mark that every text has


@dataclass(frozen=True, slots=True)
class RelationRules:
    """The phrases of one language; the meaning of each list stands in the table."""

    order: str
    easier: Sequence[str]
    easier_noun: Sequence[str]
    easier_weak: Sequence[str]
    harder: Sequence[str]
    harder_noun: Sequence[str]
    next: Sequence[str]
    than: Sequence[str]
    to: Sequence[str]
    before: Sequence[str]
    after: Sequence[str]
    precede: Sequence[str]
    follow: Sequence[str]
    done: Sequence[str]
    lead: Sequence[str]
    tail: Sequence[str]
    noise: Sequence[str]


@dataclass(frozen=True, slots=True)
class PhraseRule:
    """Phrases that name one facet value."""

    where: str
    label: str
    explicit: Sequence[str]
    offered: Sequence[str]


@dataclass(frozen=True, slots=True)
class Rules:
    """The whole table."""

    relations: Mapping[str, RelationRules]
    phrases: Sequence[PhraseRule]
    software_offered_after: Sequence[str]
    software_applied_after: Sequence[str]


@cache
def rules() -> Rules:
    """Return the rules."""
    table = tomllib.loads((files("ale_semantic") / "data" / "understanding.toml").read_text(encoding="utf-8"))
    return Rules(
        relations={language: RelationRules(**_tuples(entry)) for language, entry in table["relation"].items()},
        phrases=tuple(PhraseRule(**_tuples(entry)) for entry in table["phrase"]),
        software_offered_after=tuple(table["software"]["offered_after"]),
        software_applied_after=tuple(table["software"]["applied_after"]),
    )


def may_hold(text: str, phrases: Sequence[str]) -> bool:
    """Tell whether a text may hold one of some phrases; a "no" is certain, and far quicker than a search.

    Most queries hold none, and to compile the expressions takes longer than to answer the query.
    """
    marks = _marks(text)
    return marks is None or not marks.isdisjoint(_keys(tuple(phrases)))


@lru_cache(maxsize=64)
def _marks(text: str) -> frozenset[str] | None:
    """Return the words of a text, their beginnings with a `*`, and its characters that are written without spaces.

    None where it holds a letter that expressions take for a plain one.
    """
    folded = text.casefold()
    if not _ODD.isdisjoint(folded):
        return None
    words = _WORD.findall(folded)
    beginnings = [f"{word[:_BEGINNING]}*" for word in words]
    return frozenset([_ANY, *words, *beginnings, *(() if folded.isascii() else filter(is_unspaced, folded))])


@lru_cache(maxsize=1024)
def _keys(phrases: tuple[str, ...]) -> frozenset[str]:
    """Return for each phrase a mark that every text has that holds it."""
    return frozenset(map(_key, phrases))


def _key(phrase: str) -> str:
    folded = phrase.casefold()
    unspaced = next(filter(is_unspaced, folded), None)
    if unspaced is not None:
        return unspaced
    words: list[str] = _WORD.findall(folded)
    if not words:
        return _ANY
    longest = max(words, key=len)
    if not folded.endswith("*") or longest != words[-1]:
        return longest
    return f"{longest[:_BEGINNING]}*" if len(longest) >= _BEGINNING else _ANY


def _tuples(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tuple(value) if isinstance(value, list) else value for name, value in entry.items()}


def alternatives(phrases: Sequence[str]) -> str:
    """Return a regular expression for any of some phrases, longest first, between word boundaries.

    `*` at a phrase's end stands for the rest of the word. Chinese and Japanese have no word boundaries.
    """
    if not phrases:
        return r"(?!)"  # matches nothing
    parts = []
    for phrase in sorted(phrases, key=len, reverse=True):
        stem = re.escape(phrase.removesuffix("*")).replace(r"\ ", r"\s+")
        before = r"\b" if phrase[0].isascii() or (phrase[0].isalpha() and not is_unspaced(phrase[0])) else ""
        last = phrase.removesuffix("*")[-1]
        after = r"\w*" if phrase.endswith("*") else (r"\b" if last.isalnum() and not is_unspaced(last) else "")
        parts.append(f"{before}{stem}{after}")
    return f"(?:{'|'.join(parts)})"


def is_unspaced(char: str) -> bool:
    """Tell whether a character is of a script that is written without spaces."""
    return "\u3040" <= char <= "\u30ff" or "\u3400" <= char <= "\u9fff"
