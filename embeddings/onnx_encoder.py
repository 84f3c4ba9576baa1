"""The exported encoder: the same vectors from ONNX Runtime, without torch."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ale_semantic.beside import BESIDE
from ale_semantic.errors import EncoderError

from .batches import encode_in_batches
from .encoder import EncoderIdentity, TextKind, TokenVectors, Vectors
from .tokens import TextTokenizer

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

MODEL_FILE = "model.onnx"
WEIGHTS_FILE = "model.onnx.data"  # memory-mapped: only what a query looks at comes into memory
IDENTITY_FILE = "encoder.json"
EXPORT_RECORD = "export.json"  # beside an export that is kept for other indexes (`kept_exports`)
EXPORT_VERSION = 4  # raised whenever files, inputs or outputs change: exports are then made anew
INPUTS = ("input_ids", "attention_mask")
OUTPUTS = ("sentence_embedding", "token_embeddings")
_LEAST_EXTERNAL = 1024  # bytes of a weight that stands in the file of weights


class OnnxEncoder:
    """An encoder exported into a folder by `export_encoder`."""

    def __init__(
        self,
        session: InferenceSession,
        tokenizer: TextTokenizer,
        identity: EncoderIdentity,
        folder: Path,
        *,
        workers: int = 1,
        padded: bool = False,
    ) -> None:
        """Keep an open session."""
        self._padded = padded
        self.folder = folder
        self._workers = workers
        self._session = session
        self._tokenizer = tokenizer
        self._identity = identity

    @classmethod
    def open(cls, folder: Path, *, workers: int = 1, padded: bool = False) -> OnnxEncoder:
        """Open an exported encoder.

        Args:
            folder: where it stands.
            workers: how many batches are run side by side, for many texts; each then has one thread to itself,
                which is quicker than to divide each batch among all. With one, a batch has all processors.
            padded: texts of near lengths go together, which is quicker for a few. An index isn't built so: what is
                embedded with a text would change the last bits of its vector.

        Raises:
            EncoderError: if the folder doesn't hold one.
        """
        import onnxruntime

        identity = read_identity(folder)
        options = onnxruntime.SessionOptions()
        # Threads that spin between two queries would take the other core from the page and the index.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        if workers > 1:
            options.intra_op_num_threads = 1
        # The graph was optimised when it was written (`write_optimised`): to do it again would double the start.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        made = BESIDE.start(
            onnxruntime.InferenceSession, str(folder / MODEL_FILE), options, providers=["CPUExecutionProvider"]
        )
        tokenizer = TextTokenizer.open(folder)
        try:
            session = made()
        except Exception as fault:  # ONNX Runtime raises its own classes, which share no base but Exception
            raise EncoderError(f"{folder / MODEL_FILE}: can't be opened: {str(fault).splitlines()[0]}") from None
        outputs = {one.name for one in session.get_outputs()}
        if not outputs.issuperset(OUTPUTS):
            raise EncoderError(f"{folder / MODEL_FILE}: no exported encoder (its outputs are {', '.join(outputs)})")
        return cls(session, tokenizer, identity, folder, workers=workers, padded=padded)

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
        return encode_in_batches(inputs, self.identity.dimension, self._run, padded=self._padded, workers=self._workers)

    def word_ids(self, texts: Sequence[str], kind: TextKind) -> list[NDArray[np.int64]]:
        """Return the token ids of each text's words, as `encode_tokens` does with their vectors."""
        inputs = self._tokenizer.inputs(texts, prefix=self.identity.prefix(kind), max_tokens=self.identity.max_tokens)
        return [np.asarray(one.ids, dtype=np.int64)[one.words] for one in inputs]

    def token_spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the character span of each token of each text."""
        return self._tokenizer.spans(texts)

    def _run(self, tokens: NDArray[np.int64], mask: NDArray[np.int64]) -> tuple[Vectors, Vectors]:
        vectors, states = self._session.run(OUTPUTS, dict(zip(INPUTS, (tokens, mask), strict=True)))
        return np.asarray(vectors, dtype=np.float32), np.asarray(states, dtype=np.float32)


def write_optimised(graph: Path, folder: Path) -> None:
    """Write an ONNX graph into a folder as it is served: optimised, its weights in a file of their own.

    The optimisations are those that hold on every processor, so that the folder can be carried to another machine.

    Raises:
        EncoderError: if ONNX Runtime doesn't take the graph.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
    options.optimized_model_filepath = str(folder / MODEL_FILE)
    options.add_session_config_entry("session.optimized_model_external_initializers_file_name", WEIGHTS_FILE)
    options.add_session_config_entry(
        "session.optimized_model_external_initializers_min_size_in_bytes", str(_LEAST_EXTERNAL)
    )
    try:
        onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except Exception as fault:  # see `OnnxEncoder.open`
        raise EncoderError(f"{graph}: can't be optimised: {str(fault).splitlines()[0]}") from None


def read_identity(folder: Path) -> EncoderIdentity:
    """Return which model an exported encoder is, without opening it.

    Raises:
        EncoderError: if the folder doesn't hold one.
    """
    try:
        return EncoderIdentity(**json.loads((folder / IDENTITY_FILE).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError) as fault:
        raise EncoderError(f"{folder}: no exported encoder ({fault})") from None


def write_identity(folder: Path, identity: EncoderIdentity) -> None:
    """Write what the exported encoder is."""
    (folder / IDENTITY_FILE).write_text(json.dumps(asdict(identity), indent=2) + "\n", encoding="utf-8")
