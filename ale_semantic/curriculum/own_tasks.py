"""A user's own tasks from a JSONL, CSV or plain text file."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ale_semantic.errors import CurriculumError

_NAMES = ("task_id", "taskId", "id", "name", "title")
_MOST = 2_000  # tasks of one file; each is embedded


@dataclass(frozen=True, slots=True)
class OwnTask:
    """One task: what it is called, and its text."""

    name: str
    text: str


def read_own_tasks(path: Path) -> tuple[OwnTask, ...]:
    """Read tasks: a JSONL object or a CSV row each, or paragraphs of plain text parted by blank lines.

    All text fields of an object or row are its text; the first of task_id, id, name, title names it.

    Raises:
        CurriculumError: naming the file, the line and the cure.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as fault:
        raise CurriculumError(f"{path}: is not UTF-8 at byte {fault.start}") from None
    except OSError as fault:
        raise CurriculumError(f"{path}: can't be read: {fault.strerror or fault}") from None
    return parse_own_tasks(text, kind=path.suffix.lower().lstrip("."), name=path.name)


def parse_own_tasks(text: str, *, kind: str, name: str) -> tuple[OwnTask, ...]:
    """Read tasks from the content of a file of that kind (jsonl, ndjson, csv; anything else is plain text).

    Raises:
        CurriculumError: naming the file, the line and the cure.
    """
    reader = {"jsonl": _jsonl, "ndjson": _jsonl, "csv": _csv}.get(kind, _plain)
    found = tuple(task for task in reader(text, name) if task.text.strip())
    if not found:
        raise CurriculumError(f"{name}: holds no task with text")
    if len(found) > _MOST:
        raise CurriculumError(f"{name}: holds {len(found)} tasks; at most {_MOST} are taken at once, so split the file")
    return found


def kind_of(text: str) -> str:
    """Return the kind of pasted text: jsonl if its first line is a JSON object or text, else plain text."""
    first = text.lstrip()[:1]
    return "jsonl" if first in ("{", '"') else "txt"


def _jsonl(text: str, name: str) -> Iterator[OwnTask]:
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            data = json.loads(line)
        except json.JSONDecodeError as fault:
            raise CurriculumError(f"{name}:{number}: is not JSON: {fault.msg} at character {fault.pos}") from None
        if isinstance(data, str):
            yield OwnTask(f"{name}:{number}", data)
        elif isinstance(data, Mapping):
            yield _task(data, f"{name}:{number}")
        else:
            raise CurriculumError(f"{name}:{number}: must be an object or a text, found {type(data).__name__}")


def _csv(text: str, name: str) -> Iterator[OwnTask]:
    csv.field_size_limit(sys.maxsize)
    rows = csv.DictReader(io.StringIO(text, newline=""))
    for row in rows:
        if None in row:
            raise CurriculumError(f"{name}:{rows.line_num}: has more cells than the header")
        yield _task(row, f"{name}:{rows.line_num}")


def _plain(text: str, name: str) -> Iterator[OwnTask]:
    paragraph: list[str] = []
    start = 1
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        if line.strip():
            start = start if paragraph else number
            paragraph.append(line)
        elif paragraph:
            yield OwnTask(f"{name}:{start}", "\n".join(paragraph))
            paragraph = []


def _task(data: Mapping[str, Any], place: str) -> OwnTask:
    name = next((str(data[key]) for key in _NAMES if data.get(key)), place)
    texts = (_text(value) for key, value in data.items() if key not in _NAMES[:3])
    return OwnTask(name, "\n".join(text for text in texts if text))


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "\n".join(item for item in value if isinstance(item, str)) if isinstance(value, list) else ""
