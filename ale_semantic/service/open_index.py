"""One generation of the index, open: its engine, the encoders, what names its content."""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ale_semantic import __version__
from ale_semantic.embeddings.bundle import ENCODER, open_generation
from ale_semantic.embeddings.onnx_encoder import MODEL_FILE
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.embeddings.truncation import fewest_dimensions
from ale_semantic.engine import Engine
from ale_semantic.errors import BundleError
from ale_semantic.spelling import Speller

from .batching import BatchingEncoder
from .second_model import SecondModel
from .vectors import ServedVectors

if TYPE_CHECKING:
    from .telemetry import Telemetry

_TRIES = 5  # a build may replace the generation while it is being opened
_WARM_UP = "anything at all"  # the first search loads what later ones find loaded


@dataclass(frozen=True, slots=True)
class OpenIndex:
    """One generation of the index with its engine; `etag` names its content and the program that reads it."""

    engine: Engine
    generation: str
    etag: str
    encoder: BatchingEncoder
    vectors: ServedVectors
    weights: str
    opened: float  # Unix seconds
    second: SecondModel | None = None  # of the space for other languages
    fewest_dimensions: int | None = None  # of the encoder's vectors, as the model's own settings say

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        vector_cache: int,
        telemetry: Telemetry | None = None,
        earlier: OpenIndex | None = None,
        model: str | None = None,
    ) -> OpenIndex:
        """Open the current generation.

        Args:
            folder: the index folder.
            vector_cache: how many query vectors are kept.
            telemetry: told of the use of the encoder.
            earlier: an index whose encoder is taken over if it is the same.
            model: refuse an index of another model.

        Raises:
            BundleError: if there is no index or it is damaged.
            BundleMismatchError: if it was built with another model, layout or format.
            EncoderError: if its encoder can't be loaded.
        """
        for _ in range(_TRIES):
            paths, manifest = open_generation(folder)
            space = VectorSpace.open(paths, manifest["spaces"][0])
            exported = f"{paths.space(space.identity.key).relative_to(paths.root).as_posix()}/{ENCODER}/{MODEL_FILE}"
            weights = str(manifest["files"].get(exported, {}).get("sha256", ""))
            same = earlier is not None and (earlier.encoder.identity, earlier.weights) == (space.identity, weights)
            # One thread a batch: a query is too small to be divided, and the other processors have searches to do.
            encoder = (
                earlier.encoder
                if earlier is not None and same
                else BatchingEncoder(space.load_encoder(workers=os.cpu_count() or 1))
            )
            try:
                engine = Engine.open(folder, encoder=encoder, model=model)
                if _generation(engine) == paths.root.name:
                    return cls.of(engine, encoder, vector_cache=vector_cache, telemetry=telemetry, weights=weights)
            except BaseException:
                if not same:
                    encoder.close()
                raise
            if not same:
                encoder.close()
        raise BundleError(f"{folder}: the index is replaced faster than it can be opened; wait for its builds to end")

    @classmethod
    def of(
        cls,
        engine: Engine,
        encoder: BatchingEncoder,
        *,
        vector_cache: int,
        telemetry: Telemetry | None = None,
        weights: str = "",
    ) -> OpenIndex:
        """Serve an engine that is open already, and ask it once so that all it needs is loaded.

        Args:
            engine: the engine, opened with the encoder.
            encoder: the encoder that all readers share.
            vector_cache: how many query vectors are kept.
            telemetry: told of the use of the encoder.
            weights: the digest of the exported encoder; blank where there is none.
        """
        vectors = ServedVectors(engine.ranker.space, encoder, kept=vector_cache, telemetry=telemetry)
        engine = replace(engine, vectors=vectors, speller=Speller(engine.ranker.lexical, vectors))
        engine.search(_WARM_UP, k=1)
        generation = _generation(engine)
        content = f"{generation} {engine.catalogue.fingerprint} {__version__}"
        etag = hashlib.sha256(content.encode()).hexdigest()[:32]
        second = SecondModel.of(engine)
        fewest = _fewest_dimensions(engine, encoder)
        return cls(engine, generation, etag, encoder, vectors, weights, time.time(), second, fewest)


def _generation(engine: Engine) -> str:
    """Return the name of the generation that an engine was opened from."""
    folder = engine.ranker.space.folder
    return folder.parent.parent.name if folder is not None else ""


def _fewest_dimensions(engine: Engine, encoder: BatchingEncoder) -> int | None:
    """Return how far vectors may be cut, as the model's settings say that this generation holds.

    An encoder that was taken over names the folder of the generation it came from, which may be gone.
    """
    space = engine.ranker.space.folder
    exported = space / ENCODER if space is not None else None
    folder = exported if exported is not None and exported.is_dir() else encoder.folder
    found: int | None = fewest_dimensions(folder)
    return found
