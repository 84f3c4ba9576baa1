"""Writing a vector space card by card: passages, vectors and words go to their files as they come."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .arrayfile import GrowingArray
from .backend import VECTORS, FaissBackend, write_index
from .bundle import LATE, PASSAGES, BundlePaths
from .encoder import EncoderIdentity
from .late import CardTokens, LateWriter
from .space import PassageTable, VectorSpace
from .vectors import Vectors

_PASSAGE_COLUMNS = 5


class SpaceWriter:
    """The files of one space of a bundle; only what is of the size of the catalogue stays in memory."""

    def __init__(self, paths: BundlePaths, scratch: Path, identity: EncoderIdentity) -> None:
        """Begin a space.

        Args:
            paths: the generation to write into.
            scratch: a folder for what is only needed until it is done.
            identity: the encoder.
        """
        self.cards = 0
        self._identity = identity
        self._folder = paths.space(identity.key)
        self._passages = GrowingArray(self._folder / PASSAGES, np.int32, _PASSAGE_COLUMNS)
        self._vectors = GrowingArray(self._folder / VECTORS, np.float32, identity.dimension)
        self._late = LateWriter(self._folder / LATE, scratch / identity.key, identity.dimension)

    def add(self, passages: NDArray[np.int32], vectors: Vectors, tokens: CardTokens) -> None:
        """Add the next card.

        Args:
            passages: field, kind, start and end of each passage, shape (passages, 4).
            vectors: their unit rows, shape (passages, dimension).
            tokens: the card's words.
        """
        rows = np.full(len(passages), self.cards, dtype=np.int32)
        self._passages.append(np.column_stack([rows, passages]))
        self._vectors.append(vectors)
        self._late.add(tokens)
        self.cards += 1

    def close(self) -> None:
        """Close the files, also of a build that failed."""
        for file in (self._passages, self._vectors, self._late):
            file.close()

    def finish(self) -> VectorSpace:
        """Write what is left to write, and open the space."""
        columns, vectors = self._passages.finish(), self._vectors.finish()
        late = self._late.finish()
        write_index(self._folder, vectors)
        backend = FaissBackend.open(self._folder)
        table = PassageTable(columns)
        return VectorSpace.of(self._identity, table, backend, late, cards=self.cards, folder=self._folder)
