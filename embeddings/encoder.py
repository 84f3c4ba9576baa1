"""What an encoder is, and the one that sentence-transformers serves."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ale_semantic.errors import EncoderError

from .batches import encode_in_batches
from .digests import known_digest
from .registry import ModelSpec, find_model, locate
from .tokens import TOKENIZER_FILE, TextTokenizer
from .vectors import TokenVectors, Vectors

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

__all__ = ["Encoder", "EncoderIdentity", "SentenceTransformerEncoder", "TextKind", "TokenVectors", "Vectors"]
_IDENTITY_FILES = ("*.safetensors", "*/*.safetensors", "config.json", "*/config.json", "modules.json", TOKENIZER_FILE)


class TextKind(StrEnum):
    """What a text is to the model: some are trained with other prefixes for queries and documents."""

    QUERY = "query"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class EncoderIdentity:
    """Which model made a vector; two encoders with equal identities make equal vectors."""

    name: str
    revision: str
    digest: str
    dimension: int
    max_tokens: int
    query_prefix: str = ""
    document_prefix: str = ""

    def prefix(self, kind: TextKind) -> str:
        """Return the text that stands before a query or a document."""
        return self.query_prefix if kind is TextKind.QUERY else self.document_prefix

    @property
    def key(self) -> str:
        """Return a short digest of the whole identity, fit for a file name."""
        return hashlib.sha256(repr(sorted(asdict(self).items())).encode()).hexdigest()[:16]


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

    def __init__(self, model: SentenceTransformer, identity: EncoderIdentity, folder: Path) -> None:
        """Keep a loaded model."""
        self.model = model
        self.folder = folder
        self._identity = identity
        self._tokenizer = TextTokenizer.open(folder)

    @classmethod
    def load(cls, name: str, *, device: str | None = None) -> SentenceTransformerEncoder:
        """Load a model by registry name, Hub name or folder.

        Raises:
            EncoderError: if it can't be found, fetched or loaded, or its weights aren't the registered ones.
        """
        spec = find_model(name)
        folder = locate(spec)
        chosen = checked_device(device) or _best_device()
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
        return cls(model, _identity(spec, model, folder), folder)

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


def matches(name: str, identity: EncoderIdentity) -> bool:
    """Tell, without loading it, whether the model of a name is the one of an identity.

    Raises:
        EncoderError: if the model can't be found.
    """
    spec = find_model(name)
    same = (spec.name, spec.revision, spec.dimension or identity.dimension, spec.max_tokens or identity.max_tokens) == (
        identity.name,
        identity.revision,
        identity.dimension,
        identity.max_tokens,
    )
    return same and _weights_digest(locate(spec)) == identity.digest


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


def _best_device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _identity(spec: ModelSpec, model: SentenceTransformer, folder: Path) -> EncoderIdentity:
    dimension = model.get_embedding_dimension()
    if not dimension or (spec.dimension and dimension != spec.dimension):
        raise EncoderError(f"{spec.name}: the model has {dimension} dimensions, the registry says {spec.dimension}")
    prompts = model.prompts or {}
    return EncoderIdentity(
        name=spec.name,
        revision=spec.revision,
        digest=_weights_digest(folder),
        dimension=dimension,
        max_tokens=int(model.max_seq_length or 512),
        query_prefix=spec.query_prefix or prompts.get("query") or "",
        document_prefix=spec.document_prefix or prompts.get("document") or prompts.get("passage") or "",
    )


def _weights_digest(folder: Path) -> str:
    """Return one digest over all weight files and module settings of the model."""
    names = {path for pattern in _IDENTITY_FILES for path in folder.glob(pattern)}
    digest = hashlib.sha256()
    for path in sorted(names):
        digest.update(f"{path.relative_to(folder)} {known_digest(path)}\n".encode())
    return digest.hexdigest()
