"""Temporary folders that a killed process leaves behind: who makes one removes those of the dead beside it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

LOCK = "in-use"  # held as long as the folder's maker lives
_YOUNG = 5.0  # seconds in which a folder's maker may just be about to take its lock
_OLD = 24 * 3600.0  # seconds after which a folder without a lock is of a process that is gone


@contextmanager
def held_folder(parent: Path, prefix: str) -> Iterator[Path]:
    """Give a temporary folder, removed on leaving; those of the same prefix whose makers were killed are removed too.

    Args:
        parent: the folder for it, which must be there.
        prefix: what its name begins with.

    Raises:
        OSError: if it can't be made.
    """
    import filelock

    remove_dead(parent, prefix)
    folder = Path(mkdtemp(dir=parent, prefix=prefix))
    lock = filelock.FileLock(folder / LOCK, thread_local=False)
    try:
        with suppress(OSError, NotImplementedError):  # a file system without locks: its age tells instead
            lock.acquire(timeout=0)
        yield folder
    finally:
        lock.release()
        shutil.rmtree(folder, ignore_errors=True)


def remove_dead(parent: Path, prefix: str) -> None:
    """Remove folders of a prefix that nobody uses: whose lock is free, or which have none and are a day old."""
    now = time.time()
    with suppress(OSError):
        for folder in [path for path in parent.iterdir() if path.name.startswith(prefix)]:
            with suppress(OSError):
                if folder.is_dir() and not folder.is_symlink() and _is_dead(folder, now):
                    shutil.rmtree(folder, ignore_errors=True)


def _is_dead(folder: Path, now: float) -> bool:
    import filelock

    age = now - folder.stat().st_mtime
    if not (folder / LOCK).exists():
        return age > _OLD
    if age < _YOUNG:
        return False
    lock = filelock.FileLock(folder / LOCK, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        return False
    except (OSError, NotImplementedError):
        return age > _OLD
    lock.release()
    return True
