"""Exported encoders that are kept for other indexes: one folder each, with a record of what it holds.

An export is taken only if its record is of the present version and every file has the digest that stands there;
what is wrong is dropped, and made anew by the build that wanted it.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

from ale_semantic.errors import EncoderError
from ale_semantic.leftovers import held_folder

from .digests import file_digest, known_digest
from .encoder import EncoderIdentity
from .onnx_encoder import EXPORT_RECORD, EXPORT_VERSION, IDENTITY_FILE, MODEL_FILE, WEIGHTS_FILE, read_identity
from .tokens import TOKENIZER_FILE

NEEDED = frozenset({MODEL_FILE, WEIGHTS_FILE, IDENTITY_FILE, TOKENIZER_FILE})
_EARLIER_VERSION = re.compile(r"[0-9a-f]{16}(?:-(\d+))?")


@dataclass(frozen=True, slots=True)
class ExportRecord:
    """What an export was when it was made; `settings` is the digest of the original's (`model_source`)."""

    version: int
    settings: str
    files: dict[str, str]

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the record of a kept export.

        Raises:
            EncoderError: if there is none that can be read.
        """
        try:
            record = cls(**json.loads((folder / EXPORT_RECORD).read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, RecursionError) as fault:
            raise EncoderError(f"{folder}: its record can't be read ({fault})") from None
        if not isinstance(record.files, dict):
            raise EncoderError(f"{folder}: its record can't be read")
        return record


@dataclass(frozen=True, slots=True)
class KeptExport:
    """One folder: which model it holds, and its record."""

    folder: Path
    identity: EncoderIdentity
    record: ExportRecord

    def is_whole(self) -> bool:
        """Tell whether it is of the present version and its files are those that were exported."""
        if self.record.version != EXPORT_VERSION or not self.record.files.keys() >= NEEDED:
            return False
        try:
            return all(known_digest(self.folder / name) == digest for name, digest in self.record.files.items())
        except EncoderError:  # a file is gone
            return False

    def drop(self) -> None:
        """Remove it."""
        _remove(self.folder)


def kept_exports(cache: Path) -> Iterator[KeptExport]:
    """Yield the exports of the present version in a folder; those without a record that can be read are dropped."""
    for folder in sorted(cache.glob(f"*-{EXPORT_VERSION}")):
        try:
            found = KeptExport(folder, read_identity(folder), ExportRecord.read(folder))
        except EncoderError:
            _remove(folder)
        else:
            yield found


def keep_export(folder: Path, cache: Path, identity: EncoderIdentity, settings: str) -> None:
    """Copy an export that was just made and compared into a folder of kept ones, and remove those of earlier versions.

    Raises:
        OSError: if it can't be written there.
    """
    place = cache / f"{identity.key}-{EXPORT_VERSION}"
    cache.mkdir(parents=True, exist_ok=True)
    with held_folder(cache, "tmp") as temporary:
        made = temporary / "encoder"
        shutil.copytree(folder, made)
        files = {path.name: file_digest(path) for path in sorted(made.iterdir())}
        record = json.dumps(asdict(ExportRecord(EXPORT_VERSION, settings, files)), indent=2)
        (made / EXPORT_RECORD).write_text(record + "\n", encoding="utf-8")
        with suppress(OSError):  # what is there is of other settings, or another build was quicker
            place.rename(temporary / "earlier")
        made.rename(place)
    for old in cache.iterdir():
        version = _EARLIER_VERSION.fullmatch(old.name)
        if version is not None and int(version[1] or 1) < EXPORT_VERSION:
            _remove(old)


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
