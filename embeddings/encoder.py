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

from ale_semantic.embeddings.registry import ModelSpec, file_digest, find_model, locate
from ale_semantic.errors import EncoderError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

Vectors = NDArray[np.float32]
TOKENIZER_FILE = "tokenizer.json"
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

    def token_spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the character span of each token of each text, nothing cut off, no special tokens."""


class SentenceTransformerEncoder:
    """A sentence-transformers model from a local folder."""

    def __init__(self, model: SentenceTransformer, identity: EncoderIdentity, folder: Path) -> None:
        """Keep a loaded model."""
        self.model = model
        self.folder = folder
        self._identity = identity

    @classmethod
    def load(cls, name: str, *, device: str | None = None) -> SentenceTransformerEncoder:
        """Load a model by registry name, Hub name or folder.

        Raises:
            EncoderError: if it can't be found, fetched or loaded, or its weights aren't the registered ones.
        """
        spec = find_model(name)
        folder = locate(spec)
        from sentence_transformers import SentenceTransformer

        try:
            model = SentenceTransformer(str(folder), **_load_options(device))
        except (OSError, ValueError, KeyError, RuntimeError) as fault:
            raise EncoderError(f"{folder}: can't be loaded as a sentence-transformers model: {fault}") from None
        if spec.max_tokens:
            model.max_seq_length = spec.max_tokens
        return cls(model, _identity(spec, model, folder), folder)

    @property
    def identity(self) -> EncoderIdentity:
        """Return which model this is."""
        return self._identity

    def encode(self, texts: Sequence[str], kind: TextKind, *, progress: bool = False) -> Vectors:
        """Return one unit row a text, float32 of shape (n, dimension)."""
        if not texts:
            return np.zeros((0, self.identity.dimension), dtype=np.float32)
        vectors = self.model.encode(
            list(texts),
            prompt=self.identity.prefix(kind) or None,
            batch_size=32,
            show_progress_bar=progress,
            convert_to_numpy=True,
            normalize_embeddings=True,
        )
        return np.asarray(vectors, dtype=np.float32)

    def token_spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the character span of each token of each text."""
        return spans_of(load_tokenizer(self.folder), texts)


def load_tokenizer(folder: Path):  # type: ignore[no-untyped-def]  # tokenizers has no stubs
    """Return the folder's fast tokenizer, without padding or truncation.

    Raises:
        EncoderError: if the folder has none.
    """
    from tokenizers import Tokenizer

    path = folder / TOKENIZER_FILE
    if not path.is_file():
        raise EncoderError(f"{folder} has no {TOKENIZER_FILE}: save the model with a fast tokenizer")
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def spans_of(tokenizer, texts: Sequence[str]) -> list[list[tuple[int, int]]]:  # type: ignore[no-untyped-def]
    """Return the character span of each token of each text, without special tokens."""
    return [encoding.offsets for encoding in tokenizer.encode_batch(list(texts), add_special_tokens=False)]


def _load_options(device: str | None) -> dict[str, Any]:
    """Never reach out, never unpickle weights."""
    options = {"device": device or _best_device(), "local_files_only": True}
    return {**options, "model_kwargs": {"use_safetensors": True}}


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
        digest.update(f"{path.relative_to(folder)} {file_digest(path)}\n".encode())
    return digest.hexdigest()
