"""The embedding cache: what was computed from a text once is kept by its content, for all builds and index folders.

One SQLite file that several processes may use at once. It is an aid, never a need: whatever is wrong with it, the
build goes on without it and says so. A build never prunes what it may still need: entries are pruned, those
unused for longest first, when the cache is closed, so that a build that was killed finds all that it had embedded.
"""

from __future__ import annotations

import hashlib
import logging
import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

log = logging.getLogger(__name__)
CACHE_FILE = "embeddings.sqlite"
_SCHEMA = 1  # raised whenever the tables change: an older file is dropped
_BUSY = 60.0  # seconds to wait for another process that is writing
_FRESH = 3600.0  # seconds within which a use isn't noted again: a build of known cards then writes nothing
_MOST_NAMES = 500  # placeholders in one statement; old builds of SQLite take 999
_CHECK = 16  # bytes of digest before each content
_TABLES = """
CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, bytes INTEGER NOT NULL, used REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS contents (key BLOB PRIMARY KEY, content BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS by_use ON entries (used);
"""


def content_key(*parts: str | bytes) -> bytes:
    """Return a key of 32 bytes for parts of text; no two lists of parts share one."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    return digest.digest()


@dataclass(slots=True)
class EmbeddingCache:
    """Byte strings by key. Without a folder it holds nothing and takes nothing. For one thread.

    Attributes:
        folder: where the file stands.
        limit: the most bytes of contents that are left when it is closed.
        notices: what the user must know.
    """

    folder: Path | None
    limit: int
    notices: list[str] = field(default_factory=list)
    _connection: sqlite3.Connection | None = None

    @classmethod
    def open(cls, folder: Path | None, *, limit: int) -> EmbeddingCache:
        """Open the cache of a folder, made if need be; a damaged one is dropped and begun anew."""
        cache = cls(folder, limit)
        if folder is not None:
            try:
                cache._connection = _connect(folder / CACHE_FILE)
            except sqlite3.OperationalError as fault:  # barred, read-only, a full disk, or held for too long
                cache._go_without(str(fault))
            except sqlite3.DatabaseError as fault:
                cache._begin_anew(fault)
            except OSError as fault:
                cache._go_without(fault.strerror or str(fault))
        return cache

    def __enter__(self) -> Self:
        """Return the cache itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the cache; it is pruned unless an error cut the work short."""
        self.close(prune=kind is None)

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Return the contents of those keys that are there and whole."""
        wanted = list(dict.fromkeys(keys))
        found: dict[bytes, bytes] = {}
        for start in range(0, len(wanted), _MOST_NAMES):
            found |= self._get(wanted[start : start + _MOST_NAMES])
        return found

    def put(self, contents: Mapping[bytes, bytes]) -> None:
        """Keep contents, all or none of them."""
        if self._connection is None or not contents:
            return
        now = time.time()
        try:
            with self._connection:
                self._connection.executemany(
                    "INSERT OR REPLACE INTO entries VALUES (?, ?, ?)",
                    [(key, len(content), now) for key, content in contents.items()],
                )
                self._connection.executemany(
                    "INSERT OR REPLACE INTO contents VALUES (?, ?)",
                    [(key, _check_of(content) + content) for key, content in contents.items()],
                )
        except sqlite3.Error as fault:
            self._failed(fault)

    def size(self) -> int:
        """Return how many bytes of contents there are."""
        if self._connection is None:
            return 0
        return int(self._connection.execute("SELECT COALESCE(SUM(bytes), 0) FROM entries").fetchone()[0])

    def close(self, *, prune: bool = True) -> None:
        """Close the file, after pruning it to its limit."""
        if self._connection is None:
            return
        try:
            if prune:
                self._prune()
        except sqlite3.Error as fault:
            self._failed(fault)
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _get(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        if self._connection is None:
            return {}
        places = ",".join("?" * len(keys))
        try:
            rows = self._connection.execute(
                f"SELECT key, CAST(content AS BLOB) FROM contents WHERE key IN ({places})", keys
            )
            stored = rows.fetchall()
            whole = {key: kept[_CHECK:] for key, kept in stored if kept[:_CHECK] == _check_of(kept[_CHECK:])}
            if len(whole) < len(stored):
                self.notices.append(f"{len(stored) - len(whole)} damaged entries of the embedding cache were made anew")
            stale = time.time() - _FRESH
            with self._connection:
                self._connection.execute(
                    f"UPDATE entries SET used = ? WHERE used < ? AND key IN ({places})",
                    (time.time(), stale, *keys),
                )
        except sqlite3.Error as fault:
            self._failed(fault)
            return {}
        return whole

    def _prune(self) -> None:
        """Remove the entries that were unused for longest until the rest is within the limit."""
        if self._connection is None:
            return
        excess = self.size() - self.limit
        if excess <= 0:
            return
        unwanted: list[tuple[bytes]] = []
        for key, size in self._connection.execute("SELECT key, bytes FROM entries ORDER BY used, key"):
            if excess <= 0:
                break
            unwanted.append((key,))
            excess -= size
        with self._connection:
            self._connection.executemany("DELETE FROM contents WHERE key = ?", unwanted)
            self._connection.executemany("DELETE FROM entries WHERE key = ?", unwanted)
        self._connection.execute("PRAGMA incremental_vacuum").fetchall()

    def _failed(self, fault: sqlite3.Error) -> None:
        """Go on after an error: without the cache if it is in use or can't be written, with a new one if damaged."""
        if isinstance(fault, sqlite3.OperationalError):
            self._go_without(str(fault))
        else:
            self._begin_anew(fault)

    def _go_without(self, reason: str) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self.notices.append(f"the embedding cache in {self.folder} can't be used ({reason}): nothing is kept for later")

    def _begin_anew(self, fault: sqlite3.Error) -> None:
        if self.folder is None:
            return
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self.notices.append(f"the embedding cache in {self.folder} was damaged ({fault}) and is begun anew")
        try:
            for name in (CACHE_FILE, f"{CACHE_FILE}-wal", f"{CACHE_FILE}-shm"):
                (self.folder / name).unlink(missing_ok=True)
            self._connection = _connect(self.folder / CACHE_FILE)
        except (OSError, sqlite3.Error) as second:
            self._go_without(str(second))


def _connect(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path, timeout=_BUSY)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version not in (0, _SCHEMA):
            raise sqlite3.DatabaseError(f"its version is {version}, this program's is {_SCHEMA}")
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.execute("PRAGMA synchronous = NORMAL")  # a power cut may cost the last entries, not the file
        if version == 0:
            connection.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version = {_SCHEMA}; COMMIT;")
    except sqlite3.Error:
        with suppress(sqlite3.Error):
            connection.close()
        raise
    return connection


def _check_of(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_CHECK).digest()
