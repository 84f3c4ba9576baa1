"""The vector backend: exact scores on memory-mapped vectors, and planned searches in a FAISS index."""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ale_semantic.arrays import fetch_soon, mapped
from ale_semantic.errors import BundleError
from ale_semantic.plans import PlanKind, SearchPlan
from ale_semantic.products import ManyRows, dots

from .codes import Coder, inner_index, kind_of, make_index
from .encoder import Vectors
from .planner import Step, index_kind, plan_search

Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]
VECTORS, INDEX = "vectors.npy", "index.faiss"
# A search by codes takes so many more than are asked for, at least, and orders them by their true cosines.
LEAST_RESCORED, RESCORED = 300, 3.0
_MORE_THAN_MEMORY = 4 << 30  # bytes of vectors from which some are expected to lie on the disk alone
_SPARE = 64  # taken beyond k where cosines are exact but for the last bit
_WIDER, _WIDEST = 8, 10_000  # how much more is taken when equal cosines run beyond what was taken, and from where not
# Where so large a share passes, lists are scanned without the filter, for so many times as many rows as are needed,
# and what doesn't pass is left out afterwards: to look at the filter's bit of each row takes as long as to compare it.
# If fewer come than are needed, the filter lets pass what is far from the query: all lists are scanned with it.
LOOSE_SHARE, LOOSE_DEPTH = 0.25, 1.5
_TIE = 1e-6  # cosines that differ by less may be of equal vectors


@dataclass(frozen=True, slots=True)
class Found:
    """The best passages of each query row, best first, equal ones by row; shape (queries, k), padded by -1 and -inf."""

    cosines: Vectors
    rows: Rows
    plan: SearchPlan


class VectorBackend(Protocol):
    """Where passage vectors live. FAISS is the first; a distributed engine can take its place."""

    def search(self, vectors: Vectors, k: int, mask: Mask | None) -> Found:
        """Return the best k passages in the mask (None: all) for each query row."""

    def scores(self, vectors: Vectors, rows: Rows | None) -> Vectors:
        """Return the cosine of each query row with each of `rows` (None: all), shape (queries, rows)."""


