"""From parameters to an answer: pure functions over one open index, called on a worker thread."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from ale_semantic.errors import UnknownNameError
from ale_semantic.facet_columns import nearest
from ale_semantic.requests import clean_query, condition_of, require_likeness
from ale_semantic.serialise import SCHEMA_VERSION, card_to_dict, facets_to_dict, result_to_dict
from ale_semantic.types import Facet, SearchResult

from .config import ServiceConfig
from .cursors import make_cursor, question_of, read_cursor
from .models import CardParts
from .parameters import (
    ALL,
    NONE,
    BatchParameters,
    FacetsParameters,
    OneTask,
    PageParameters,
    Parameters,
    SearchParameters,
    ShownParameters,
    SimilarParameters,
    TasksParameters,
)
from .problems import PROBLEM_TYPE, ParameterError, problem_of

if TYPE_CHECKING:
    from .holder import OpenIndex

CARD_COLUMNS = tuple(name for name in CardParts.model_fields)
COMPACT_COLUMNS = (
    "task_id",
    "title",
    "category",
    "subdomain",
    "tiers",
    "os",
    "gpu",
    "licensed",
    "timeout",
    "software_names",
    "input_formats",
)
# How a page is cut and shown is no part of its question: a later page may show more or less.
_NOT_THE_QUESTION = frozenset({"k", "offset", "cursor", "fields", "compact", "facets"})
Json = dict[str, Any]


def search(index: OpenIndex, asked: SearchParameters, config: ServiceConfig) -> Json:
    """Answer a search."""
    _check_length("query", asked.query, config)
    columns, counted = _columns(asked), _counted(asked.facets, index)
    question, offset = _place("search", asked, index, config)
    result = index.engine.search(
        asked.query,
        where=asked.where,
        k=asked.k,
        offset=offset,
        mode=asked.mode,
        min_band=asked.min_band,
        facets=bool(counted),
        understand=asked.understand,
        ignore=asked.ignore,
    )
    return _paged(result, index, question, offset, columns, counted)


def similar(index: OpenIndex, asked: SimilarParameters, config: ServiceConfig) -> Json:
    """Answer which tasks are like given ones."""
    _check_length("text", asked.text, config)
    columns, counted = _columns(asked), _counted(asked.facets, index)
    question, offset = _place("similar", asked, index, config)
    result = index.engine.similar(
        *asked.like,
        unlike=asked.unlike,
        text=asked.text,
        where=asked.where,
        k=asked.k,
        offset=offset,
        min_band=asked.min_band,
        facets=bool(counted),
        variant=asked.variant,
    )
    return _paged(result, index, question, offset, columns, counted)


def facets(index: OpenIndex, asked: FacetsParameters, config: ServiceConfig) -> Json:
    """Answer how many tasks have each value."""
    _check_length("query", asked.query, config)
    counted = _counted(asked.fields or [ALL], index, param="fields")
    result = index.engine.search(
        asked.query,
        where=asked.where,
        k=1,
        mode=asked.mode,
        min_band=asked.min_band,
        understand=asked.understand,
        ignore=asked.ignore,
    )
    return {
        "schema": SCHEMA_VERSION,
        "query": result.query,
        "where": result.where,
        "counted": result.counted,
        "total": result.total,
        "facets": facets_to_dict(_chosen(result.facets, counted)),
        **origin(index),
    }


def tasks(index: OpenIndex, asked: TasksParameters, config: ServiceConfig) -> Json:
    """Answer a page of cards in the order of their ids."""
    columns = _columns(asked)
    question, offset = _place("tasks", asked, index, config)
    result = index.engine.search("", where=asked.where, k=asked.k, offset=offset, facets=False)
    return {
        "schema": SCHEMA_VERSION,
        "where": result.where,
        "total": result.total,
        "tasks": [_cut(card_to_dict(hit.card), columns) for hit in result.hits],
        "next": _next(result, index, question, offset),
        **origin(index),
    }


def task(index: OpenIndex, asked: OneTask, config: ServiceConfig) -> Json:
    """Answer one card.

    Raises:
        UnknownNameError: if there is no task of that id.
    """
    columns = _columns(asked)
    return _cut(card_to_dict(index.engine.catalogue.get(asked.task_id)), columns)


def batch(index: OpenIndex, asked: BatchParameters, config: ServiceConfig) -> Json:
    """Answer several cards; an unknown id fails by itself."""
    columns = _columns(asked)
    items = [_batch_item(index, number, task_id, columns) for number, task_id in enumerate(asked.task_ids)]
    failed = sum(item["problem"] is not None for item in items)
    return {"schema": SCHEMA_VERSION, "tasks": items, "failed": failed, **origin(index)}


def check(route: str, index: OpenIndex, asked: Parameters, config: ServiceConfig) -> None:
    """Refuse what the answer of a route would refuse, as far as that takes no search."""
    match asked:
        case SearchParameters():
            _check_length("query", asked.query, config)
            _counted(asked.facets, index)
        case SimilarParameters():
            _check_length("text", asked.text, config)
            _counted(asked.facets, index)
            require_likeness(asked.like, asked.unlike, clean_query(asked.text), asked.variant)
            for task_id in (*asked.like, *asked.unlike):
                index.engine.catalogue.row(task_id)
        case FacetsParameters():
            _check_length("query", asked.query, config)
            _counted(asked.fields or [ALL], index, param="fields")
        case OneTask():
            index.engine.catalogue.row(asked.task_id)
    if isinstance(asked, ShownParameters):
        _columns(asked)
    if isinstance(asked, PageParameters):
        _place(route, asked, index, config)
    index.engine.facet_table.packed(condition_of(getattr(asked, "where", "")))


def reloaded(index: OpenIndex, *, new: bool) -> Json:
    """Answer what a reload did."""
    return {"reloaded": new, **origin(index)}


def origin(index: OpenIndex) -> Json:
    """Return which build of the index answered, and from what."""
    return {"generation": index.generation, "provenance": asdict(index.engine.provenance)}


def _place(route: str, asked: PageParameters, index: OpenIndex, config: ServiceConfig) -> tuple[bytes, int]:
    """Return the question's digest, and how many hits stand before the page that is asked for."""
    if asked.k > config.max_k:
        raise ParameterError(
            f"k may be at most {config.max_k}, not {asked.k}; fetch the rest with the cursor `next`", param="k"
        )
    question = question_of(route, **asked.model_dump(mode="json", exclude=set(_NOT_THE_QUESTION)))
    if asked.cursor is None:
        return question, asked.offset
    if asked.offset:
        raise ParameterError("a cursor already says where the page begins; leave out offset", param="offset")
    return question, read_cursor(asked.cursor, question, index.etag)


