"""Query vectors: the encoder is loaded at the first query, and each query is embedded once."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from ale_semantic.embeddings.encoder import Encoder, TextKind, Vectors
from ale_semantic.embeddings.space import VectorSpace

_KEPT = 1024  # vectors of 1.5 kB each


class QueryVectors:
    """A thread-safe cache in front of a lazily loaded encoder."""

    def __init__(self, space: VectorSpace, encoder: Encoder | None = None) -> None:
        """Keep the space whose encoder is loaded when first needed, or an encoder that is loaded already."""
        self._space = space
        self._encoder = encoder
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Vectors] = OrderedDict()

    @property
    def encoder(self) -> Encoder:
        """Return the encoder, loading it if this is the first use."""
        with self._lock:
            if self._encoder is None:
                self._encoder = self._space.load_encoder()
            return self._encoder

    def of(self, texts: Sequence[str]) -> list[Vectors]:
        """Return one unit vector a query, shape (dimension,) each."""
        with self._lock:
            found = {text: self._kept[text] for text in texts if text in self._kept}
            for text in found:
                self._kept.move_to_end(text)
        new = [text for text in dict.fromkeys(texts) if text not in found]
        if new:
            made = dict(zip(new, self.encoder.encode(new, TextKind.QUERY), strict=True))
            found |= made
            with self._lock:
                self._kept |= made
                while len(self._kept) > _KEPT:
                    self._kept.popitem(last=False)
        return [found[text] for text in texts]
