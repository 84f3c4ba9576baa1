"""Arrays on disk: mapped, and fetched ahead of their use."""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ale_semantic.arrays import fetch_soon, mapped


class Told:
    """A mapping that notes what the system is told, and tells it."""

    def __init__(self, file: Any) -> None:
        self.file, self.parts = file, list[tuple[int, int]]()

    def madvise(self, option: int, start: int, length: int) -> None:
        assert option == mmap.MADV_WILLNEED
        self.file.madvise(option, start, length)
        self.parts.append((start, length))


@pytest.mark.skipif(not hasattr(mmap, "MADV_WILLNEED"), reason="this system can't be told what is read next")
def test_each_row_is_fetched_whole_by_its_pages(tmp_path: Path) -> None:
    rows = np.arange(3000 * 384, dtype=np.float32).reshape(3000, 384)
    np.save(tmp_path / "rows.npy", rows)
    array = mapped(tmp_path / "rows.npy")
    base: Any = array.base
    base._mmap = told = Told(base._mmap)
    wanted = [0, 7, 1500, 2999]
    fetch_soon(array, wanted)
    content = (tmp_path / "rows.npy").read_bytes()
    for row, (start, length) in zip(wanted, told.parts, strict=True):
        assert start % mmap.PAGESIZE == 0
        assert rows[row].tobytes() in content[start : start + length]
        assert length < mmap.PAGESIZE + rows[row].nbytes
    assert np.array_equal(array[wanted], rows[wanted])


def test_an_array_in_memory_needs_no_fetching() -> None:
    fetch_soon(np.ones((4, 3), dtype=np.float32), [0, 3])
