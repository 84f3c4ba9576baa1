"""A vector space: the passages of all cards, their vectors, and the encoder that made them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ale_semantic.arrays import mapped
from ale_semantic.errors import BundleError, BundleMismatchError
from ale_semantic.texts import field_text
from ale_semantic.types import Field, TaskCard

from .backend import FaissBackend
from .bundle import ENCODER, LATE, PASSAGES, BundlePaths, rebuild_hint
from .encoder import Encoder, EncoderIdentity
from .late import LateIndex, spans
from .onnx_encoder import EXPORT_RECORD, EXPORT_VERSION, MODEL_FILE, OnnxEncoder
from .passages import Passage, PassageKind

_FIELDS = tuple(Field)
_COLUMNS = ("card", "field", "kind", "start", "end")


@dataclass(frozen=True, slots=True)
class PassageTable:
    """All passages as columns, int32 of shape (n, 5): card, field, kind, start, end; ordered by card."""

    columns: NDArray[np.int32]

    @classmethod
    def of(cls, passages: Sequence[Passage]) -> PassageTable:
        """Make a table of passages."""
        rows = [(p.card, _FIELDS.index(p.field), int(p.kind), p.start, p.end) for p in passages]
        return cls(np.array(rows, dtype=np.int32).reshape(len(rows), len(_COLUMNS)))

    def __len__(self) -> int:
        """Return the number of passages."""
        return len(self.columns)

    @property
    def cards(self) -> NDArray[np.int32]:
        """Return the card row of each passage, shape (n,)."""
        return self.columns[:, 0]

    @property
    def fields(self) -> NDArray[np.int32]:
        """Return the position of each passage's field in `Field`, shape (n,)."""
        return self.columns[:, 1]

    @property
    def kinds(self) -> NDArray[np.int32]:
        """Return the PassageKind of each passage, shape (n,)."""
        return self.columns[:, 2]

    def rows_of(self, field: Field, *, sentences: bool = False) -> NDArray[np.int64]:
        """Return the rows of one field's passages, ascending: its single sentences, or all that are more."""
        grain = (self.kinds == PassageKind.SENTENCE) == sentences
        return np.flatnonzero((self.fields == _FIELDS.index(field)) & grain)

    def passage(self, row: int, cards: Sequence[TaskCard]) -> Passage:
        """Return the passage in a row, with its text cut from the card."""
        card, field, kind, start, end = self.columns[row].tolist()
        text = field_text(cards[card], _FIELDS[field])[start:end]
        return Passage(card, _FIELDS[field], PassageKind(kind), start, end, text)

    def texts(self, cards: Sequence[TaskCard]) -> list[str]:
        """Return the text of every passage."""
        return [self.passage(row, cards).text for row in range(len(self))]


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """Passages and vectors of one encoder; row i of the backend is passage i of the table.

    `starts` is the first passage of each card and the end, shape (cards + 1,). `source` finds the original model
    again (`model_source`); blank in an index that doesn't say. `export` is the version of the exported encoder.
    """

    identity: EncoderIdentity
    passages: PassageTable
    backend: FaissBackend
    late: LateIndex
    starts: NDArray[np.int64]
    folder: Path | None = None
    source: str = ""
    export: int = EXPORT_VERSION

    @classmethod
    def of(
        cls,
        identity: EncoderIdentity,
        passages: PassageTable,
        backend: FaissBackend,
        late: LateIndex,
        *,
        cards: int,
        folder: Path | None = None,
    ) -> VectorSpace:
        """Make a space of its parts."""
        starts = np.searchsorted(passages.cards, np.arange(cards + 1)).astype(np.int64)
        return cls(identity, passages, backend, late, starts, folder)

    @classmethod
    def open(cls, paths: BundlePaths, entry: dict[str, Any]) -> VectorSpace:
        """Open the space that a manifest entry describes.

        Raises:
            BundleError: if its files don't fit together.
        """
        identity = EncoderIdentity(**entry["encoder"])
        folder = paths.space(identity.key)
        try:
            columns = mapped(folder / PASSAGES)
            late = LateIndex.open(folder / LATE)
        except (OSError, ValueError) as fault:
            raise BundleError(f"{folder}: can't be read: {fault}") from None
        backend = FaissBackend.open(folder)
        if backend.vectors.shape != (len(columns), identity.dimension):
            raise BundleError(
                f"{folder}: {len(columns)} passages of {identity.dimension} dimensions are listed, "
                f"the index holds {backend.vectors.shape[0]} of {backend.vectors.shape[1]}"
            )
        space = cls.of(identity, PassageTable(columns), backend, late, cards=len(late.starts) - 1, folder=folder)
        return replace(space, source=entry.get("source", ""), export=entry.get("export", EXPORT_VERSION))

    def subset(self, cards: NDArray[np.int64]) -> VectorSpace:
        """Return the space of some cards alone, in memory."""
        rows, _ = spans(self.starts, cards)
        columns = self.passages.columns[rows]
        columns[:, 0] = np.searchsorted(cards, columns[:, 0])
        backend = FaissBackend.of(np.take(self.backend.vectors, rows, axis=0))  # twice as fast as an index is
        return VectorSpace.of(self.identity, PassageTable(columns), backend, self.late.subset(cards), cards=len(cards))

    def passing(self, mask: NDArray[np.bool_] | None) -> int:
        """Return how many passages the cards in a mask have, shape (cards,); all without one."""
        return len(self.passages) if mask is None else int(np.diff(self.starts)[mask].sum())

    def entry(self, exported: Path | None) -> dict[str, Any]:
        """Return the manifest entry of a space that stands in its folder, beside which its encoder is put.

        Args:
            exported: the folder of the exported encoder, if there is one.
        """
        if exported is not None and self.folder is not None and exported != self.folder / ENCODER:
            # Of an earlier generation it is known that its files are whole; what lies elsewhere is better copied.
            earlier = self.folder.parents[2] in exported.parents
            copy = _link if earlier else shutil.copy2
            shutil.copytree(
                exported, self.folder / ENCODER, copy_function=copy, ignore=shutil.ignore_patterns(EXPORT_RECORD)
            )
        return {
            "encoder": asdict(self.identity),
            "metric": "cosine",
            "passages": len(self.passages),
            "exported": exported is not None,
        }

    def load_encoder(self, *, workers: int = 1) -> Encoder:
        """Return the encoder for queries: the exported one, or the original model where none was exported.

        Args:
            workers: as of `OnnxEncoder.open`; the original model has its own way.

        Raises:
            EncoderError: if it can't be loaded.
            MissingExtraError: if it needs a package that isn't installed.
            BundleMismatchError: if the model has other weights or settings now, or its export another version.
        """
        index = self.folder.parents[2] if self.folder is not None else None
        if self.folder is None or not (self.folder / ENCODER / MODEL_FILE).is_file():
            from .originals import load_original

            return load_original(self.identity, self.source, index)
        if self.export != EXPORT_VERSION:
            raise BundleMismatchError(
                f"{index}: its exported encoder is of version {self.export}, this program's is {EXPORT_VERSION}; "
                f"{rebuild_hint(self.folder.parents[2])}"
            )
        encoder = OnnxEncoder.open(self.folder / ENCODER, workers=workers, padded=True)
        require_same(encoder.identity, self.identity)
        return encoder


def require_same(given: EncoderIdentity, stored: EncoderIdentity) -> None:
    """Refuse an encoder that isn't the one that made the vectors.

    Raises:
        BundleMismatchError: naming both.
    """
    if given != stored:
        raise BundleMismatchError(
            f"the index was built with {describe(stored)}, this encoder is {describe(given)}: "
            f"search with the first, or rebuild with: ale-semantic build --model {given.name}"
        )


def describe(identity: EncoderIdentity) -> str:
    """Return a model's name, revision, dimension and the head of its digest."""
    return f"{identity.name} ({identity.revision}, {identity.dimension} dimensions, {identity.digest[:12]})"


def _link(source: str, target: str) -> None:
    """Give a file of a generation, which is never changed, a second name in the next; where that can't be, copy it.

    An encoder's files are by far the largest of a small index: to copy them took a fifth of the time of a rebuild.
    """
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target)
