"""Query vectors: the encoder is loaded at the first query, and each query is embedded once."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from ale_semantic.embeddings.encoder import Encoder, TextKind, TokenVectors, Vectors
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.errors import AleSemanticError
from ale_semantic.kept import Kept

_WORDS = 16_384
_KEPT = 1024  # a query of ten words takes 17 kB


@dataclass(frozen=True, slots=True)
class QueryVector:
    """One query as the encoder sees it: its unit vector, shape (dimension,), and its words in context."""

    vector: Vectors
    tokens: TokenVectors


class QueryVectors:
    """A thread-safe cache in front of a lazily loaded encoder."""

    def __init__(self, space: VectorSpace, encoder: Encoder | None = None) -> None:
        """Keep the space whose encoder is loaded when first needed, or an encoder that is loaded already."""
        self._space = space
        self._encoder = encoder
        self._lock = threading.Lock()
        self._kept: Kept[str, QueryVector] = Kept(_KEPT)
        self._words: dict[str, bool] = {}

    @property
    def encoder(self) -> Encoder:
        """Return the encoder, loading it if this is the first use."""
        with self._lock:
            if self._encoder is None:
                self._encoder = self._space.load_encoder()
            return self._encoder

    def knows(self, word: str) -> bool:
        """Tell whether the model takes a word in one piece, as it does with all but rare words.

        Most words are asked for again, also for the same query: by what tells its language, and by what mends it.
        """
        known = self._words.get(word)
        if known is None:
            known = len(self.encoder.token_spans([word])[0]) == 1
            if len(self._words) >= _WORDS:
                self._words.clear()
            self._words[word] = known
        return known

    def load_soon(self) -> None:
        """Load the encoder in the background; a fault is raised where the encoder is used."""

        def load() -> None:
            with suppress(AleSemanticError):
                _ = self.encoder

        threading.Thread(target=load, name="encoder").start()

    def forget(self) -> None:
        """Empty the cache."""
        self._kept.forget()

    def of(self, texts: Sequence[str]) -> list[QueryVector]:
        """Return each query's vectors."""
        known = {text: self._kept.get(text) for text in texts}
        found = {text: vector for text, vector in known.items() if vector is not None}
        new = [text for text in known if text not in found]
        if new:
            vectors, tokens = self.encoder.encode_tokens(new, TextKind.QUERY)
            made = {text: QueryVector(vectors[row], tokens[row]) for row, text in enumerate(new)}
            found |= made
            for text, vector in made.items():
                self._kept.keep(text, vector)
        return [found[text] for text in texts]
