"""From text to index terms: folding, word splitting, stemming, and character pairs for Chinese and Japanese."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import Any

# Words of letters and digits; inner + # . ' - & / are handled by the rules below.
_WORD = re.compile(r"[^\W_]+(?:[+#]+(?!\w))?")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f]+")
# The most frequent English function words. They carry no topic, and in questions ("which task has the agent
# do ...") they would outweigh the words that do.
STOP_WORDS = frozenset(
    "a an and are as at be been but by can could do does for from had has have how i if in into is it its me my of on "
    "or our should so some such that the their them then there these they this to was we were what when where which "
    "who will with would you your".split()
)


def terms(text: str) -> list[str]:
    """Return the index terms of a text, in order, with repeats."""
    return [stem(word) for word in words(text) if word not in STOP_WORDS]


def words(text: str) -> list[str]:
    """Return the folded words of a text; runs of Chinese and Japanese as overlapping character pairs."""
    folded = fold_text(text)
    found: list[str] = []
    for match in _WORD.finditer(folded):
        found.extend(_split_cjk(match.group()))
    return found


@lru_cache(maxsize=64)
def query_words(query: str) -> tuple[str, ...]:
    """Return `words` of a query, which are asked for by all that read it."""
    return tuple(words(query))


def fold_text(text: str) -> str:
    """Return the text in lower case, without accents, in compatibility form."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text)
    return unicodedata.normalize(
        "NFKC", "".join(char for char in decomposed if not unicodedata.combining(char) or _is_kana_mark(char))
    ).casefold()


def _is_kana_mark(char: str) -> bool:
    return char in "\u3099\u309a"  # the voicing marks, without which the word is another


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """Return the stem of a folded word."""
    return str(_stemmer().stemWord(word))


@cache
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english")


def _split_cjk(word: str) -> list[str]:
    if not _CJK.search(word):
        return [word]
    parts: list[str] = []
    position = 0
    for match in _CJK.finditer(word):
        if match.start() > position:
            parts.append(word[position : match.start()])
        run = match.group()
        parts.extend([run] if len(run) == 1 else [run[i : i + 2] for i in range(len(run) - 1)])
        position = match.end()
    if position < len(word):
        parts.append(word[position:])
    return parts
