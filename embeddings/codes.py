"""8-bit codes of passage vectors, for scans of catalogues that are too large for full precision.

A vector is projected to the leading directions of all vectors, set to unit length, turned so that no direction has
more to say than another, and rounded to bytes. Distances between bytes are whole numbers, which FAISS computes
several times faster than it decodes; for unit vectors the order of the distances is that of the cosines. The index
file holds the whole way from vector to code, so that any program with FAISS can search it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ale_semantic.plans import PlanKind

from .planner import list_count
from .vectors import Vectors, unit

# Of the vectors' energy the directions keep so much; MiniLM on task cards needs 128 of 384. The best 200 by codes then
# held all of the true best ten of a million in every query measured.
KEPT_ENERGY = 0.83
_STEP = 16  # FAISS has a fast kernel for code sizes that are a multiple of this
_SAMPLE = 50_000  # rows from which directions and range are estimated
_BLOCK = 65_536  # rows coded together: 100 MB
_ROWS_A_LIST = 64  # from which the centre of a list is trained; FAISS asks for at least 39
_ROUNDS = 8  # of k-means; more move the centres little
_MARGIN = 1.1  # the range of the codes beyond the sample's; what lies outside is cut
_MIDDLE, _HIGHEST = 128.0, 255.0
_SEED = 11

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Coder:
    """From vectors to codes: `directions` of shape (dimension, code size), then `turn` and `shift` to bytes."""

    directions: Matrix
    turn: Matrix
    shift: Vectors

    @classmethod
    def of(cls, vectors: Vectors) -> Coder:
        """Estimate the coder from a sample of the rows, shape (n, dimension); n may not be 0."""
        random = np.random.default_rng(_SEED)
        rows = _sample(random, len(vectors), _SAMPLE)
        sample = np.asarray(vectors[rows], dtype=np.float32)
        energies, directions = np.linalg.eigh(sample.T.astype(np.float64) @ sample)
        leading = np.argsort(-energies, kind="stable")
        kept = np.cumsum(energies[leading]) / max(float(energies.sum()), 1e-12)
        size = -(-(int(np.searchsorted(kept, KEPT_ENERGY)) + 1) // _STEP) * _STEP
        chosen = directions[:, leading[: min(size, vectors.shape[1])]].astype(np.float32)
        count = chosen.shape[1]
        rotation = np.linalg.qr(random.standard_normal((count, count)))[0].astype(np.float32)
        turned = unit(sample @ chosen) @ rotation
        centre = turned.mean(axis=0)
        scale = np.float32((_MIDDLE - 1) / max(float(np.abs(turned - centre).max()) * _MARGIN, 1e-6))
        return cls(chosen, rotation * scale, _MIDDLE - centre * scale)

    @classmethod
    def from_index(cls, index: Any) -> Coder:
        """Read the coder from the transforms of an index that `whole_index` made."""
        import faiss

        chain: Any = [faiss.downcast_VectorTransform(index.chain.at(place)) for place in range(index.chain.size())]
        first, last = chain[0], chain[-1]
        directions = faiss.vector_to_array(first.A).reshape(first.d_out, first.d_in).T
        turn = faiss.vector_to_array(last.A).reshape(last.d_out, last.d_in).T
        return cls(np.ascontiguousarray(directions), np.ascontiguousarray(turn), faiss.vector_to_array(last.b))

    def codes(self, vectors: Vectors) -> Vectors:
        """Return the codes of rows as float32 whole numbers from 0 to 255, shape (n, code size)."""
        turned = unit(vectors @ self.directions) @ self.turn + self.shift
        return np.ascontiguousarray(np.clip(np.rint(turned), 0, _HIGHEST), dtype=np.float32)

    def whole_index(self, inner: Any) -> Any:
        """Return a FAISS index of the inner one behind the transforms."""
        import faiss

        size = self.directions.shape[1]
        first = faiss.LinearTransform(self.directions.shape[0], size, False)
        faiss.copy_array_to_vector(np.ascontiguousarray(self.directions.T).ravel(), first.A)
        last = faiss.LinearTransform(size, size, True)
        faiss.copy_array_to_vector(np.ascontiguousarray(self.turn.T).ravel(), last.A)
        faiss.copy_array_to_vector(np.ascontiguousarray(self.shift, dtype=np.float32), last.b)
        index: Any = inner
        for transform in (last, faiss.NormalizationTransform(size), first):
            transform.is_trained = True
            index = _before(transform, index)
        return index


def make_index(vectors: Vectors, kind: PlanKind) -> Any:
    """Return the FAISS index of a kind over unit rows, shape (n, dimension); the rows are read block by block."""
    import faiss

    if kind is PlanKind.FLAT:
        flat = faiss.IndexFlatIP(vectors.shape[1])
        _add(flat, vectors, lambda rows: np.ascontiguousarray(rows, dtype=np.float32))
        return flat
    coder = Coder.of(vectors)
    inner = _empty_lists(vectors, coder) if kind is PlanKind.LISTS else _empty_codes(coder)
    _add(inner, vectors, coder.codes)
    return coder.whole_index(inner)


def kind_of(index: Any) -> PlanKind:
    """Return the kind of a FAISS index that `make_index` made."""
    import faiss

    if not isinstance(index, faiss.IndexPreTransform):
        return PlanKind.FLAT
    return PlanKind.LISTS if isinstance(inner_index(index), faiss.IndexIVF) else PlanKind.CODES


def inner_index(index: Any) -> Any:
    """Return what lies behind the transforms of an index."""
    import faiss

    return faiss.downcast_index(index.index)


def _empty_codes(coder: Coder) -> Any:
    import faiss

    size = coder.directions.shape[1]
    index = faiss.IndexScalarQuantizer(size, faiss.ScalarQuantizer.QT_8bit_direct, faiss.METRIC_L2)
    index.is_trained = True  # bytes as they are: there is nothing to learn
    return index


def _empty_lists(vectors: Vectors, coder: Coder) -> Any:
    import faiss

    count, size = list_count(len(vectors)), coder.directions.shape[1]
    rows = _sample(np.random.default_rng(_SEED), len(vectors), count * _ROWS_A_LIST)
    trained: Any = faiss.Kmeans(size, count, niter=_ROUNDS, seed=_SEED, max_points_per_centroid=_ROWS_A_LIST)
    trained.train(coder.codes(np.asarray(vectors[rows], dtype=np.float32)))
    centres = faiss.IndexFlatL2(size)
    centres.add(trained.centroids)
    index = faiss.IndexIVFScalarQuantizer(
        centres, size, count, faiss.ScalarQuantizer.QT_8bit_direct, faiss.METRIC_L2, False
    )
    index.is_trained = True
    return index


def _add(index: Any, vectors: Vectors, coded: Any) -> None:
    for start in range(0, len(vectors), _BLOCK):
        index.add(coded(np.asarray(vectors[start : start + _BLOCK])))


def _before(transform: Any, index: Any) -> Any:
    import faiss

    if isinstance(index, faiss.IndexPreTransform):
        index.prepend_transform(transform)
        return index
    return faiss.IndexPreTransform(transform, index)


def _sample(random: np.random.Generator, rows: int, count: int) -> NDArray[np.int64]:
    if rows <= count:
        return np.arange(rows)
    return np.sort(random.choice(rows, size=count, replace=False))
