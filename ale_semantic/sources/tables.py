"""Cards from one file in the public data set's columns: JSONL, JSON, Parquet or CSV."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ale_semantic.errors import CardError, SourceError
from ale_semantic.fields import PUBLIC_FIELDS, RawCard, parse_json
from ale_semantic.sources import Origin

EXPORT_MARK = "export_made_by"  # a column that only this program's exports have
# A spreadsheet takes a cell that begins with one of these for a formula; a quote before it makes it text.
FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")
_LONGEST_CELL = 2**31 - 1  # characters; the most that every system's C library takes
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
            known = ", ".join(sorted(_READERS))
            raise SourceError(f"{self.path}: unknown form '{self.path.suffix}'; known are {known}")
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
                data = parse_json(line)
            except ValueError as fault:
                yield CardError(where, "(line)", f"is not JSON: {fault}".replace("at line 1, ", "at "))
                continue
            yield _row(where, data)


def _json(path: Path) -> Iterator[RawCard | CardError]:
    try:
        rows = parse_json(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise
    except ValueError as fault:
        raise SourceError(f"{path}: is not JSON: {fault}") from None
    if not isinstance(rows, list):
        raise SourceError(f"{path}: must hold a list of cards, found {type(rows).__name__}")
    for number, data in enumerate(rows):
        yield _row(f"{path.name}[{number}]", data)


def _csv(path: Path) -> Iterator[RawCard | CardError]:
    csv.field_size_limit(_LONGEST_CELL)  # prompts may exceed the module's cautious default
    with path.open(encoding="utf-8-sig", newline="") as lines:
        rows = csv.DictReader(lines)
        try:
            names = rows.fieldnames or []
            _check_columns(path, names)
            for row in rows:
                where = f"{path.name}:{rows.line_num}"
                if None in row or None in row.values():
                    yield CardError(where, "(row)", f"must have {len(names)} cells like the header")
                else:
                    yield _row(where, _plain_cells(row) if EXPORT_MARK in names else row)
        except csv.Error as fault:
            raise SourceError(f"{path}: is not CSV after line {rows.line_num}: {fault}") from None


def _plain_cells(row: Mapping[str, str]) -> dict[str, str]:
    """Take away the quote by which an export keeps a spreadsheet from taking a cell for a formula."""
    return {name: cell[1:] if FORMULA.match(cell) and cell.startswith("'") else cell for name, cell in row.items()}


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
    except pyarrow.ArrowException as fault:
        raise SourceError(f"{path}: is not a readable Parquet file: {str(fault).splitlines()[0]}") from None


def _row(where: str, data: Any) -> RawCard | CardError:
    if not isinstance(data, Mapping):
        return CardError(where, "(row)", f"must be an object, found {type(data).__name__}")
    return RawCard(where=where, data=data)


def _check_columns(path: Path, names: Sequence[str]) -> None:
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
