"""Arrays on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


def mapped(path: Path) -> NDArray[Any]:
    """Return an array file's content, read from the disk only where it is looked at; nothing is ever unpickled.

    A plain array over the mapping: NumPy's own memmap class makes each small step several times slower.

    Raises:
        OSError, ValueError: if the file is missing or no array file.
    """
    return np.asarray(np.load(path, allow_pickle=False, mmap_mode="r"))
