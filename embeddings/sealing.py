"""Bringing the files of a generation to the disk, with their digests, before anything points to them."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from .digests import file_digest, file_state
from .verification import Inode, inode_of

_DISK_FAULTS = frozenset({errno.ENOSPC, errno.EIO, errno.EFBIG, getattr(errno, "EDQUOT", errno.ENOSPC)})
_SEALERS = 16  # files that are taken side by side: a disk writes many sooner at once than one after the other


class Sealing:
    """Brings the files of a generation to the disk and digests them, side by side, while others are still written."""

    def __init__(self, root: Path, hashed: Mapping[Inode, str] | None = None) -> None:
        """Begin with none.

        Args:
            root: the generation's folder.
            hashed: digests of files that this process has just read, for those that are linked into the generation.
        """
        self._root = root
        self._hashed = hashed or {}
        self._pool = ThreadPoolExecutor(_SEALERS, "seal")
        self._begun: dict[Path, Future[dict[str, Any] | None]] = {}

    def begin(self, folder: Path) -> None:
        """Take the files in a folder that nobody writes any more."""
        for path in folder.rglob("*"):
            if path.is_file():
                self._begin(path)

    def finish(self) -> dict[str, Any]:
        """Take all the rest, and return the manifest's entry of each file once everything is on the disk.

        Raises:
            OSError: if the disk is full or broken.
        """
        every = sorted(self._root.rglob("*"))
        for path in every:
            self._begin(path)
        entries = {path.relative_to(self._root).as_posix(): self._begun[path].result() for path in every}
        return {name: entry for name, entry in entries.items() if entry is not None}

    def close(self) -> None:
        """End, also of a build that failed."""
        self._pool.shutdown(cancel_futures=True)

    def _begin(self, path: Path) -> None:
        if path not in self._begun:
            self._begun[path] = self._pool.submit(self._sealed, path)

    def _sealed(self, path: Path) -> dict[str, Any] | None:
        """Bring a file or folder to the disk; return the manifest's entry of a file."""
        sync(path)
        if not path.is_file():
            return None
        state = file_state(path)
        linked = self._hashed.get(inode_of(state)) if path.stat().st_nlink > 1 else None
        return {"sha256": linked or file_digest(path), "bytes": state[0]}


def sync(path: Path) -> None:
    """Flush a file or folder to the disk, where the system can.

    Raises:
        OSError: if the disk is full or broken.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return  # some systems don't open folders
    try:
        os.fsync(descriptor)
    except OSError as fault:
        if fault.errno in _DISK_FAULTS:
            raise
        # Else a file system that doesn't sync folders, or read-only files: the rename is atomic all the same.
    finally:
        os.close(descriptor)
