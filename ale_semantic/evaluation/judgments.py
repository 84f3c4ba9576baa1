"""Relevance judgments: JSON lines with query texts, or TREC qrels with a topics file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ale_semantic.errors import JudgmentError

NO_ANSWER = "no-answer"
SIMILAR = "similar"


@dataclass(frozen=True, slots=True)
class JudgedQuery:
    """One query with the graded tasks; a task that isn't listed has grade 0.

    `task` is set instead of a query text where the question is "which tasks are like this one".
    """

    qid: str
    query: str
    relevant: Mapping[str, int]
    kind: str = "all"
    lang: str = "en"
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    task: str = ""

    @property
    def answerable(self) -> bool:
        """Tell whether any task is relevant."""
        return any(grade > 0 for grade in self.relevant.values())


def load_judgments(path: Path, *, topics: Path | None = None) -> list[JudgedQuery]:
    """Read judgments.

    Args:
        path: JSON lines with `query` (or `task`) and `rel`, or TREC qrels (`qid 0 docid grade`).
        topics: for TREC qrels, the query texts: one `qid<TAB>query` a line.

    Raises:
        JudgmentError: naming the file, the line and what is wrong with it.
    """
    lines = list(_lines(path))
    if not lines:
        raise JudgmentError(f"{path}: holds no judgments")
    judged = _from_json(path, lines) if lines[0][1].startswith("{") else _from_trec(path, lines, topics)
    seen: set[str] = set()
    for query in judged:
        if query.qid in seen:
            raise JudgmentError(f"{path}: query id {query.qid!r} stands twice")
        seen.add(query.qid)
    return judged


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        content = path.read_text(encoding="utf-8-sig")
    except OSError as fault:
        raise JudgmentError(f"{path}: can't be read: {fault.strerror}") from None
    except UnicodeDecodeError as fault:
        raise JudgmentError(f"{path}: is not UTF-8 at byte {fault.start}") from None
    for number, line in enumerate(content.split("\n"), start=1):
        if line.strip():
            yield number, line.strip()


def _from_json(path: Path, lines: list[tuple[int, str]]) -> list[JudgedQuery]:
    judged = []
    for number, line in lines:
        where = f"{path}:{number}"
        try:
            row = json.loads(line)
        except json.JSONDecodeError as fault:
            raise JudgmentError(f"{where}: is not JSON: {fault.msg} at character {fault.pos}") from None
        if not isinstance(row, dict) or not (row.get("query") or row.get("task")):
            raise JudgmentError(f"{where}: must be an object with 'query' (or 'task') and 'rel'")
        task = str(row.get("task") or "")
        judged.append(
            JudgedQuery(
                qid=str(row.get("qid") or task or f"line-{number}"),
                query=str(row.get("query") or ""),
                relevant=_grades(where, row.get("rel")),
                kind=str(row.get("kind") or (SIMILAR if task else "all")),
                lang=str(row.get("lang") or "en"),
                filters=_filters(where, row.get("filters")),
                task=task,
            )
        )
    return judged


def _grades(where: str, grades: Any) -> dict[str, int]:
    if not isinstance(grades, dict) or not all(isinstance(grade, int) and grade >= 0 for grade in grades.values()):
        raise JudgmentError(f"{where}: 'rel' must map task ids to whole grades of 0 or more")
    return {str(task_id): grade for task_id, grade in grades.items() if grade > 0}


def _filters(where: str, filters: Any) -> dict[str, tuple[str, ...]]:
    if not filters:
        return {}
    if not isinstance(filters, dict):
        raise JudgmentError(f"{where}: 'filters' must map fields to values")
    return {
        str(name): tuple(str(value) for value in (values if isinstance(values, list) else [values]))
        for name, values in filters.items()
    }


def _from_trec(path: Path, lines: list[tuple[int, str]], topics: Path | None) -> list[JudgedQuery]:
    if topics is None:
        raise JudgmentError(f"{path}: TREC qrels hold no query texts; give them with --topics FILE (qid<TAB>query)")
    texts: dict[str, str] = {}
    for number, line in _lines(topics):
        qid, tab, text = line.partition("\t")
        if not tab or not text.strip():
            raise JudgmentError(f"{topics}:{number}: must be a query id, a tab and the query")
        texts[qid.strip()] = text.strip()
    grades: dict[str, dict[str, int]] = {qid: {} for qid in texts}
    for number, line in lines:
        parts = line.split()
        if len(parts) != 4 or not parts[3].lstrip("-").isdigit():
            raise JudgmentError(f"{path}:{number}: must be 'qid 0 task_id grade'")
        qid, _, task_id, grade = parts
        if qid not in texts:
            raise JudgmentError(f"{path}:{number}: query id {qid!r} isn't in {topics}")
        if int(grade) > 0:
            grades[qid][task_id] = int(grade)
    return [JudgedQuery(qid=qid, query=texts[qid], relevant=found) for qid, found in grades.items()]
