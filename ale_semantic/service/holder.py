"""The index that is open now: leased to readers, swapped under them when a new one appears."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ale_semantic.embeddings.bundle import current_root
from ale_semantic.errors import AleSemanticError

from .open_index import OpenIndex
from .problems import NotReadyError

if TYPE_CHECKING:
    from .config import ServiceConfig
    from .telemetry import Telemetry

__all__ = ["EngineHolder", "OpenIndex"]
_log = logging.getLogger(__name__)


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
