"""The vector backend: FAISS, exact, with the filter applied inside the scan."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ale_semantic.errors import BundleError

from .encoder import Vectors

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]


class VectorBackend(Protocol):
    """Where passage vectors live. FAISS is the first; a distributed engine can take its place."""

    def search(self, vectors: Vectors, k: int, mask: Mask | None) -> tuple[Vectors, Rows]:
        """Return cosines and rows of the best k for each query row, best first; -1 pads the rows."""

    def scores(self, vectors: Vectors, rows: Rows | None) -> Vectors:
        """Return the cosine of each query row with each of `rows` (None: all), shape (queries, rows)."""


class FaissBackend:
    """An exact inner-product index over unit rows."""

    def __init__(self, index: Any) -> None:
        """Keep a FAISS flat index."""
        import faiss

        self.index = index
        # A view of the index's own storage: no second copy of the vectors.
        # It must not outlive this object: FAISS frees the storage with the index.
        flat = faiss.rev_swig_ptr(index.get_xb(), index.ntotal * index.d)
        self.vectors: Vectors = flat.reshape(index.ntotal, index.d)

    @classmethod
    def of(cls, vectors: Vectors) -> FaissBackend:
        """Index unit rows of shape (n, dimension)."""
        import faiss

        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(np.ascontiguousarray(vectors, dtype=np.float32))
        return cls(index)

    @classmethod
    def open(cls, path: Path) -> FaissBackend:
        """Read an index file.

        Raises:
            BundleError: if it can't be read as one.
        """
        import faiss

        try:
            return cls(faiss.read_index(str(path)))
        except RuntimeError as fault:
            raise BundleError(f"{path}: not a readable FAISS index: {str(fault).splitlines()[0]}") from None

    def write(self, path: Path) -> None:
        """Write the index file.

        Raises:
            BundleError: if the disk doesn't take it.
        """
        import faiss

        try:
            faiss.write_index(self.index, str(path))
        except RuntimeError as fault:
            raise BundleError(f"{path}: can't be written: {str(fault).splitlines()[0]}") from None

    def search(self, vectors: Vectors, k: int, mask: Mask | None) -> tuple[Vectors, Rows]:
        """Return cosines and rows of the best k for each query row among the rows in the mask."""
        import faiss as untyped  # its stubs describe the C++ side, not the Python wrappers

        faiss: Any = untyped
        parameters = None
        if mask is not None:
            bits = np.packbits(mask, bitorder="little")
            parameters = faiss.SearchParameters(sel=faiss.IDSelectorBitmap(bits))
        cosines, rows = self.index.search(np.ascontiguousarray(vectors), k, params=parameters)
        return np.clip(cosines, -1.0, 1.0).astype(np.float32), rows

    def scores(self, vectors: Vectors, rows: Rows | None) -> Vectors:
        """Return the cosine of each query row with each of `rows`, within [-1, 1]."""
        chosen = self.vectors if rows is None else self.vectors[rows]
        return np.asarray(np.clip(vectors @ chosen.T, -1.0, 1.0), dtype=np.float32)
