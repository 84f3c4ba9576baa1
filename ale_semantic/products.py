"""Products for one query, in one thread.

BLAS divides even small products among threads and lets those spin for a while afterwards: on a busy machine that
takes several times longer than the work itself, and it takes the processors from the encoder of the next query.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Matrix = NDArray[np.float32]

_BLOCK = 64  # rows of one block where BLAS might divide its product among threads
_WIDE = 4096  # rows of one block where it is told to use one thread, as the command line does: a third faster
_KERNEL = 4  # rows that BLAS's inner loops take at once; the rest of a product takes slower ones
_ALONE = 1 << 17  # multiplications of one product that BLAS does not divide; OpenBLAS begins at twice as many


def dots(rows: Matrix, vector: Matrix) -> Matrix:
    """Return the dot product of each row with a vector, shape (rows,); that of equal rows is equal."""
    return np.asarray(np.einsum("ij,j->i", rows, vector), dtype=np.float32)


def weighted_sum(weights: Matrix, rows: Matrix) -> Matrix:
    """Return the sum of rows, each times its weight, shape (columns,)."""
    return np.asarray(np.einsum("i,ij->j", weights, rows), dtype=np.float32)


def product(rows: Matrix, columns: Matrix) -> Matrix:
    """Return the matrix product of many rows with a few columns, shape (rows, columns), a block of rows at a time."""
    count, width = columns.shape
    block = max(1, _ALONE // max(1, count * width))
    blocks = len(rows) // block
    whole = blocks * block
    found = np.empty((len(rows), width), dtype=np.float32)
    # One call over a stack of blocks: each is a product of its own to BLAS.
    stack, into = rows[:whole].reshape(blocks, block, count), found[:whole].reshape(blocks, block, width)
    np.matmul(stack, columns, out=into)
    np.matmul(rows[whole:], columns, out=found[whole:])
    return found


@dataclass(frozen=True, slots=True)
class Turned:
    """Many rows laid out for products with a few, which then take half or two thirds of the time.

    `blocks` has shape (blocks, columns, rows of one), `rest` holds the last rows, (columns, rows).
    """

    blocks: Matrix
    rest: Matrix

    @classmethod
    def of(cls, rows: Matrix) -> Turned:
        """Lay out rows, shape (rows, columns)."""
        block = _WIDE if os.environ.get("OPENBLAS_NUM_THREADS") == "1" else _BLOCK
        blocks = len(rows) // block
        whole = rows[: blocks * block].reshape(blocks, block, rows.shape[1])
        return cls(np.ascontiguousarray(whole.transpose(0, 2, 1)), np.ascontiguousarray(rows[blocks * block :].T))

    def product(self, few: Matrix) -> Matrix:
        """Return the dot product of each of a few rows with each of the many, shape (few, many)."""
        blocks, count, width = self.blocks.shape
        padded = np.zeros((-(-len(few) // _KERNEL) * _KERNEL, count), dtype=np.float32)
        padded[: len(few)] = few
        found = np.empty((len(padded), blocks * width + self.rest.shape[1]), dtype=np.float32)
        into = found[:, : blocks * width].reshape(len(padded), blocks, width).transpose(1, 0, 2)  # a view of the same
        step = max(_KERNEL, len(padded)) if width == _WIDE else max(_KERNEL, _ALONE // max(1, count * width))
        for start in range(0, len(padded), step):
            some = slice(start, start + step)
            np.matmul(padded[some], self.blocks, out=into[:, some])
            np.matmul(padded[some], self.rest, out=found[some, blocks * width :])
        return found[: len(few)]
