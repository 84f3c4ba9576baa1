"""The model's own tokenizer: spans, truncated inputs, and which positions are words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ale_semantic.errors import EncoderError

TOKENIZER_FILE = "tokenizer.json"


@dataclass(frozen=True, slots=True)
class TokenInput:
    """One text as the model takes it: token ids, and the positions that stand for (parts of) words."""

    ids: list[int]
    words: NDArray[np.int64]


class TextTokenizer:
    """A fast tokenizer that never pads, and truncates only where asked. Safe to share between threads."""

    def __init__(self, tokenizer: Any) -> None:
        """Keep a tokenizer without truncation and padding."""
        self._tokenizer = tokenizer

    @classmethod
    def open(cls, folder: Path) -> TextTokenizer:
        """Open a model folder's tokenizer.

        Raises:
            EncoderError: if the folder has none, or it can't be read.
        """
        from tokenizers import Tokenizer

        path = folder / TOKENIZER_FILE
        if not path.is_file():
            raise EncoderError(f"{folder} has no {TOKENIZER_FILE}: save the model with a fast tokenizer")
        try:
            tokenizer = Tokenizer.from_file(str(path))
        except Exception as fault:  # the library raises bare exceptions
            raise EncoderError(f"{path}: can't be read as a tokenizer: {str(fault).splitlines()[0]}") from None
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return cls(tokenizer)

    def spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the character span of each token of each text, nothing cut off, no special tokens."""
        encodings = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return [[(start, end) for start, end in one.offsets] for one in encodings]

    def inputs(self, texts: Sequence[str], *, prefix: str, max_tokens: int) -> list[TokenInput]:
        """Return each text as the model takes it, after the prefix and at most `max_tokens` long.

        A text that is too long loses its end, but keeps its last special token.
        """
        found = []
        for text, one in zip(texts, self._tokenizer.encode_batch([prefix + text for text in texts]), strict=True):
            ids = list(one.ids)
            if len(ids) > max_tokens:
                ids = [*ids[: max_tokens - 1], ids[-1]]
            words = [
                position
                for position, ((start, end), special) in enumerate(
                    zip(one.offsets[: len(ids)], one.special_tokens_mask, strict=False)
                )
                if not special and start >= len(prefix) and _has_word(text[start - len(prefix) : end - len(prefix)])
            ]
            found.append(TokenInput(ids, np.array(words, dtype=np.int64)))
        return found


def _has_word(piece: str) -> bool:
    return any(char.isalnum() for char in piece)
