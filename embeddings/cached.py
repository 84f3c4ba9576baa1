"""An encoder that remembers: each text is embedded once, whatever build or index folder asks for it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .batches import LEAST_ROWS
from .cache import EmbeddingCache, content_key
from .encoder import Encoder, EncoderIdentity, TextKind, TokenVectors, Vectors
from .records import pack, unpack

_VERSION = "text 2"  # changed whenever the same text and model give another record


class CachedEncoder:
    """An `Encoder` of short texts that takes from the cache what it holds.

    Attributes:
        encoder: the one that embeds what the cache doesn't hold.
        embedded: how many texts it had to embed.
        precision: the type of number that it computes with.
    """

    def __init__(self, encoder: Encoder, cache: EmbeddingCache, *, precision: str = "float32") -> None:
        """Keep an encoder and a cache; vectors of one precision are not taken for those of another."""
        self.encoder = encoder
        self.embedded = 0
        self._cache = cache
        self.precision = precision
        self._own = (encoder.identity.key, precision)

    @property
    def identity(self) -> EncoderIdentity:
        """Return which model this is."""
        return self.encoder.identity

    def key(self, *parts: str) -> bytes:
        """Return the key of something that this model makes of texts."""
        return content_key(*self._own, *parts)

    def encode(self, texts: Sequence[str], kind: TextKind, *, progress: bool = False) -> Vectors:
        """Return one unit row a text, float32 of shape (n, dimension)."""
        known = b"".join(self._known(texts, kind, words=False))
        return np.frombuffer(known, np.float32).reshape(len(texts), self.identity.dimension).copy()

    def encode_tokens(
        self, texts: Sequence[str], kind: TextKind, *, progress: bool = False
    ) -> tuple[Vectors, list[TokenVectors]]:
        """Return what `encode` does and each text's words in context."""
        known = list(map(_read, self._known(texts, kind, words=True)))
        vectors = np.array([vector for vector, _ in known], np.float32).reshape(len(texts), self.identity.dimension)
        return vectors, [words for _, words in known]

    def token_spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the character span of each token of each text."""
        return self.encoder.token_spans(texts)

    def _known(self, texts: Sequence[str], kind: TextKind, *, words: bool) -> list[bytes]:
        keys = [self.key(_VERSION, kind, "words" if words else "", text) for text in texts]
        found = self._cache.get(keys)
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if new:
            self.embedded += len(new)
            made = self._embed(list(new.values()), kind, words=words)
            fresh = dict(zip(new, made, strict=True))
            self._cache.put(fresh)
            found |= fresh
        return [found[key] for key in keys]

    def _embed(self, texts: list[str], kind: TextKind, *, words: bool) -> list[bytes]:
        # One text alone goes another way through the model, to numbers that differ in the last bits.
        given = texts * LEAST_ROWS if len(texts) == 1 else texts
        if not words:
            return [np.asarray(one, np.float32).tobytes() for one in self.encoder.encode(given, kind)[: len(texts)]]
        vectors, tokens = self.encoder.encode_tokens(given, kind)
        return [
            pack({"vector": vector, "ids": own.ids, "words": own.vectors})
            for vector, own in zip(vectors[: len(texts)], tokens, strict=False)
        ]


def _read(content: bytes) -> tuple[Vectors, TokenVectors]:
    arrays = unpack(content)
    return arrays["vector"], TokenVectors(arrays["ids"], arrays["words"])
