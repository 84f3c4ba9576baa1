"""What the parser and the printer must agree on: keywords, bare words, quoting and limits."""

from __future__ import annotations

import unicodedata

MAX_LENGTH = 10_000  # characters; a list of all ids of a catalogue of some hundred tasks fits
MAX_DEPTH = 100  # nested parentheses and negations; far below the interpreter's own limit
KEYWORDS = frozenset({"and", "or", "not", "in", "is", "contains"})
QUOTES = "\"'"
_WORD_SIGNS = frozenset("_-./+#")


def is_word_character(char: str) -> bool:
    """Tell whether a character may stand in a bare word: letters, digits and marks of any script, and `_-./+#`."""
    return char.isalnum() or char in _WORD_SIGNS or unicodedata.category(char).startswith("M")


def is_bare_word(text: str) -> bool:
    """Tell whether a value needs no quotes."""
    return bool(text) and all(map(is_word_character, text)) and text.casefold() not in KEYWORDS


def quoted(text: str) -> str:
    """Return a value as it is written in a filter, in quotes only if it needs them."""
    if is_bare_word(text):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
