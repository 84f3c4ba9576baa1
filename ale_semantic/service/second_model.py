"""The encoder of an index's space for other languages, as a model of its own that texts can be embedded with."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field

from ale_semantic.embeddings.bundle import MANIFEST
from ale_semantic.embeddings.encoder import EncoderIdentity
from ale_semantic.embeddings.multilingual import ROLE
from ale_semantic.embeddings.nano_e5 import NANO_E5, nano_e5_is_there
from ale_semantic.engine import Engine

from .batching import BatchingEncoder
from .problems import NotReadyError


@dataclass(eq=False, slots=True)
class SecondModel:
    """Known by its identity; loaded by the first text that is embedded with it, or query in another language."""

    identity: EncoderIdentity
    _engine: Engine
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _encoder: BatchingEncoder | None = None
    _closed: bool = False

    @classmethod
    def of(cls, engine: Engine) -> SecondModel | None:
        """Return the second model of an index; None if it has none, or its package isn't installed."""
        folder = engine.ranker.space.folder
        if folder is None:
            return None
        manifest = json.loads((folder.parent.parent / MANIFEST).read_text(encoding="utf-8"))
        for entry in manifest["spaces"]:
            if ROLE in entry:
                identity = EncoderIdentity(**entry["encoder"])
                return cls(identity, engine) if identity.name != NANO_E5 or nano_e5_is_there() else None
        return None

    def encoder(self) -> BatchingEncoder:
        """Return the encoder, in batches that queries in other languages wait for one at a time.

        Raises:
            AleSemanticError: if it can't be loaded.
        """
        with self._lock:
            if self._closed:
                raise NotReadyError("the encoder was closed")
            if self._encoder is None:
                ranker = self._engine.router.multilingual.get()
                assert ranker is not None  # the manifest names its space
                self._encoder = BatchingEncoder(ranker.vectors.encoder)
            return self._encoder

    def close(self) -> None:
        """Stop the encoder's thread."""
        with self._lock:
            self._closed = True
            if self._encoder is not None:
                self._encoder.close()
