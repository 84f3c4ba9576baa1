"""Writing a vector space block by block: passages, vectors and words go to their files as they come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .arrayfile import GrowingArray
from .backend import VECTORS, FaissBackend, write_index
from .bundle import LATE, PASSAGES, BundlePaths
from .card_records import POOLED, RECORDS, EmbeddedCard, RecordWriter
from .encoder import EncoderIdentity
from .late_writer import LateWriter
from .space import PassageTable, VectorSpace

_PASSAGE_COLUMNS = 5


class SpaceWriter:
    """The files of one space of a bundle; only what is of the size of the catalogue stays in memory."""

    def __init__(self, paths: BundlePaths, identity: EncoderIdentity) -> None:
        """Begin an encoder's space in a generation."""
        self.cards = 0
        self._identity = identity
        self._folder = paths.space(identity.key)
        self._passages = GrowingArray(self._folder / PASSAGES, np.int32, _PASSAGE_COLUMNS)
        self._vectors = GrowingArray(self._folder / VECTORS, np.float32, identity.dimension)
        self._records = RecordWriter(self._folder / RECORDS)
        self._late = LateWriter(self._folder / LATE, self._folder / RECORDS / POOLED, identity.dimension)

    def add(self, cards: Sequence[EmbeddedCard]) -> None:
        """Add the next cards."""
        if not cards:
            return
        counts = [len(card.passages) for card in cards]
        rows = np.repeat(np.arange(self.cards, self.cards + len(cards), dtype=np.int32), counts)
        self._passages.append(np.column_stack([rows, np.concatenate([card.passages for card in cards])]))
        self._vectors.append(np.concatenate([card.vectors for card in cards]))
        self._late.add([card.tokens for card in cards])
        self._records.add(cards)
        self.cards += len(cards)

    def close(self) -> None:
        """Close the files, also of a build that failed."""
        for file in (self._passages, self._vectors, self._late, self._records):
            file.close()

    def finish(self) -> VectorSpace:
        """Write what is left to write, and open the space."""
        columns, vectors = self._passages.finish(), self._vectors.finish()
        late = self._late.finish()
        self._records.close()
        write_index(self._folder, vectors)
        backend = FaissBackend.open(self._folder)
        table = PassageTable(columns)
        return VectorSpace.of(self._identity, table, backend, late, cards=self.cards, folder=self._folder)
