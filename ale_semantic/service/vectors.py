"""The query vectors of the service: as many as the settings say, and no more bytes than that many usual ones."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from ale_semantic.embeddings.encoder import Encoder, TextKind
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.query_vectors import QueryVector, QueryVectors

if TYPE_CHECKING:
    from .telemetry import Telemetry

_USUAL_WORDS = 16  # of a query; a pasted page has hundreds, and each has a vector


class ServedVectors(QueryVectors):
    """A least-recently-used cache that is bounded in bytes and counts its hits."""

    def __init__(self, space: VectorSpace, encoder: Encoder, *, kept: int, telemetry: Telemetry | None = None) -> None:
        """Keep the vectors of about `kept` queries."""
        super().__init__(space, encoder)
        self._telemetry = telemetry
        self._served = encoder
        self._room = kept * (_USUAL_WORDS + 1) * space.identity.dimension * 4
        self._bytes = 0
        self._guard = threading.Lock()
        self._entries: OrderedDict[str, QueryVector] = OrderedDict()
        self._hits = 0
        self._misses = 0

    def of(self, texts: Sequence[str]) -> list[QueryVector]:
        """Return each query's vectors."""
        wanted = list(dict.fromkeys(texts))
        with self._guard:
            found = {text: self._entries[text] for text in wanted if text in self._entries}
            for text in found:
                self._entries.move_to_end(text)
            self._hits += len(found)
            self._misses += len(wanted) - len(found)
        new = [text for text in wanted if text not in found]
        if self._telemetry is not None:
            self._telemetry.cache("query_vectors", hits=len(found), misses=len(new))
        if new:
            with self._telemetry.stage("encode") if self._telemetry is not None else nullcontext():
                vectors, tokens = self._served.encode_tokens(new, TextKind.QUERY)
            # Copies: a row of a batch would keep the whole batch.
            made = {text: QueryVector(vectors[row].copy(), tokens[row]) for row, text in enumerate(new)}
            found |= made
            self._keep(made)
        return [found[text] for text in texts]

    def counts(self) -> tuple[int, int]:
        """Return the hits and misses so far."""
        with self._guard:
            return self._hits, self._misses

    def _keep(self, made: dict[str, QueryVector]) -> None:
        with self._guard:
            for text, vector in made.items():
                if text not in self._entries:
                    self._entries[text] = vector
                    self._bytes += _size(text, vector)
            while self._bytes > self._room and self._entries:
                text, vector = self._entries.popitem(last=False)
                self._bytes -= _size(text, vector)


def _size(text: str, vector: QueryVector) -> int:
    arrays = (vector.vector, vector.tokens.vectors, vector.tokens.ids)
    return len(text) + sum(int(array.nbytes) for array in arrays)
