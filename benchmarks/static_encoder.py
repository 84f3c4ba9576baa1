"""An encoder that costs next to nothing: the mean of a model's input embeddings, no transformer.

For measuring all that a build and a search do beside the model. Its vectors mean little: they tell which words a text
has, not what it says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ale_semantic.embeddings.digests import known_digest
from ale_semantic.embeddings.encoder import EncoderIdentity, TextKind, TokenVectors, Vectors
from ale_semantic.embeddings.registry import WEIGHTS, find_model, locate
from ale_semantic.embeddings.tokens import TextTokenizer

_TABLE = "embeddings.word_embeddings.weight"


class StaticEncoder:
    """An `Encoder` by the table of input embeddings of a registered model."""

    def __init__(self, model: str = "minilm") -> None:
        """Read the table."""
        import safetensors

        spec = find_model(model)
        folder = locate(spec)
        opened: Any = safetensors.safe_open(str(folder / WEIGHTS), framework="np")
        with opened as weights:
            table = np.asarray(weights.get_tensor(_TABLE), dtype=np.float32)
        self._table = table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-9)
        self._tokenizer = TextTokenizer.open(folder)
        identity = EncoderIdentity(spec.name, spec.revision, known_digest(folder / WEIGHTS), table.shape[1], 256)
        self.identity = replace(identity, name=f"{model} input embeddings")

    def encode(self, texts: Sequence[str], kind: TextKind, *, progress: bool = False) -> Vectors:
        """Return one unit row a text, float32 of shape (n, dimension)."""
        return self.encode_tokens(texts, kind, progress=progress)[0]

    def encode_tokens(
        self, texts: Sequence[str], kind: TextKind, *, progress: bool = False
    ) -> tuple[Vectors, list[TokenVectors]]:
        """Return one unit row a text and the rows of its words."""
        inputs = self._tokenizer.inputs(texts, prefix="", max_tokens=self.identity.max_tokens)
        sums = np.array([self._table[one.ids].sum(axis=0) for one in inputs], np.float32)
        vectors = sums.reshape(len(texts), self.identity.dimension)
        tokens = []
        for one in inputs:
            ids = np.asarray(one.ids, dtype=np.int64)[one.words]
            tokens.append(TokenVectors(ids, self._table[ids]))
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9), tokens

    def token_spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the character span of each token of each text."""
        return self._tokenizer.spans(texts)
