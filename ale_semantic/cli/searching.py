"""Commands that ask the index: search, similar, facets, show, export."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ale_semantic.cli.options import (
    BandOption,
    ExplainOption,
    IndexOption,
    JsonOption,
    KOption,
    ModelOption,
    ModeOption,
    OffsetOption,
    WhereOption,
    open_engine,
    show_json,
    warn,
)
from ale_semantic.cli.options import show as print_view
from ale_semantic.errors import AleSemanticError
from ale_semantic.types import Mode

if TYPE_CHECKING:
    from ale_semantic.types import SearchResult


def search(
    query: Annotated[str, typer.Argument(help="Everyday words, keywords, an id or a title; blank browses.")] = "",
    where: WhereOption = "",
    k: KOption = 10,
    offset: OffsetOption = 0,
    mode: ModeOption = Mode.HYBRID,
    min_band: BandOption = None,
    rerank: Annotated[
        str | None, typer.Option(help="Read the best again with this cross-encoder: a local folder or a Hub name.")
    ] = None,
    index: IndexOption = None,
    model: ModelOption = None,
    explain: ExplainOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find tasks by meaning.

    Examples:

        ale-semantic search "reconcile supplier invoices"

        ale-semantic search "tumour on CT scans" --where "os = linux and tier = near-term" -k 5

        ale-semantic search "kubernetes" --mode lexical --json | jq '.hits[].task_id'
    """
    engine = open_engine(index, model=model, warm=bool(query.strip()) and mode is not Mode.LEXICAL)
    second = None
    if rerank is not None:
        from ale_semantic.embeddings.reranker import CrossEncoderReranker

        second = CrossEncoderReranker.load(rerank)
    result = engine.search(
        query, where=where, k=k, offset=offset, mode=mode, min_band=min_band, facets=as_json, rerank=second
    )
    _print_result(result, as_json, explain)


def similar(
    tasks: Annotated[list[str] | None, typer.Argument(help="Ids of tasks to be near to.")] = None,
    unlike: Annotated[list[str] | None, typer.Option("--not", help="Id of a task to be far from (repeatable).")] = None,
    text: Annotated[
        str, typer.Option("--text", help="A task description to be near to; '-' reads it from stdin.")
    ] = "",
    variant: Annotated[
        str | None, typer.Option(help="What must differ: other-domain, other-software, easier or harder.")
    ] = None,
    where: WhereOption = "",
    k: KOption = 10,
    offset: OffsetOption = 0,
    min_band: BandOption = None,
    index: IndexOption = None,
    explain: ExplainOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find tasks like others, and unlike some.

    Examples:

        ale-semantic similar business_finance/ar_full_300

        ale-semantic similar engineering/mold-flow engineering/Analog_Active --not visual_media/uv_reproduction

        ale-semantic similar --text - < my_task.md
    """
    engine = open_engine(index, warm=bool(text))
    described = sys.stdin.read() if text == "-" else text
    result = engine.similar(
        *(tasks or ()),
        unlike=unlike or (),
        text=described,
        where=where,
        k=k,
        offset=offset,
        min_band=min_band,
        facets=as_json,
        variant=variant,
    )
    _print_result(result, as_json, explain)


def facets(
    names: Annotated[list[str] | None, typer.Argument(help="Facets to show; by default all.")] = None,
    query: Annotated[str, typer.Option("--query", "-q", help="Count only tasks that match this query.")] = "",
    where: WhereOption = "",
    min_band: BandOption = None,
    limit: Annotated[int, typer.Option(help="Values shown per facet; 0 shows all.")] = 15,
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count the values of the facets, each under the other facets' selections.

    Examples:

        ale-semantic facets domain tier

        ale-semantic facets software --where "domain = engineering" --limit 0
    """
    from ale_semantic.errors import UnknownNameError

    engine = open_engine(index, warm=bool(query.strip()))
    result = engine.search(query, where=where, k=1, min_band=min_band)
    known = [facet.field for facet in result.facets]
    for name in names or ():
        if name not in known:
            raise UnknownNameError("facet", name, known)
    chosen = [facet for facet in result.facets if not names or facet.field in names]
    if as_json:
        from ale_semantic.serialise import facets_to_dict

        show_json({"where": result.where, "counted": result.counted, "facets": facets_to_dict(chosen)})
    else:
        from ale_semantic.render import facets_view

        print_view(facets_view(chosen, counted=result.counted, limit=limit))


def show(
    task: Annotated[str, typer.Argument(help="The task's id.")],
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one whole card.

    Example:

        ale-semantic show business_finance/odoo
    """
    card = open_engine(index).catalogue.get(task)
    if as_json:
        from ale_semantic.serialise import card_to_dict

        show_json(card_to_dict(card))
    else:
        from ale_semantic.render import card_view

        print_view(card_view(card))


def export(
    file: Annotated[Path, typer.Argument(help="File to write: .csv, .jsonl, .md, .parquet, or .txt (ALE task list).")],
    query: Annotated[str, typer.Option("--query", "-q", help="Query; blank exports all that pass the filter.")] = "",
    where: WhereOption = "",
    k: Annotated[int, typer.Option("--k", "-k", help="At most so many tasks.")] = 10_000,
    mode: ModeOption = Mode.HYBRID,
    min_band: BandOption = None,
    tasks: Annotated[list[str] | None, typer.Option("--task", help="Export these ids, in this order.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
    index: IndexOption = None,
) -> None:
    """Write tasks to a file that a harness, a spreadsheet or a notebook takes.

    Examples:

        ale-semantic export tasks.txt -q "medical imaging" --where "os = linux" -k 5

        ale-semantic export legal.csv --where "domain = legal"
    """
    from ale_semantic.export import Selection, export_bytes, export_format, selection_of

    form = export_format(file)
    if file.exists() and not force:
        raise AleSemanticError(f"{file} exists; --force overwrites it")
    engine = open_engine(index)
    if tasks:
        if query or where:
            raise AleSemanticError("--task names the tasks by hand; leave out --query and --where")
        selection = selection_of([engine.catalogue.get(task) for task in tasks], engine.provenance)
    else:
        selection = Selection.of_result(
            engine.search(query, where=where, k=k, mode=mode, min_band=min_band, facets=False)
        )
    content = export_bytes(selection, form)
    try:
        file.write_bytes(content)
    except OSError as fault:
        raise AleSemanticError(f"{file}: can't be written: {fault.strerror}") from None
    warn(f"{len(selection.tasks)} tasks -> {file}")


def _print_result(result: SearchResult, as_json: bool, explain: bool) -> None:
    if as_json:
        from ale_semantic.serialise import result_to_dict

        show_json(result_to_dict(result))
    else:
        from ale_semantic.render import plan_view, result_view

        print_view(result_view(result))
        if explain:
            print_view(plan_view(result.plan))
