"""The exported encoder: the same vectors from ONNX Runtime, without torch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ale_semantic.errors import EncoderError

from .encoder import EncoderIdentity, TextKind, TokenVectors, Vectors
from .tokens import TextTokenizer

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

MODEL_FILE = "model.onnx"
IDENTITY_FILE = "encoder.json"
_BATCH = 32


class OnnxEncoder:
    """An encoder exported into a folder by `export_encoder`."""

    def __init__(
        self, session: InferenceSession, tokenizer: TextTokenizer, identity: EncoderIdentity, folder: Path
    ) -> None:
        """Keep an open session."""
        self.folder = folder
        self._session = session
        self._tokenizer = tokenizer
        self._identity = identity

    @classmethod
    def open(cls, folder: Path) -> OnnxEncoder:
        """Open an exported encoder.

        Raises:
            EncoderError: if the folder doesn't hold one.
        """
        import onnxruntime

        try:
            identity = EncoderIdentity(**json.loads((folder / IDENTITY_FILE).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as fault:
            raise EncoderError(f"{folder}: no exported encoder ({fault})") from None
        options = onnxruntime.SessionOptions()
        # Threads that spin between two queries would take the other core from the page and the index.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        try:
            session = onnxruntime.InferenceSession(
                str(folder / MODEL_FILE), options, providers=["CPUExecutionProvider"]
            )
        except Exception as fault:  # ONNX Runtime raises its own classes, which share no base but Exception
            raise EncoderError(f"{folder / MODEL_FILE}: can't be opened: {str(fault).splitlines()[0]}") from None
        return cls(session, TextTokenizer.open(folder), identity, folder)

    @property
    def identity(self) -> EncoderIdentity:
        """Return which model this is."""
        return self._identity

    def encode(self, texts: Sequence[str], kind: TextKind, *, progress: bool = False) -> Vectors:
        """Return one unit row a text, float32 of shape (n, dimension)."""
        return self.encode_tokens(texts, kind, progress=progress)[0]

    def encode_tokens(
        self, texts: Sequence[str], kind: TextKind, *, progress: bool = False
    ) -> tuple[Vectors, list[TokenVectors]]:
        """Return one unit row a text and each text's words in context."""
        prefix = self.identity.prefix(kind)
        inputs = self._tokenizer.inputs(texts, prefix=prefix, max_tokens=self.identity.max_tokens)
        vectors = np.zeros((len(texts), self.identity.dimension), dtype=np.float32)
        tokens: dict[int, TokenVectors] = {}
        # Batches of like length carry no padding to speak of.
        order = sorted(range(len(texts)), key=lambda row: len(inputs[row].ids))
        for start in range(0, len(order), _BATCH):
            rows = order[start : start + _BATCH]
            vectors[rows], states = self._run([inputs[row].ids for row in rows])
            for place, row in enumerate(rows):
                tokens[row] = TokenVectors.of(inputs[row].ids, states[place], inputs[row].words)
        return vectors, [tokens[row] for row in range(len(texts))]

    def token_spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the character span of each token of each text."""
        return self._tokenizer.spans(texts)

    def _run(self, batch: list[list[int]]) -> tuple[Vectors, Vectors]:
        width = max(len(ids) for ids in batch)
        tokens = np.zeros((len(batch), width), dtype=np.int64)
        mask = np.zeros_like(tokens)
        for row, ids in enumerate(batch):
            tokens[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        vectors, states = self._session.run(
            ["sentence_embedding", "token_embeddings"], {"input_ids": tokens, "attention_mask": mask}
        )
        return np.asarray(vectors, dtype=np.float32), np.asarray(states, dtype=np.float32)


def write_identity(folder: Path, identity: EncoderIdentity) -> None:
    """Write what the exported encoder is."""
    (folder / IDENTITY_FILE).write_text(json.dumps(asdict(identity), indent=2) + "\n", encoding="utf-8")