class FaissBackend:
    """Unit rows with an index of the kind that their number asks for.

    `vectors` has shape (n, dimension), in memory or memory-mapped. The index is made or opened, and FAISS imported,
    by the first search that needs it.
    """

    def __init__(self, vectors: Vectors, *, path: Path | None = None, index: Any = None) -> None:
        """Keep vectors, and their index or the file that holds it."""
        self.vectors = vectors
        self._path = path
        self._index = index
        self._coder: Coder | None = None
        self._many = ManyRows(vectors)
        self._lock = threading.Lock()

    @classmethod
    def of(cls, vectors: Vectors, *, kind: PlanKind | None = None) -> FaissBackend:
        """Keep unit rows of shape (n, dimension); with a kind, index them now and as that."""
        rows = np.ascontiguousarray(vectors, dtype=np.float32)
        return cls(rows, index=make_index(rows, kind) if kind is not None else None)

    @classmethod
    def open(cls, folder: Path) -> FaissBackend:
        """Open the vectors and the index in a folder.

        Raises:
            BundleError: if they can't be read.
        """
        try:
            vectors = mapped(folder / VECTORS)
        except (OSError, ValueError) as fault:
            raise BundleError(f"{folder / VECTORS}: can't be read: {fault}") from None
        if vectors.ndim != 2 or vectors.dtype != np.float32:
            raise BundleError(f"{folder / VECTORS}: holds {vectors.dtype} of shape {vectors.shape}, not float32 rows")
        if not (folder / INDEX).is_file():
            raise BundleError(f"{folder / INDEX}: the file is missing")
        return cls(vectors, path=folder / INDEX)

    def write(self, folder: Path) -> None:
        """Write the vectors and their index into a folder.

        Raises:
            BundleError: if the disk doesn't take it.
        """
        try:
            np.save(folder / VECTORS, self.vectors, allow_pickle=False)
        except OSError as fault:
            raise BundleError(f"{folder / VECTORS}: can't be written: {fault}") from None
        write_index(folder, self.vectors)

    def search(self, vectors: Vectors, k: int, mask: Mask | None) -> Found:
        """Return the best k passages in the mask for each query row, by the plan that is cheapest for the mask."""
        total = len(self.vectors)
        passing = total if mask is None else int(np.count_nonzero(mask))
        step = plan_search(index_kind(total), total, passing)
        if step.kind is not PlanKind.GATHER:  # another version may have made another kind of index of so many rows
            step = plan_search(kind_of(self._opened()), total, passing)
        return self.run(step, np.ascontiguousarray(vectors, dtype=np.float32), k, mask, passing)

    def run(self, step: Step, vectors: Vectors, k: int, mask: Mask | None, passing: int) -> Found:
        """Return the best k passages by a given plan; `passing` is the count of the mask."""
        plan = SearchPlan(step.kind, len(self.vectors), passing)
        wanted = min(k, passing)
        if not wanted:
            found = [_Ranked.of(np.zeros(0, dtype=np.int64), self.vectors, query) for query in vectors]
        elif step.kind is PlanKind.GATHER:
            rows = np.arange(len(self.vectors)) if mask is None else np.flatnonzero(mask)
            found = [self._nearest(query, rows, wanted) for query in vectors]
            plan = replace(plan, rescored=passing)
        else:
            found, plan = self._scanned(step, plan, vectors, wanted, None if passing == plan.passages else mask)
        cosines = np.full((len(vectors), k), -np.inf, dtype=np.float32)
        rows = np.full((len(vectors), k), -1, dtype=np.int64)
        for place, own in enumerate(found):
            count = min(wanted, len(own.rows))
            cosines[place, :count], rows[place, :count] = own.cosines[:count], own.rows[:count]
        return Found(cosines, rows, plan)

    def scores(self, vectors: Vectors, rows: Rows | None) -> Vectors:
        """Return the cosine of each query row with each of `rows`, within [-1, 1]."""
        if len(vectors) == 1:
            found = self._many.product(vectors) if rows is None else dots(self.vectors[rows], vectors[0])[None, :]
        else:
            found = vectors @ (self.vectors if rows is None else self.vectors[rows]).T
        return np.asarray(np.minimum(np.maximum(found, -1.0), 1.0), dtype=np.float32)

    def _scanned(
        self, step: Step, plan: SearchPlan, vectors: Vectors, wanted: int, mask: Mask | None
    ) -> tuple[list[_Ranked], SearchPlan]:
        """Scan the index, wider until each query has enough and no equal cosines are cut off."""
        scan = _Scan(self._opened(), step, mask)
        coded = step.kind is not PlanKind.FLAT
        queries = self._codes(vectors) if coded else vectors
        depth = max(LEAST_RESCORED, int(RESCORED * wanted)) if coded else wanted + _SPARE
        while True:
            depth = min(depth, plan.passing)
            pairs = zip(vectors, scan.rows(queries, depth), strict=True)
            found = [_Ranked.of(rows[rows >= 0], self.vectors, query) for query, rows in pairs]
            if scan.probed < scan.lists and min(len(own.rows) for own in found) < wanted:
                scan.widen()
            elif depth < min(plan.passing, _WIDEST) and any(own.is_cut(wanted) for own in found):
                depth *= _WIDER
            else:
                return found, replace(plan, rescored=depth, lists=scan.lists, probed=scan.probed, retries=scan.retries)

    def _nearest(self, query: Vectors, rows: Rows, wanted: int) -> _Ranked:
        """Return at least the wanted nearest of the rows."""
        cosines = dots(self.vectors[rows], query)
        if len(rows) > wanted + _SPARE:
            last = np.partition(cosines, len(rows) - wanted)[len(rows) - wanted]
            rows = rows[cosines >= last - _TIE]
        return _Ranked.of(rows, self.vectors, query)

    def _codes(self, vectors: Vectors) -> Vectors:
        if self._coder is None:
            self._coder = Coder.from_index(self._opened())
        return self._coder.codes(vectors)

    def _opened(self) -> Any:
        with self._lock:
            if self._index is None:
                kind = index_kind(len(self.vectors))
                self._index = read_index(self._path) if self._path else make_index(self.vectors, kind)
                if self._index.ntotal != len(self.vectors):
                    raise BundleError(f"{self._path}: holds {self._index.ntotal} rows, not {len(self.vectors)}")
            return self._index


