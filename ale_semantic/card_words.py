"""The words of one card, field by field, as the lexical index, the relatedness of cards and the speller take them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ale_semantic.analysis import terms, words
from ale_semantic.texts import field_text
from ale_semantic.types import Field, TaskCard

FIELDS = (
    Field.TITLE,
    Field.SUMMARY,
    Field.SOFTWARE,
    Field.SUBDOMAIN,
    Field.MUST_DO,
    Field.PROMPT,
    Field.INPUTS,
)
SHORTEST_SPELLED = 4  # letters; a shorter word has too many neighbours to be corrected


@dataclass(frozen=True, slots=True)
class CardWords:
    """A card's words.

    Attributes:
        terms: the index terms of each field, in order, with repeats.
        spelled: its words of letters that are long enough to be mended, each once.
    """

    terms: Mapping[Field, tuple[str, ...]]
    spelled: tuple[str, ...]

    @classmethod
    def of(cls, card: TaskCard) -> CardWords:
        """Read the words of a card."""
        texts = {field: field_text(card, field) for field in FIELDS}
        return cls(
            {field: tuple(terms(text)) for field, text in texts.items()},
            tuple(sorted({word for text in texts.values() for word in _spelled(text)})),
        )


def _spelled(text: str) -> Iterator[str]:
    return (word for word in words(text) if len(word) >= SHORTEST_SPELLED and word.isalpha() and word.isascii())