def _paged(
    result: SearchResult,
    index: OpenIndex,
    question: bytes,
    offset: int,
    columns: Collection[str],
    counted: Collection[str],
) -> Json:
    answer = result_to_dict(replace(result, facets=_chosen(result.facets, counted)))
    for hit in answer["hits"]:
        hit["card"] = _cut(hit["card"], columns)
    return {**answer, "next": _next(result, index, question, offset), **origin(index)}


def _next(result: SearchResult, index: OpenIndex, question: bytes, offset: int) -> str | None:
    after = offset + len(result.hits)
    return make_cursor(after, question, index.etag) if result.hits and after < result.total else None


def _columns(asked: ShownParameters) -> Collection[str]:
    """Return the columns of the card to answer."""
    if not asked.fields:
        return COMPACT_COLUMNS if asked.compact else CARD_COLUMNS
    if asked.compact:
        raise ParameterError("fields already says what to answer; leave out compact", param="compact")
    _check_names("column", asked.fields, CARD_COLUMNS, param="fields")
    return {"task_id", *asked.fields}


def _cut(card: Mapping[str, Any], columns: Collection[str]) -> Json:
    return {name: value for name, value in card.items() if name in columns}


def _counted(names: Sequence[str], index: OpenIndex, *, param: str = "facets") -> Collection[str]:
    """Return the fields to count."""
    table = index.engine.facet_table
    if list(names) == [NONE]:
        return ()
    if list(names) == [ALL]:
        return table.countable_fields
    _check_names("facet", names, table.countable_fields, param=param)
    return names


def _chosen(counts: Sequence[Facet], names: Collection[str]) -> tuple[Facet, ...]:
    return tuple(facet for facet in counts if facet.field in names)


def _check_names(kind: str, names: Sequence[str], known: Sequence[str], *, param: str) -> None:
    for name in names:
        if name not in known:
            near = nearest(name, known)
            raise ParameterError(str(UnknownNameError(kind, name, near)), param=param, nearest=tuple(near))


def _check_length(param: str, text: str, config: ServiceConfig) -> None:
    if len(text) > config.max_query_chars:
        detail = f"{param} has {len(text)} characters; at most {config.max_query_chars} are taken"
        raise ParameterError(detail, param=param)


def _batch_item(index: OpenIndex, number: int, task_id: str, columns: Collection[str]) -> Json:
    item: Json = {"index": number, "task_id": task_id, "card": None, "problem": None}
    try:
        item["card"] = _cut(card_to_dict(index.engine.catalogue.get(task_id)), columns)
    except UnknownNameError as fault:
        problem = problem_of(fault)
        item["problem"] = {
            "type": PROBLEM_TYPE + problem.slug,
            "title": problem.title,
            "status": problem.status,
            "detail": problem.detail,
            "nearest": list(problem.nearest),
        }
    return item
