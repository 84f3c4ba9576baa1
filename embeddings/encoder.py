"""What an encoder is, and the one that sentence-transformers serves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ale_semantic.errors import EncoderError

from .batches import encode_in_batches
from .identity import EncoderIdentity, TextKind
from .model_source import ModelSource, place_of, prefixes, settings_digest, weights_digest
from .registry import ModelSpec, find_model, locate
from .tokens import TextTokenizer
from .vectors import TokenVectors, Vectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

__all__ = ["Encoder", "EncoderIdentity", "SentenceTransformerEncoder", "TextKind", "TokenVectors", "Vectors"]


class Encoder(Protocol):
    """From texts to unit vectors."""

    @property
    def identity(self) -> EncoderIdentity:
        """Return which model this is."""

    def encode(self, texts: Sequence[str], kind: TextKind, *, progress: bool = False) -> Vectors:
        """Return one unit row a text, float32 of shape (n, dimension)."""

    def encode_tokens(
        self, texts: Sequence[str], kind: TextKind, *, progress: bool = False
    ) -> tuple[Vectors, list[TokenVectors]]:
        """Return what `encode` does and, from the same pass, each text's words in context."""

    def token_spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the character span of each token of each text, nothing cut off, no special tokens."""


class SentenceTransformerEncoder:
    """A sentence-transformers model from a local folder."""

    def __init__(
        self, model: SentenceTransformer, identity: EncoderIdentity, folder: Path, source: ModelSource
    ) -> None:
        """Keep a loaded model."""
        self.model = model
        self.folder = folder
        self.source = source
        self._identity = identity
        self._tokenizer = TextTokenizer.open(folder)

    @classmethod
    def load(cls, name: str, *, device: str | None = None) -> SentenceTransformerEncoder:
        """Load a model by registry name, Hub name or folder.

        Args:
            name: of the model.
            device: `cpu`, `cuda` ...; the CPU if none is asked for.

        Raises:
            EncoderError: if it can't be found, fetched or loaded, or its weights aren't the registered ones.
        """
        spec = find_model(name)
        folder = locate(spec)
        chosen = checked_device(device) or "cpu"
        from sentence_transformers import SentenceTransformer

        try:
            model = SentenceTransformer(str(folder), **_load_options(chosen))
        except Exception as fault:  # a folder can be wrong in as many ways as the libraries beneath have errors
            reason = (str(fault).strip() or type(fault).__name__).splitlines()[0]
            raise EncoderError(f"{folder}: can't be loaded as a sentence-transformers model: {reason}") from None
        model.eval()
        model.truncate_dim = None  # as some models ask: their words in context would then be of another space
        if is_gpu(chosen):
            model.half()  # half the memory, several times the speed; what is embedded differs by some 1e-3
        if spec.max_tokens:
            model.max_seq_length = spec.max_tokens
        source = ModelSource(place_of(spec), settings_digest(folder))
        return cls(model, _identity(spec, model, folder), folder, source)

    @property
    def identity(self) -> EncoderIdentity:
        """Return which model this is."""
        return self._identity

    @property
    def device(self) -> str:
        """Return the kind of device the model runs on."""
        return str(self.model.device.type)

    @property
    def precision(self) -> str:
        """Return the type of number that the model computes with."""
        return "float16" if is_gpu(self.device) else "float32"

    def encode(self, texts: Sequence[str], kind: TextKind, *, progress: bool = False) -> Vectors:
        """Return one unit row a text, float32 of shape (n, dimension)."""
        return self.encode_tokens(texts, kind, progress=progress)[0]

    def encode_tokens(
        self, texts: Sequence[str], kind: TextKind, *, progress: bool = False
    ) -> tuple[Vectors, list[TokenVectors]]:
        """Return one unit row a text and each text's words in context."""
        prefix = self.identity.prefix(kind)
        inputs = self._tokenizer.inputs(texts, prefix=prefix, max_tokens=self.identity.max_tokens)
        return encode_in_batches(inputs, self.identity.dimension, self._run)

    def token_spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the character span of each token of each text."""
        return self._tokenizer.spans(texts)

    def _run(self, tokens: NDArray[np.int64], mask: NDArray[np.int64]) -> tuple[Vectors, Vectors]:
        import torch

        given = {"input_ids": tokens, "attention_mask": mask}
        with torch.inference_mode():
            found: Any = self.model({name: torch.from_numpy(one).to(self.model.device) for name, one in given.items()})
        vectors = found["sentence_embedding"].float().cpu().numpy()
        states = found["token_embeddings"].float().cpu().numpy()
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True), states


def checked_device(device: str | None) -> str | None:
    """Return the device that is asked for, after making sure that it is there; None for none.

    Raises:
        EncoderError: if it isn't there, or is no device at all.
    """
    if device is None or device == "cpu":
        return device
    import torch

    try:
        kind = torch.device(device)
    except RuntimeError:
        raise EncoderError(f"unknown device {device!r}: give cpu, cuda, cuda:1 or mps, or leave it out") from None
    if kind.type == "cpu":
        return "cpu"
    there = (kind.type == "cuda" and torch.cuda.is_available()) or (
        kind.type == "mps" and torch.backends.mps.is_available()
    )
    if not there:
        raise EncoderError(
            f"device {device!r} is asked for, but torch {torch.__version__} finds none here: leave --device out to use "
            f"the processor, or install a driver and a build of torch for {kind.type}"
        )
    if kind.type == "cuda" and (kind.index or 0) >= torch.cuda.device_count():
        raise EncoderError(
            f"device {device!r} is asked for, but the last one here is cuda:{torch.cuda.device_count() - 1}"
        )
    return device


def is_gpu(device: str) -> bool:
    """Tell whether half precision pays on a device."""
    return device.partition(":")[0] in ("cuda", "mps")


def _load_options(device: str) -> dict[str, Any]:
    """Never reach out, never unpickle weights."""
    return {"device": device, "local_files_only": True, "model_kwargs": {"use_safetensors": True}}


def _identity(spec: ModelSpec, model: SentenceTransformer, folder: Path) -> EncoderIdentity:
    dimension = model.get_embedding_dimension()
    if not dimension or (spec.dimension and dimension != spec.dimension):
        raise EncoderError(f"{spec.name}: the model has {dimension} dimensions, the registry says {spec.dimension}")
    query, document = prefixes(spec, folder)
    return EncoderIdentity(
        name=spec.name,
        revision=spec.revision,
        digest=weights_digest(folder),
        dimension=dimension,
        max_tokens=int(model.max_seq_length or 512),
        query_prefix=query,
        document_prefix=document,
    )
