"""Arrays on disk."""

from __future__ import annotations

import threading
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


def archive(path: Path) -> dict[str, NDArray[Any]]:
    """Return all arrays of an archive by name; nothing is ever unpickled.

    Raises:
        OSError, ValueError: if the file is missing or no archive.
    """
    with _reading, np.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}
