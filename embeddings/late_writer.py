"""Writes the index of late interaction (`late`) of cards that come one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .arrayfile import GrowingArray
from .encoder import Vectors
from .late import CardTokens, LateIndex, TokenGroup
from .vectors import unit

PROJECTED = 128  # dimensions; on the development queries they rank as well as all 384
STEPS_DISCOUNT = 0.05  # a word of the must-do steps counts this much less than one of title, summary and software
_BLOCK = 65_536  # rows that are projected at once
_SUMMED = 8192  # rows whose products are summed up at once


class LateWriter:
    """Writes the index of cards that come one after the other; their vectors never stand in memory together."""

    def __init__(self, folder: Path, pooled: Path, dimension: int) -> None:
        """Begin an index.

        Args:
            folder: where it is to stand.
            pooled: the file for the tokens' full vectors, in half precision; searches don't need it.
            dimension: of the encoder's space.
        """
        self._folder = folder
        self._pooled = GrowingArray(pooled, np.float16, dimension)
        self._tokens = GrowingArray(folder / "tokens.npy", np.int32)
        self._discount = GrowingArray(folder / "discount.npy", np.float32)
        self._starts = [0]
        self._frequency = np.zeros(1, dtype=np.int64)
        self._products = np.zeros((dimension, dimension), dtype=np.float64)
        self._waiting: list[NDArray[np.floating[Any]]] = []
        self._rows_waiting = 0

    def add(self, cards: Sequence[CardTokens]) -> None:
        """Add the next cards; their vectors are kept in half precision."""
        if not cards:
            return
        self._pooled.append(np.concatenate([card.vectors for card in cards], dtype=np.float16, casting="same_kind"))
        self._tokens.append(np.concatenate([card.ids for card in cards]))
        groups = np.concatenate([card.groups for card in cards])
        self._discount.append(np.where(groups == TokenGroup.STEPS, STEPS_DISCOUNT, 0.0))
        seen = np.bincount(np.concatenate([card.seen for card in cards]), minlength=len(self._frequency))
        seen[: len(self._frequency)] += self._frequency
        self._frequency = seen
        for card in cards:
            self._starts.append(self._starts[-1] + len(card.ids))
            self._waiting.append(card.vectors)
            self._rows_waiting += len(card.vectors)
            if self._rows_waiting >= _SUMMED:  # after the same cards, whatever comes together: sums depend on it
                self._sum_up()

    def close(self) -> None:
        """Close the files, also of a build that failed."""
        for file in (self._pooled, self._tokens, self._discount):
            file.close()

    def finish(self) -> LateIndex:
        """Project all vectors, write what is left to write, and open the index."""
        self._sum_up()
        projection = _leading_directions(self._products)
        pooled = self._pooled.finish()
        path = self._folder / "vectors.npy"
        with GrowingArray(path, np.float32, projection.shape[1]) as vectors:
            for start in range(0, len(pooled), _BLOCK):
                vectors.append(unit(pooled[start : start + _BLOCK].astype(np.float32) @ projection))
        self._tokens.close()
        self._discount.close()
        cards = len(self._starts) - 1
        idf = np.log((cards + 1) / (self._frequency + 0.5)).astype(np.float32)
        for name, array in (("starts", np.array(self._starts, np.int64)), ("projection", projection), ("idf", idf)):
            np.save(self._folder / f"{name}.npy", array, allow_pickle=False)
        return LateIndex.open(self._folder)

    def _sum_up(self) -> None:
        from threadpoolctl import threadpool_limits

        if not self._waiting:
            return
        rows = np.concatenate(self._waiting, dtype=np.float32)  # half as long as in double precision, summed in that
        with threadpool_limits(1):  # on a busy machine threads that wait for each other take longer than the work
            self._products += rows.T @ rows
        self._waiting.clear()
        self._rows_waiting = 0


def _leading_directions(products: NDArray[np.float64]) -> Vectors:
    """Return the leading right singular vectors of rows, shape (dimension, PROJECTED or fewer).

    Args:
        products: the rows' products with each other summed up, shape (dimension, dimension).
    """
    if not products.any():  # no rows: all directions are as good
        return np.eye(len(products), min(PROJECTED, len(products)), dtype=np.float32)
    values, directions = np.linalg.eigh(products)
    leading = directions[:, np.argsort(-values, kind="stable")[:PROJECTED]]
    # A direction and its opposite are as good: the largest entry is made positive, so that builds agree.
    largest = leading[np.abs(leading).argmax(axis=0), np.arange(leading.shape[1])]
    return np.asarray(leading * np.where(largest < 0, -1.0, 1.0), dtype=np.float32)
