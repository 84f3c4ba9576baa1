"""Downloads: the selection or a whole answer, in each form that the exporter writes."""

from __future__ import annotations

import base64
from dataclasses import dataclass, replace

from ale_semantic.errors import AleSemanticError, QueryError
from ale_semantic.export import ExportFormat, Selected, Selection, export_bytes
from ale_semantic.question import MAX_K

from .conditions import condition_of
from .context import Site
from .state import State

_MEDIA_TYPES = {
    ExportFormat.CSV: "text/csv",
    ExportFormat.JSONL: "application/x-ndjson",
    ExportFormat.MARKDOWN: "text/markdown",
    ExportFormat.PARQUET: "application/vnd.apache.parquet",
    ExportFormat.TASK_LIST: "text/plain",
}


@dataclass(frozen=True, slots=True)
class Download:
    """A file for the browser to keep; `problem` says why there is none."""

    name: str
    media_type: str
    base64: str
    problem: str = ""


def download(site: Site, address: str, form: str, scope: str) -> Download:
    """Return the selection (`scope` is `selection`) or all hits (`results`) of an address as a file.

    `curriculum:0` is the first list of the Curriculum tab, `curriculum:1` the second, and so on.
    """
    try:
        if scope.startswith("curriculum:"):
            return _curriculum(site, State.from_query(address), form, scope.partition(":")[2])
        kind = _form(form)
        state = State.from_query(address)
        chosen = selection(site, state) if scope == "selection" else results(site, state)
        content = export_bytes(chosen, kind)
    except AleSemanticError as fault:
        return Download("", "", "", str(fault))
    stem = "ale-selection" if scope == "selection" else "ale-results"
    return Download(f"{stem}.{kind}", _MEDIA_TYPES[kind], base64.b64encode(content).decode())


def _curriculum(site: Site, state: State, form: str, part: str) -> Download:
    from .curriculum.files import MEDIA_TYPES, content_of

    kind, content = content_of(site, state, form, part)
    return Download(f"ale-curriculum.{kind}", MEDIA_TYPES[kind], base64.b64encode(content).decode())


def selection(site: Site, state: State) -> Selection:
    """Return the basket of a state, in the user's order, with notes.

    Raises:
        QueryError: if it is empty.
        AleSemanticError: if a task or the filter is unknown.
    """
    if not state.selection:
        raise QueryError("the selection is empty: add tasks first")
    notes = dict(state.notes)
    tasks = tuple(
        Selected(site.engine.catalogue.get(task_id), note=notes.get(task_id, "")) for task_id in state.selection
    )
    return Selection(tasks, state.query, _where(state), site.engine.provenance)


def results(site: Site, state: State) -> Selection:
    """Return all hits of a state's search.

    Raises:
        AleSemanticError: if the search can't be served.
    """
    from .search_tab import answer
    from .similar_tab import answer as similar_answer
    from .state import Sort, Tab

    whole = replace(state, page=1, size=MAX_K, sort=Sort.RELEVANCE)
    result = similar_answer(site, whole) if state.tab is Tab.SIMILAR else answer(site, whole)
    if not result.hits:
        raise QueryError("there is no task to export: nothing passes the filter")
    return Selection.of_result(result)


def _where(state: State) -> str:
    condition = condition_of(state)
    return str(condition) if condition is not None else ""


def _form(form: str) -> ExportFormat:
    try:
        return ExportFormat(form)
    except ValueError:
        raise QueryError(f"unknown form {form!r}; valid are {', '.join(ExportFormat)}") from None
