"""Cards from one file in the public data set's columns: JSONL, JSON, Parquet or CSV."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ale_semantic.errors import CardError, SourceError
from ale_semantic.fields import PUBLIC_FIELDS, RawCard
from ale_semantic.sources import Origin

_PARQUET_BATCH = 1024  # rows held in memory at once


@dataclass(frozen=True, slots=True)
class TableSource:
    """The cards of one table file."""

    path: Path
    name: str | None = None
    revision: str | None = None

    @property
    def origin(self) -> Origin:
        """Return the file's name, or the name and revision it was fetched under."""
        return Origin(name=self.name or self.path.name, revision=self.revision)

    def raw_cards(self) -> Iterator[RawCard | CardError]:
        """Yield one raw card a row.

        Raises:
            SourceError: if the file can't be read or isn't of a known form.
        """
        reader = _READERS.get(self.path.suffix.lower())
        if reader is None:
            raise SourceError(f"{self.path}: unknown form '{self.path.suffix}'; known are {', '.join(sorted(_READERS))}")
        try:
            yield from reader(self.path)
        except OSError as fault:
            raise SourceError(f"{self.path}: can't be read: {fault.strerror or fault}") from None
        except UnicodeDecodeError as fault:
            raise SourceError(f"{self.path}: is not UTF-8 at byte {fault.start}") from None


def _jsonl(path: Path) -> Iterator[RawCard | CardError]:
    with path.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            where = f"{path.name}:{number}"
            try:
                data = json.loads(line)
            except json.JSONDecodeError as fault:
                yield CardError(where, "(line)", f"is not JSON: {fault.msg} at character {fault.pos}")
                continue
            yield _row(where, data)


def _json(path: Path) -> Iterator[RawCard | CardError]:
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as fault:
        raise SourceError(f"{path}: is not JSON: {fault.msg} at line {fault.lineno}") from None
    if not isinstance(rows, list):
        raise SourceError(f"{path}: must hold a list of cards, found {type(rows).__name__}")
    for number, data in enumerate(rows):
        yield _row(f"{path.name}[{number}]", data)


def _csv(path: Path) -> Iterator[RawCard | CardError]:
    csv.field_size_limit(sys.maxsize)  # prompts exceed the module's cautious default
    with path.open(encoding="utf-8-sig", newline="") as lines:
        rows = csv.DictReader(lines)
        _check_columns(path, rows.fieldnames or [])
        for row in rows:
            where = f"{path.name}:{rows.line_num}"
            if None in row or None in row.values():
                yield CardError(where, "(row)", f"must have {len(rows.fieldnames or [])} cells like the header")
            else:
                yield _row(where, row)


def _parquet(path: Path) -> Iterator[RawCard | CardError]:
    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(path)
        _check_columns(path, file.schema_arrow.names)
        columns = [name for name in file.schema_arrow.names if name in _PUBLIC_NAMES]
        number = 0
        for batch in file.iter_batches(batch_size=_PARQUET_BATCH, columns=columns):
            for data in batch.to_pylist():
                yield _row(f"{path.name} row {number}", data)
                number += 1
    except pyarrow.ArrowInvalid as fault:
        raise SourceError(f"{path}: is not a readable Parquet file: {str(fault).splitlines()[0]}") from None


def _row(where: str, data: Any) -> RawCard | CardError:
    if not isinstance(data, Mapping):
        return CardError(where, "(row)", f"must be an object, found {type(data).__name__}")
    return RawCard(where=where, data=data)


def _check_columns(path: Path, names: list[str]) -> None:
    if not set(PUBLIC_FIELDS["task_id"]) & set(names):
        raise SourceError(f"{path}: has no 'task_id' column; its columns are {', '.join(names) or 'none'}")


_PUBLIC_NAMES = {name for names in PUBLIC_FIELDS.values() for name in names}
_READERS: dict[str, Callable[[Path], Iterator[RawCard | CardError]]] = {
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".json": _json,
    ".csv": _csv,
    ".parquet": _parquet,
}