@dataclass(frozen=True, slots=True)
class _Ranked:
    """Rows by their true cosines, best first, equal ones by row."""

    rows: Rows
    cosines: Vectors

    @classmethod
    def of(cls, rows: Rows, vectors: Vectors, query: Vectors) -> _Ranked:
        """Order rows."""
        rows = np.sort(rows)
        if vectors.nbytes > _MORE_THAN_MEMORY:
            fetch_soon(vectors, rows.tolist())
        # Row by row: equal vectors have equal cosines, whatever else is computed with them.
        cosines = np.clip((vectors[rows] * query).sum(axis=1), -1.0, 1.0).astype(np.float32)
        order = np.argsort(-cosines, kind="stable")
        return cls(rows[order], cosines[order])

    def is_cut(self, wanted: int) -> bool:
        """Tell whether cosines equal to the last wanted one may go on beyond these rows."""
        return len(self.rows) > wanted and bool(self.cosines[wanted - 1] - self.cosines[-1] < _TIE)


class _Scan:
    """One index, one filter, and how many of its inverted lists are probed."""

    def __init__(self, index: Any, step: Step, mask: Mask | None) -> None:
        import faiss as untyped  # its stubs describe the C++ side, not the Python wrappers

        self.faiss: Any = untyped
        self.index = index if step.kind is PlanKind.FLAT else inner_index(index)
        self.lists = int(self.index.nlist) if step.kind is PlanKind.LISTS else 0
        self.probed = min(self.lists, int(np.ceil(step.share * self.lists)))
        if self.lists:
            self.index.parallel_mode = 1  # the lists of one query are divided among threads: they take long enough
        self.retries = 0
        self.mask = mask
        share = float(mask.mean()) if mask is not None else 1.0
        self.excess = LOOSE_DEPTH / share if self.lists and LOOSE_SHARE <= share < 1 else 0.0
        # The selector points into the bits: both must live as long as this object.
        self.bits = np.packbits(mask, bitorder="little") if mask is not None else None
        self.selector = self.faiss.IDSelectorBitmap(self.bits) if self.bits is not None else None

    def rows(self, queries: Vectors, depth: int) -> Rows:
        """Return the best rows for each query by the index's own measure, -1 where there are fewer."""
        if self.excess:
            found = self._passing(self._search(queries, int(depth * self.excess), None), depth)
            if (found[:, -1] >= 0).all():
                return found
            if self.probed < self.lists:  # what passes is rare near a query: the best of it may lie in any list
                self.widen()
        return self._search(queries, depth, self.selector)

    def widen(self) -> None:
        """Probe all lists from now on."""
        self.probed = self.lists
        self.retries += 1

    def _search(self, queries: Vectors, depth: int, selector: Any) -> Rows:
        if self.lists:
            parameters = self.faiss.SearchParametersIVF(sel=selector, nprobe=self.probed)
        else:
            parameters = self.faiss.SearchParameters(sel=selector)
        rows: Rows = self.index.search(queries, depth, params=parameters)[1]
        return rows

    def _passing(self, rows: Rows, depth: int) -> Rows:
        """Return of each row of passages the first that pass, -1 behind them."""
        passing = (rows >= 0) & (self.mask[rows] if self.mask is not None else True)
        order = np.argsort(~passing, axis=1, kind="stable")[:, :depth]
        return np.where(np.take_along_axis(passing, order, axis=1), np.take_along_axis(rows, order, axis=1), -1)


def write_index(folder: Path, vectors: Vectors) -> None:
    """Write the index file of unit rows, of the kind that their number asks for; they may be memory-mapped.

    Raises:
        BundleError: if the disk doesn't take it.
    """
    import faiss

    try:
        faiss.write_index(make_index(vectors, index_kind(len(vectors))), str(folder / INDEX))
    except RuntimeError as fault:
        raise BundleError(f"{folder / INDEX}: can't be written: {str(fault).splitlines()[0]}") from None


def read_index(path: Path) -> Any:
    """Open an index file, memory-mapped.

    Raises:
        BundleError: if it isn't one.
    """
    import faiss

    try:
        return faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except RuntimeError as fault:
        raise BundleError(f"{path}: not a readable FAISS index: {str(fault).splitlines()[0]}") from None
