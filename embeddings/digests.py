"""Digests of files, and when the file system vouches for one that is known.

Nobody can change a file without a change of its inode or of its time of change, which the system alone sets. A digest
is not taken on trust if the file was changed so shortly before it was hashed that the clock can't tell a later change
apart, or after a week, for disks that rot.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from ale_semantic.errors import EncoderError
from ale_semantic.settings import CacheSettings

SETTLED = 2_000_000_000  # ns: the coarsest clock of a file system in use
TRUSTED = 7 * 86_400 * 1_000_000_000  # ns: how long a record holds
# Bytes that are read at once. A thread that hashes beside others asks for the interpreter twice a part, and waits up to
# 5 ms for it where they are busy: with the parts of 256 kB of `hashlib.file_digest`, twenty times as long as alone.
_PART = 8 << 20
RECORD = "digests.json"  # of the files of models, in the folder of the embedding cache
_recording: ContextVar[bool] = ContextVar("recording", default=True)


@contextmanager
def recording(wanted: bool) -> Iterator[None]:
    """Let `known_digest` keep and believe its record, or do without one and hash each file, in the body."""
    token = _recording.set(wanted)
    try:
        yield
    finally:
        _recording.reset(token)


def file_digest(path: Path) -> str:
    """Return a file's SHA-256 in hex.

    Raises:
        EncoderError: if the file can't be read.
    """
    digest = hashlib.sha256()
    try:
        with path.open("rb", buffering=0) as stream:
            part = memoryview(bytearray(min(_PART, max(1, os.fstat(stream.fileno()).st_size))))
            while count := stream.readinto(part):
                digest.update(part[:count])
    except OSError as fault:
        raise EncoderError(f"{path}: can't be read: {fault.strerror}") from None
    return digest.hexdigest()


def file_state(path: Path) -> list[int]:
    """Return what the file system says of a file: size, times of writing and of change, inode, device.

    Raises:
        OSError: if it can't be looked at.
    """
    state = path.stat()
    return [state.st_size, state.st_mtime_ns, state.st_ctime_ns, state.st_ino, state.st_dev]


def is_settled(state: list[int], now: int) -> bool:
    """Tell whether a file was changed so long ago that a later change shows."""
    return max(state[1:3]) < now - SETTLED


def known_digest(path: Path) -> str:
    """Return what `file_digest` does, without reading a large file that is as it was when it was read last.

    Raises:
        EncoderError: if the file can't be read.
    """
    if not _recording.get():
        return file_digest(path)
    now = time.time_ns()
    try:
        state = file_state(path)
    except OSError as fault:
        raise EncoderError(f"{path}: can't be read: {fault.strerror}") from None
    place = CacheSettings.from_environment().folder / RECORD
    known = _read(place)
    name = str(path.absolute())
    if name in known and known[name][0] == state and 0 <= now - known[name][1] <= TRUSTED:
        return known[name][2]
    digest = file_digest(path)
    if is_settled(state, now):
        _write(place, known | {name: (state, now, digest)})
    return digest


def _read(place: Path) -> dict[str, tuple[list[int], int, str]]:
    """Return the record; empty if it is absent or damaged."""
    try:
        stored = json.loads(place.read_text(encoding="utf-8"))
        return {name: (list(state), int(hashed), str(digest)) for name, (state, hashed, digest) in stored.items()}
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return {}


def _write(place: Path, known: dict[str, tuple[list[int], int, str]]) -> None:
    """Keep a record, where the folder can be written to."""
    temporary = place.with_name(f"{place.name}.{os.getpid()}")
    with suppress(OSError):
        place.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(known), encoding="utf-8")
        temporary.replace(place)
