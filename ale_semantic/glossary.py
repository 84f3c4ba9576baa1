"""Words of professional work in other languages, read as English by a small table (data/glossary.tsv)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ale_semantic.analysis import fold_text
from ale_semantic.languages import language_table

_STEMMERS = {"de": "german", "es": "spanish", "fr": "french"}
_UNSPACED = frozenset({"zh", "ja"})
_TOKEN = re.compile(r"[^\W_]+")
_LATIN = re.compile(r"[A-Za-z][A-Za-z0-9+#.-]*")
_SHORTEST_PART = 5  # letters of a German word that may be a part of a compound
_LONGEST = 4  # words of a phrase


@dataclass(frozen=True, slots=True)
class Glossed:
    """What the table makes of a query: English text, and the share of the query's words that it covers (0 to 1)."""

    text: str
    coverage: float


def gloss(query: str, language: str, is_name: Callable[[str], bool]) -> Glossed:
    """Return a query's known words in English, in their order; the rest is left out.

    Japanese without kana is taken for Chinese at first sight: of the two, the one that covers more is taken.

    Args:
        query: the text.
        language: its ISO 639-1 code; a language that the table hasn't gives nothing.
        is_name: tells whether a lower-case word stands in the catalogue: such a word is kept as it is.
    """
    candidates = ("zh", "ja") if language == "zh" else (language,)
    return max((_glossed(query, candidate, is_name) for candidate in candidates), key=lambda one: one.coverage)


def _glossed(query: str, language: str, is_name: Callable[[str], bool]) -> Glossed:
    entries = _entries().get(language)
    if not entries:
        return Glossed("", 0.0)
    parts = list(_unspaced(query, entries) if language in _UNSPACED else _spaced(query, entries, language, is_name))
    total = sum(length for _, length in parts)
    known = [(english, length) for english, length in parts if english]
    text = " ".join(dict.fromkeys(english for english, _ in known))
    return Glossed(text, sum(length for _, length in known) / max(total, 1))


def has_glossary(language: str) -> bool:
    """Tell whether the table has a language."""
    return language in _entries()


def _unspaced(query: str, entries: Mapping[str, str]) -> Iterator[tuple[str, int]]:
    """Yield the English of each stretch of a text without spaces, longest entries first, and its characters."""
    folded = fold_text(query)
    position = 0
    longest = max(map(len, entries))
    while position < len(folded):
        latin = _LATIN.match(folded, position)
        if latin:
            yield latin.group(), len(latin.group())
            position = latin.end()
            continue
        for length in range(min(longest, len(folded) - position), 0, -1):
            english = entries.get(folded[position : position + length])
            if english:
                yield english, length
                position += length
                break
        else:
            if folded[position].isalnum() and not "\u3040" <= folded[position] <= "\u309f":
                yield "", 1
            position += 1


def _spaced(
    query: str, entries: Mapping[str, str], language: str, is_name: Callable[[str], bool]
) -> Iterator[tuple[str, int]]:
    """Yield the English of each word or phrase, longest phrases first, and how many words it is."""
    found = _TOKEN.findall(fold_text(query))
    roots = [_root(word, language) for word in found]
    position = 0
    while position < len(found):
        for length in range(min(_LONGEST, len(found) - position), 0, -1):
            english = entries.get(" ".join(roots[position : position + length]))
            if english:
                yield english, length
                position += length
                break
        else:
            word = found[position]
            if not _is_function_word(word, language):
                compound = _compound(word) if language == "de" else ""
                yield compound or (word if is_name(word) else ""), 1
            position += 1


def _compound(word: str) -> str:
    """Return the English of a German compound's parts that the table has, the longest at each end."""
    parts = _compound_parts()
    head = max((part for part in parts if word.startswith(part)), key=len, default="")
    tail = max((part for part in parts if word[len(head) :].endswith(part)), key=len, default="")
    return " ".join(parts[part] for part in (head, tail) if part)


def _is_function_word(word: str, language: str) -> bool:
    return word in language_table().function_words.get(language, ())


@cache
def _table() -> tuple[tuple[str, str, str], ...]:
    """Return each entry of the table as language, folded entry, English."""
    text = (files("ale_semantic") / "data" / "glossary.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    languages = rows[0][1:]
    return tuple(
        (language, fold_text(entry), english)
        for english, *cells in rows[1:]
        for language, cell in zip(languages, cells, strict=True)
        for entry in cell.split("/")
    )


@cache
def _entries() -> Mapping[str, Mapping[str, str]]:
    """Return, for each language, the English of each folded and stemmed entry."""
    entries: dict[str, dict[str, str]] = {}
    for language, entry, english in _table():
        words = _TOKEN.findall(entry)
        key = entry if language in _UNSPACED else " ".join(_root(word, language) for word in words)
        entries.setdefault(language, {}).setdefault(key, english)
    return entries


@cache
def _compound_parts() -> Mapping[str, str]:
    """Return the English of each German entry of one word that is long enough to be told within another."""
    german = {entry: english for language, entry, english in _table() if language == "de"}
    return {entry: english for entry, english in german.items() if len(entry) >= _SHORTEST_PART and entry.isalpha()}


def _root(word: str, language: str) -> str:
    return str(_stemmer(language).stemWord(word))


@cache
def _stemmer(language: str) -> Any:
    import Stemmer

    return Stemmer.Stemmer(_STEMMERS[language])
