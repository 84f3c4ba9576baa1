"""Array files that grow: rows are appended, and the whole never stands in memory."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ale_semantic.arrays import mapped


class GrowingArray:
    """A `.npy` file of rows of one width, or of single values; whole once closed."""

    def __init__(self, path: Path, dtype: DTypeLike, width: int | None = None) -> None:
        """Begin a file.

        Args:
            path: where it stands.
            dtype: the type of its values.
            width: values in a row; None for single values.
        """
        self.path = path
        self.rows = 0
        self._dtype = np.dtype(dtype)
        self._tail = () if width is None else (width,)
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("wb")
        self._header()
        self._start = self._file.tell()

    def __enter__(self) -> Self:
        """Return the array itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows at the end."""
        if rows.shape[1:] != self._tail:
            raise ValueError(f"{self.path.name}: rows of shape {rows.shape[1:]}, not {self._tail}")
        self._file.write(np.ascontiguousarray(rows, dtype=self._dtype).tobytes())
        self.rows += len(rows)

    def close(self) -> None:
        """Write how many rows there are, and close the file."""
        if self._file.closed:
            return
        self._file.seek(0)
        self._header()
        if self._file.tell() != self._start:  # NumPy leaves room for the first axis to grow, up to 21 digits
            raise ValueError(f"{self.path}: the header outgrew its room")
        self._file.close()

    def finish(self) -> NDArray[Any]:
        """Close the file and return its content, mapped."""
        self.close()
        return mapped(self.path)

    def _header(self) -> None:
        header = {"descr": np.lib.format.dtype_to_descr(self._dtype), "fortran_order": False}
        np.lib.format.write_array_header_1_0(self._file, {**header, "shape": (self.rows, *self._tail)})
