"""Runs: what an engine answers to judged queries, and earlier runs read from files."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ale_semantic.engine import Engine
from ale_semantic.errors import JudgmentError
from ale_semantic.evaluation.judgments import JudgedQuery
from ale_semantic.filters import Condition, all_of, field
from ale_semantic.types import Mode, SearchResult, Verdict

DEPTH = 100  # hits kept a query; every measure here looks at the first ten


@dataclass(frozen=True, slots=True)
class Answer:
    """The ranked tasks of one query with their scores, the verdict, and the time it took."""

    tasks: Mapping[str, float]
    verdict: Verdict | None = None
    milliseconds: float | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """The answers of one system by query id."""

    name: str
    answers: Mapping[str, Answer]


def run_engine(
    engine: Engine, judged: Sequence[JudgedQuery], *, mode: Mode = Mode.HYBRID, name: str | None = None
) -> Run:
    """Ask the engine every judged query, filters applied before ranking.

    Raises:
        AleSemanticError: if a query names a task or filter value that the catalogue doesn't have.
    """
    answers = {}
    for query in judged:
        started = time.perf_counter()
        result = _ask(engine, query, mode)
        elapsed = (time.perf_counter() - started) * 1000
        # The score is made from the rank: measures sort by score alone, and ties must keep the engine's order.
        tasks = {hit.task_id: float(DEPTH - place) for place, hit in enumerate(result.hits)}
        answers[query.qid] = Answer(tasks, result.verdict, elapsed)
    return Run(name or f"{engine.provenance.model} {mode}", answers)


def _ask(engine: Engine, query: JudgedQuery, mode: Mode) -> SearchResult:
    where = condition_of(query.filters)
    if query.task:
        return engine.similar(query.task, where=where, k=DEPTH, facets=False)
    return engine.search(query.query, where=where, k=DEPTH, mode=mode, facets=False)


def condition_of(filters: Mapping[str, Sequence[str]]) -> Condition | None:
    """Return the condition that a judged query's filters stand for: OR within a field, AND between fields."""
    conditions = [field(name).is_in(*values) for name, values in filters.items()]
    return all_of(conditions)


def load_run(path: Path) -> Run:
    """Read an earlier run: this program's JSON, or a TREC run (`qid Q0 task_id rank score tag`).

    Raises:
        JudgmentError: if it is neither.
    """
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        raise JudgmentError(f"{path}: can't be read: {fault}") from None
    if content.lstrip().startswith("{"):
        try:
            return _from_json(json.loads(content))
        except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as fault:
            raise JudgmentError(f"{path}: is no evaluation result ({fault})") from None
    answers: dict[str, dict[str, float]] = {}
    for number, line in enumerate(content.splitlines(), start=1):
        parts = line.split()
        try:
            answers.setdefault(parts[0], {})[parts[2]] = float(parts[4])
        except (IndexError, ValueError):
            raise JudgmentError(f"{path}:{number}: must be 'qid Q0 task_id rank score tag'") from None
    return Run(path.stem, {qid: Answer(tasks) for qid, tasks in answers.items()})


def run_to_dict(run: Run) -> dict[str, Any]:
    """Return a run as JSON values; `load_run` reads it back."""
    return {
        "name": run.name,
        "answers": {
            qid: {
                "tasks": list(answer.tasks),
                "verdict": str(answer.verdict) if answer.verdict else None,
                "milliseconds": answer.milliseconds,
            }
            for qid, answer in run.answers.items()
        },
    }


def _from_json(stored: dict[str, Any]) -> Run:
    run = stored.get("run", stored)
    return Run(
        run["name"],
        {
            qid: Answer(
                {task_id: float(DEPTH - place) for place, task_id in enumerate(answer["tasks"])},
                Verdict(answer["verdict"]) if answer.get("verdict") else None,
                answer.get("milliseconds"),
            )
            for qid, answer in run["answers"].items()
        },
    )
