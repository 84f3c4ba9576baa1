"""The endpoints for `gradio_client`: named, typed, documented by their docstrings. They answer with plain JSON.

The shapes are those of docs/json.md, but an input file's `path` is called `file_path` here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, ParamSpec

from ale_semantic.errors import AleSemanticError
from ale_semantic.serialise import card_to_dict, facets_to_dict, result_to_dict

from .context import Site
from .desk import Desk
from .exporting import download
from .state import State

MAX_HITS = 1000  # an answer of a few MB; more pages are more calls
_Parameters = ParamSpec("_Parameters")


def add(desk: Desk) -> None:
    """Add the endpoints to the Gradio app that is being built; the desk says how many calls are served at once."""
    from gradio.events import api

    for name, function in functions(desk.site).items():
        api(_told(desk, name, function), api_name=name, concurrency_limit=None)


def functions(site: Site) -> dict[str, Callable[..., dict[str, Any]]]:
    """Return the functions behind the endpoints by name."""
    engine = site.engine

    def search(
        query: str = "", where: str = "", k: int = 10, offset: int = 0, mode: str = "hybrid", min_band: str = ""
    ) -> dict[str, Any]:
        """Search tasks by meaning among those that pass a filter such as 'os = linux and inputs >= 3'."""
        _bound(k)
        result = engine.search(query, where=where, k=k, offset=offset, mode=mode, min_band=min_band or None)
        return result_to_dict(result)

    def similar(
        tasks: list[str] | None = None,
        unlike: list[str] | None = None,
        text: str = "",
        where: str = "",
        k: int = 10,
        offset: int = 0,
    ) -> dict[str, Any]:
        """Find tasks like given ones (by id) or like a text, and unlike others."""
        _bound(k)
        result = engine.similar(*(tasks or ()), unlike=unlike or (), text=text, where=where, k=k, offset=offset)
        return result_to_dict(result)

    def task(task_id: str) -> dict[str, Any]:
        """Return one whole task card."""
        return card_to_dict(engine.catalogue.get(task_id))

    def facets(where: str = "") -> dict[str, Any]:
        """Count every facet's values, each under the other facets' selections."""
        return facets_to_dict(engine.facets(where=where))

    def export(tasks: list[str], form: str = "csv") -> dict[str, Any]:
        """Write tasks as csv, jsonl, md, parquet or txt (the ALE runner's task list); the content is Base64."""
        file = download(site, State(selection=tuple(tasks)).to_query(), form, "selection")
        if file.problem:
            raise AleSemanticError(file.problem)
        return {"name": file.name, "media_type": file.media_type, "base64": file.base64}

    return {function.__name__: function for function in (search, similar, task, facets, export)}


def _bound(k: int) -> None:
    if k > MAX_HITS:
        raise AleSemanticError(f"k may be at most {MAX_HITS} here, not {k}; fetch the rest with offset")


def _without_paths(value: Any) -> Any:
    """Return an answer in which no object has the key `path`: `gradio_client` would take it for a file to fetch."""
    if isinstance(value, dict):
        return {"file_path" if key == "path" else key: _without_paths(inner) for key, inner in value.items()}
    return [_without_paths(inner) for inner in value] if isinstance(value, list) else value


def _told(
    desk: Desk, name: str, function: Callable[_Parameters, dict[str, Any]]
) -> Callable[_Parameters, Awaitable[dict[str, Any]]]:
    """Wrap a function so that the caller reads its own fault's message, and of a bug only that it is one."""
    import gradio

    @wraps(function)
    async def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = await desk.answer(
                lambda site: _without_paths(functions(site)[name](*args, **kwargs))
            )
            return answer
        except AleSemanticError as fault:
            raise gradio.Error(str(fault), print_exception=False) from None

    return call
