"""Arrays on disk."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# NumPy parses an array file's header with `ast`, which in CPython 3.11 is not safe to use in two threads at once.
_reading = threading.Lock()


def mapped(path: Path) -> NDArray[Any]:
    """Return an array file's content, read from the disk only where it is looked at; nothing is ever unpickled.

    A plain array over the mapping: NumPy's own memmap class makes each small step several times slower.

    Raises:
        OSError, ValueError: if the file is missing or no array file.
    """
    with _reading:
        return np.asarray(np.load(path, allow_pickle=False, mmap_mode="r"))


def fetch_soon(array: NDArray[Any], rows: Iterable[int]) -> None:
    """Tell the system that rows of a mapped array are read next, so that the disk fetches them side by side.

    Without it each row that isn't in memory is waited for in turn. Nothing happens to an array in memory, or where
    the system can't be told.
    """
    base: Any = array
    while base is not None and not isinstance(base, np.memmap):
        base = getattr(base, "base", None)
    file: Any = getattr(base, "_mmap", None)
    if base is None or not hasattr(file, "madvise"):
        return
    first = base.offset % mmap.ALLOCATIONGRANULARITY
    size = array.strides[0]
    for row in rows:
        start = first + int(row) * size
        page = start - start % mmap.PAGESIZE
        file.madvise(mmap.MADV_WILLNEED, page, start + size - page)


def archive(path: Path) -> dict[str, NDArray[Any]]:
    """Return all arrays of an archive by name; nothing is ever unpickled.

    Raises:
        OSError, ValueError: if the file is missing or no archive.
    """
    with _reading, np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
