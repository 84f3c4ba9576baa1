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
_LANES = 16  # rows that BLAS's inner loops take at once where one row is multiplied
_MOST_TURNED = 64_000_000  # bytes: more isn't kept twice in memory
_ALONE = 1 << 17  # multiplications of one product that BLAS does not divide; OpenBLAS begins at twice as many


def dots(rows: Matrix, vector: Matrix) -> Matrix:
    """Return the dot product of each row with a vector, shape (rows,); that of equal rows is equal."""
    return np.asarray(np.einsum("ij,j->i", rows, vector), dtype=np.float32)


def weighted_sum(weights: Matrix, rows: Matrix) -> Matrix:
    """Return the sum of rows, each times its weight, shape (columns,)."""
    return np.asarray(np.einsum("i,ij->j", weights, rows), dtype=np.float32)


def product(rows: Matrix, columns: Matrix) -> Matrix:
    """Return the matrix product of many rows with a few columns, shape (rows, columns), a block of rows at a time."""
    if _is_told():
        return np.asarray(rows @ columns, dtype=np.float32)
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

    `blocks` has shape (blocks, columns, rows of one), `rest` holds the last rows, (columns, rows), with zeros behind
    them; `count` is the number of rows.
    """

    blocks: Matrix
    rest: Matrix
    count: int

    @classmethod
    def of(cls, rows: Matrix) -> Turned:
        """Lay out rows, shape (rows, columns)."""
        block = _WIDE if _is_told() else _BLOCK
        blocks = len(rows) // block
        whole = rows[: blocks * block].reshape(blocks, block, rows.shape[1])
        last = rows[blocks * block :]
        rest = np.zeros((rows.shape[1], _up_to(_LANES, len(last))), dtype=np.float32)
        rest[:, : len(last)] = last.T
        return cls(np.ascontiguousarray(whole.transpose(0, 2, 1)), rest, len(rows))

    def product(self, few: Matrix) -> Matrix:
        """Return the dot product of each of a few rows with each of the many, shape (few, many).

        With one row, those of equal rows are equal.
        """
        blocks, count, width = self.blocks.shape
        padded = few
        if len(few) != 1:
            padded = np.zeros((_up_to(_KERNEL, len(few)), count), dtype=np.float32)
            padded[: len(few)] = few
        found = np.empty((len(padded), blocks * width + self.rest.shape[1]), dtype=np.float32)
        into = found[:, : blocks * width].reshape(len(padded), blocks, width).transpose(1, 0, 2)  # a view of the same
        step = max(_KERNEL, len(padded)) if width == _WIDE else max(_KERNEL, _ALONE // max(1, count * width))
        for start in range(0, len(padded), step):
            some = slice(start, start + step)
            np.matmul(padded[some], self.blocks, out=into[:, some])
            np.matmul(padded[some], self.rest, out=found[some, blocks * width :])
        return found[: len(few), : self.count]


class ManyRows:
    """Rows of which products with a few others are asked again and again.

    They are laid out anew by the second who asks: the first is often the only one of its process.
    """

    __slots__ = ("_asked", "_rows", "_turned")

    def __init__(self, rows: Matrix) -> None:
        """Keep rows, shape (rows, columns); they may be memory-mapped."""
        self._rows = rows
        self._asked = 0
        self._turned: Turned | None = None

    def product(self, few: Matrix) -> Matrix:
        """Return the dot product of each of a few rows with each of the many, shape (few, many)."""
        self._asked += 1  # two threads may both be the first, or lay them out twice: that costs time alone
        alone = len(few) == 1
        if self._turned is None:
            # Without being told, BLAS divides even a product with one row.
            if self._asked == 1 or self._rows.nbytes > _MOST_TURNED or (alone and not _is_told()):
                return dots(self._rows, few[0])[None, :] if alone else product(self._rows, few.T).T
            self._turned = Turned.of(self._rows)
        return self._turned.product(few)


def _is_told() -> bool:
    """Tell whether BLAS is told to use one thread, as the command line and the service tell it."""
    return os.environ.get("OPENBLAS_NUM_THREADS") == "1"


def _up_to(step: int, count: int) -> int:
    """Return the next multiple of a step."""
    return -(-count // step) * step
