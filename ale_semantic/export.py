"""Answers as files: CSV, JSONL, Markdown, Parquet, and the task list that the ALE runner takes.

Each file says which query, filter, model and catalogue made it.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ale_semantic.errors import AleSemanticError
from ale_semantic.serialise import card_to_dict
from ale_semantic.sources.tables import FORMULA
from ale_semantic.types import Provenance, SearchResult, TaskCard

CARD_ADDRESS = "https://github.com/rdi-berkeley/agents-last-exam/tree/main/tasks/"
# Characters that Markdown, or GitHub's dialect of it, may take for more than themselves.
_MARKS = re.compile(r"[\\`*_{}\[\]>#|!~$@]")
_LINE_STARTS = re.compile(r"^([-+=]|\d+(?=[.)]))")


class ExportFormat(StrEnum):
    """The forms that a selection can be written in."""

    CSV = "csv"
    JSONL = "jsonl"
    MARKDOWN = "md"
    PARQUET = "parquet"
    TASK_LIST = "txt"


@dataclass(frozen=True, slots=True)
class Selected:
    """One task of an export; rank and score are null where it was picked by hand."""

    card: TaskCard
    rank: int | None = None
    score: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Selection:
    """Tasks to write, and what they came from."""

    tasks: tuple[Selected, ...]
    query: str
    where: str
    provenance: Provenance

    @classmethod
    def of_result(cls, result: SearchResult) -> Selection:
        """Select the hits of an answer."""
        tasks = tuple(Selected(hit.card, hit.rank, hit.score) for hit in result.hits)
        return cls(tasks, result.query, result.where, result.provenance)

    def origin(self) -> dict[str, str]:
        """Return what made this selection, as text by name."""
        made_by = self.provenance
        return {
            "query": self.query,
            "filter": self.where,
            "model": f"{made_by.model}@{made_by.model_revision}",
            "catalogue": made_by.catalogue,
            "fingerprint": made_by.fingerprint,
            "made_by": f"ale-semantic {made_by.version}",
        }


def export_format(path: Path) -> ExportFormat:
    """Return the format that a file's ending names.

    Raises:
        AleSemanticError: if it names none.
    """
    ending = {"markdown": "md", "ndjson": "jsonl"}.get(path.suffix[1:].lower(), path.suffix[1:].lower())
    try:
        return ExportFormat(ending)
    except ValueError:
        known = ", ".join(f".{form}" for form in ExportFormat)
        raise AleSemanticError(f"{path}: its ending names no export format; known are {known}") from None


def export_bytes(selection: Selection, form: ExportFormat) -> bytes:
    """Return a selection as the content of a file."""
    return _WRITERS[form](selection)


def _csv(selection: Selection) -> bytes:
    rows = [_flat(task, selection) for task in selection.tasks]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=_columns(selection))
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return text.getvalue().encode("utf-8-sig")  # with the mark by which spreadsheets know UTF-8


def _jsonl(selection: Selection) -> bytes:
    lines = [
        json.dumps(
            {
                **card_to_dict(task.card),
                "rank": task.rank,
                "score": task.score,
                "note": task.note,
                "export": selection.origin(),
            },
            ensure_ascii=False,
        )
        for task in selection.tasks
    ]
    return ("\n".join(lines) + "\n").encode() if lines else b""


def _markdown(selection: Selection) -> bytes:
    origin = [f"- {name}: {markdown_text(value) or '-'}" for name, value in selection.origin().items()]
    lines = ["# Tasks", "", *origin, ""]
    lines += ["| # | task | title | tiers | system | software | note |", "|---|---|---|---|---|---|---|"]
    for place, task in enumerate(selection.tasks, start=1):
        card = task.card
        cells = (
            str(place),
            card.task_id,
            card.title,
            ", ".join(card.tiers),
            str(card.os or ""),
            ", ".join(card.software_names),
            task.note,
        )
        lines.append("| " + " | ".join(markdown_text(cell) for cell in cells) + " |")
    for task in selection.tasks:
        address = CARD_ADDRESS + quote(task.card.task_id)
        title, task_id, summary = map(markdown_text, (task.card.title, task.card.task_id, task.card.summary))
        lines += ["", f"## {title}", "", f"[{task_id}]({address})", "", summary]
    return ("\n".join(lines) + "\n").encode()


def _parquet(selection: Selection) -> bytes:
    import pyarrow
    import pyarrow.parquet

    rows = [_flat(task, selection) for task in selection.tasks]
    table = pyarrow.Table.from_pylist(rows) if rows else pyarrow.table({name: [] for name in _columns(selection)})
    stream = io.BytesIO()
    pyarrow.parquet.write_table(
        table.replace_schema_metadata({f"ale_semantic.{k}": v for k, v in selection.origin().items()}), stream
    )
    return stream.getvalue()


def _task_list(selection: Selection) -> bytes:
    header = [f"# {name}: {' '.join(value.split())}" for name, value in selection.origin().items()]
    ids = dict.fromkeys(task.card.task_id for task in selection.tasks)
    return ("\n".join([*header, *ids]) + "\n").encode()


def _flat(task: Selected, selection: Selection) -> dict[str, Any]:
    card = card_to_dict(task.card)
    card = {name: _joined(value) for name, value in card.items()}
    return {
        "rank": task.rank,
        "score": task.score,
        **card,
        "note": task.note,
        **{f"export_{name}": value for name, value in selection.origin().items()},
    }


def _joined(value: Any) -> Any:
    """Return a list or object as JSON text: a table's cell holds one value, and nothing is lost."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (list, dict)) else value


def _columns(selection: Selection) -> list[str]:
    if not selection.tasks:
        return ["rank", "score", "task_id", "title", *(f"export_{name}" for name in selection.origin())]
    return list(_flat(selection.tasks[0], selection))


def _cell(value: Any) -> Any:
    """Return a cell that no spreadsheet takes for a formula."""
    return "'" + value if isinstance(value, str) and FORMULA.match(value) else value


def markdown_text(text: str) -> str:
    """Return text as Markdown that shows it literally, on one line."""
    flat = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;")
    flat = _MARKS.sub(r"\\\g<0>", flat)
    # A list, a rule or an underlined heading begins with these, at the start of a line only.
    return _LINE_STARTS.sub(lambda start: f"&#{ord(start[0][0])};{start[0][1:]}", flat)


_WRITERS: Mapping[ExportFormat, Callable[[Selection], bytes]] = {
    ExportFormat.CSV: _csv,
    ExportFormat.JSONL: _jsonl,
    ExportFormat.MARKDOWN: _markdown,
    ExportFormat.PARQUET: _parquet,
    ExportFormat.TASK_LIST: _task_list,
}


def selection_of(cards: Sequence[TaskCard], provenance: Provenance) -> Selection:
    """Select cards picked by hand."""
    return Selection(tuple(Selected(card) for card in cards), "", "", provenance)
