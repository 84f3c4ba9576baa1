"""The index that is open now: leased to readers, swapped under them when a new one appears."""

from __future__ import annotations

import hashlib
import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ale_semantic import __version__
from ale_semantic.embeddings.bundle import ENCODER, current_root, open_generation
from ale_semantic.embeddings.onnx_encoder import MODEL_FILE
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.engine import Engine
from ale_semantic.errors import AleSemanticError, BundleError
from ale_semantic.spelling import Speller

from .batching import BatchingEncoder
from .problems import NotReadyError
from .second_model import SecondModel
from .vectors import ServedVectors

if TYPE_CHECKING:
    from .config import ServiceConfig
    from .telemetry import Telemetry

_log = logging.getLogger(__name__)
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
        return cls(engine, generation, etag, encoder, vectors, weights, time.time(), SecondModel.of(engine))


@dataclass(eq=False, slots=True)
class _Held:
    """An open index and how many readers it has."""

    index: OpenIndex
    readers: int = 0
    retired: bool = False


class EngineHolder:
    """Holds the open index; readers lease it, and an index that was replaced goes when its last reader is done."""

    def __init__(
        self,
        folder: Path,
        config: ServiceConfig,
        telemetry: Telemetry,
        index: OpenIndex,
        *,
        model: str | None = None,
    ) -> None:
        """Hold an index that is open already; `open` is the usual way."""
        self.folder = folder
        self._model = model
        self._config = config
        self._telemetry = telemetry
        self._held = _Held(index)
        self._retired: list[_Held] = []
        self._lock = threading.Lock()
        self._reloading = threading.Lock()
        self._refused: str | None = None  # what couldn't be opened; the watch doesn't try it again
        self._problem = ""
        self._stop = threading.Event()
        self._watcher: threading.Thread | None = None
        self._closed = False

    @classmethod
    def open(
        cls, folder: Path, config: ServiceConfig, telemetry: Telemetry, *, model: str | None = None
    ) -> EngineHolder:
        """Open the index in a folder; with a model named, none of another model, now and later.

        Raises:
            AleSemanticError: if it can't be opened.
        """
        index = OpenIndex.open(folder, vector_cache=config.vector_cache, telemetry=telemetry, model=model)
        holder = cls(folder, config, telemetry, index, model=model)
        holder._told(index)
        return holder

    @property
    def current(self) -> OpenIndex:
        """Return the index that is open now, to look at; `lease` it to work with it."""
        return self._held.index

    @property
    def problem(self) -> str:
        """Return why the newest index couldn't be opened, blank if all is well; it may name paths."""
        return self._problem

    @property
    def open_indexes(self) -> int:
        """Return how many indexes are open: more than one while readers of an old one aren't done."""
        with self._lock:
            return 1 + len(self._retired)

    @contextmanager
    def lease(self) -> Iterator[OpenIndex]:
        """Give the index that is open now; it stays whole until the lease ends.

        Raises:
            NotReadyError: if the holder was closed.
        """
        with self._lock:
            if self._closed:
                raise NotReadyError("the service is stopping; try again soon")
            held = self._held
            held.readers += 1
        try:
            yield held.index
        finally:
            with self._lock:
                held.readers -= 1
                gone = held.retired and not held.readers
                if gone:
                    self._retired.remove(held)
            if gone:
                self._release(held)

    def reload(self) -> bool:
        """Open the index that the folder names now, if it is another one; the old one serves until then.

        Returns:
            Whether another generation was opened.

        Raises:
            AleSemanticError: if the new one can't be opened; the old one goes on serving.
        """
        with self._reloading:
            root = current_root(self.folder)
            if _name(root) == self.current.generation:
                self._refused, self._problem = None, ""
                self._telemetry.reload("unchanged")
                return False
            try:
                index = self._opened()
            except Exception as fault:
                self._refused = _name(root)
                self._problem = str(fault) if isinstance(fault, AleSemanticError) else type(fault).__name__
                self._telemetry.reload("failed", problem=self._problem)
                raise
            self._refused, self._problem = None, ""  # first: who sees the new index must find no complaint
            self._swap(index)
            self._telemetry.reload("opened")
            self._told(index)
            return True

    def look(self) -> None:
        """Open a newer index if the folder names one; while that can't be opened, the old one serves on.

        It costs a look at one small file, so it may be done before each question. What couldn't be opened isn't
        tried again.
        """
        name = _name(current_root(self.folder))
        # The one that is open is looked at again only to take a complaint back: it was put in place of a bad one.
        if name == self._refused or (name == self.current.generation and not self._problem):
            return
        try:
            self.reload()
        except AleSemanticError:
            return  # `reload` has told it
        except Exception:  # a bug: the old index serves on
            _log.exception("the new index can't be opened")

    def watch(self) -> None:
        """Look for a new index every `watch_seconds` on a thread of its own, until `close`."""
        if self._config.watch_seconds and self._watcher is None:
            self._watcher = threading.Thread(target=self._watch, name="ale-watch", daemon=True)
            self._watcher.start()

    def close(self) -> None:
        """Stop watching and lease nothing more; the index goes when its last reader is done."""
        self._stop.set()
        if self._watcher is not None:
            self._watcher.join()
        with self._reloading, self._lock:
            if self._closed:
                return
            self._closed = True
            held = self._held
            unread = self._retire(held)
        if unread:
            self._release(held)

    def _opened(self) -> OpenIndex:
        return OpenIndex.open(
            self.folder,
            vector_cache=self._config.vector_cache,
            telemetry=self._telemetry,
            earlier=self.current,
            model=self._model,
        )

    def _swap(self, index: OpenIndex) -> None:
        with self._lock:
            old, self._held = self._held, _Held(index)
            unread = self._retire(old)
        if unread:
            self._release(old)

    def _retire(self, held: _Held) -> bool:
        """Lease an index no more, and tell whether nobody reads it; the lock must be held."""
        held.retired = True
        if held.readers:
            self._retired.append(held)
        return not held.readers

    def _release(self, held: _Held) -> None:
        """Stop the encoders of an index that nobody reads, but for one that another index uses."""
        if held.index.second is not None:
            held.index.second.close()
        with self._lock:
            users = [one for one in (*self._retired, self._held) if one is not held]
            shared = any(one.index.encoder is held.index.encoder for one in users)
        if not shared:
            held.index.encoder.close()

    def _watch(self) -> None:
        while not self._stop.wait(self._config.watch_seconds):
            self.look()

    def _told(self, index: OpenIndex) -> None:
        identity = index.encoder.identity
        self._telemetry.index_opened(
            generation=index.generation,
            tasks=len(index.engine.catalogue),
            model=identity.name,
            revision=identity.revision,
            dimension=identity.dimension,
        )


def _name(root: Path | None) -> str:
    """Return the name of a generation, blank where the folder names none (any more)."""
    return root.name if root is not None else ""


def _generation(engine: Engine) -> str:
    """Return the name of the generation that an engine was opened from."""
    folder = engine.ranker.space.folder
    return folder.parent.parent.name if folder is not None else ""
