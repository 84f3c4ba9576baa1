"""The longest passages that two texts have in common, as they stand in the first."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

_WORD = re.compile(r"[^\W_]+")
_FEWEST_WORDS = 5  # shorter passages are everyday phrases
_SHOWN = 3


def shared_text(first: str, second: str, *, shown: int = _SHOWN) -> tuple[str, ...]:
    """Return the longest passages of at least five words that stand in both texts, longest first."""
    own = list(_WORD.finditer(first))
    words = [match.group().casefold() for match in own]
    others = [match.group().casefold() for match in _WORD.finditer(second)]
    blocks = SequenceMatcher(None, words, others, autojunk=False).get_matching_blocks()
    fine = sorted((block for block in blocks if block.size >= _FEWEST_WORDS), key=lambda block: (-block.size, block.a))
    return tuple(" ".join(first[own[b.a].start() : own[b.a + b.size - 1].end()].split()) for b in fine[:shown])
