"""The commands of `ale-semantic curriculum` about files and catalogues: duplicates, check, export, diff."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ale_semantic.cli.options import (
    ClosenessOption,
    ForceOption,
    IndexOption,
    JsonOption,
    WhereOption,
    WordingOption,
    load_catalogue,
    open_engine,
    show,
    show_json,
    thresholds_of,
    warn,
)
from ale_semantic.errors import AleSemanticError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ale_semantic.curriculum import CatalogueDiff, Curriculum

_CHART_FORMS = ("svg", "png", "pdf")
FileArgument = Annotated[Path, typer.Argument(help="A curriculum file (.yaml).")]


def duplicates(
    own: Annotated[
        Path | None, typer.Option(help="Your own tasks (.jsonl, .csv or text): compare them instead.")
    ] = None,
    wording: WordingOption = None,
    closeness: ClosenessOption = None,
    weak: Annotated[bool, typer.Option("--weak", help="Also list pairs that are worth a look.")] = False,
    where: WhereOption = "",
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """List near-duplicate tasks, or leaks between the catalogue and your own tasks.

    Examples:

        ale-semantic curriculum duplicates

        ale-semantic curriculum duplicates --own my_tasks.jsonl --json
    """
    from ale_semantic.curriculum import Pool, leaks, read_own_tasks
    from ale_semantic.curriculum import duplicates as find_duplicates
    from ale_semantic.curriculum.views import duplicates_view, leaks_view

    thresholds = thresholds_of(wording, closeness)
    if own is not None:
        tasks = read_own_tasks(own)
        answer(leaks(open_engine(index), tasks, thresholds=thresholds), leaks_view, as_json)
        return
    report = find_duplicates(open_engine(index), thresholds=thresholds, pool=Pool(where=where), include_weak=weak)
    answer(report, duplicates_view, as_json)


def check(file: FileArgument, index: IndexOption = None, as_json: JsonOption = False) -> None:
    """Check a curriculum file against the catalogue; exits with 1 if a constraint isn't kept.

    Example:

        ale-semantic curriculum check path.yaml
    """
    from ale_semantic.curriculum import Curriculum
    from ale_semantic.curriculum import check as check_curriculum
    from ale_semantic.curriculum.views import check_view

    curriculum = Curriculum.load(file)
    result = check_curriculum(open_engine(index), curriculum)
    if as_json:
        show_json({**result.to_dict(), "kept": result.is_kept})
    else:
        show(check_view(result))
    if not result.is_kept:
        raise typer.Exit(1)


def export(
    file: FileArgument,
    target: Annotated[
        Path, typer.Argument(help="File to write: .txt (ALE task list), .md, .svg, .png or .pdf (chart).")
    ],
    force: ForceOption = False,
    index: IndexOption = None,
) -> None:
    """Write a curriculum as ALE task list, Markdown, or skill x step chart.

    Example:

        ale-semantic curriculum export path.yaml tasks.txt
    """
    from ale_semantic.curriculum import Curriculum, chart, markdown, task_list

    form = target.suffix.lower().lstrip(".")
    if form not in ("txt", "md", *_CHART_FORMS):
        raise AleSemanticError(f"{target}: its ending names no form; known are .txt, .md, .svg, .png and .pdf")
    curriculum = Curriculum.load(file)
    engine = open_engine(index)
    if form in _CHART_FORMS:
        content = chart(engine, curriculum, form=form)
    else:
        content = (task_list if form == "txt" else markdown)(engine, curriculum).encode()
    write(target, content, force=force)


def diff(
    old: Annotated[
        str, typer.Argument(help="Catalogue before: a checkout, a table, 'hub', 'demo', or an index folder.")
    ],
    new: Annotated[str, typer.Argument(help="Catalogue after, likewise.")],
    query: Annotated[list[str] | None, typer.Option("--query", "-q", help="Run on both (two index folders).")] = None,
    queries: Annotated[Path | None, typer.Option(help="File of queries, one a line.")] = None,
    curriculum: Annotated[
        list[Path] | None, typer.Option(help="Curriculum file to check on both (repeatable).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare two catalogues, and run saved queries and curricula on both.

    Examples:

        ale-semantic curriculum diff task_cards.parquet path/to/agents-last-exam

        ale-semantic curriculum diff old-index new-index -q "supplier invoices" --curriculum path.yaml
    """
    from ale_semantic.curriculum import Curriculum, read_topics
    from ale_semantic.curriculum.views import diff_view

    asked = (*(query or ()), *(read_topics(read_text(queries)) if queries is not None else ()))
    saved = [Curriculum.load(path) for path in curriculum or ()]
    result = _diff(old, new, asked, saved)
    answer(result, diff_view, as_json)


def _diff(old: str, new: str, queries: tuple[str, ...], saved: list[Curriculum]) -> CatalogueDiff:
    from ale_semantic.curriculum import compare, compare_engines
    from ale_semantic.embeddings.bundle import has_index

    both = [has_index(Path(side)) for side in (old, new)]
    if all(both):
        return compare_engines(open_engine(Path(old)), open_engine(Path(new)), queries=queries, curricula=saved)
    if queries:
        bare = old if not both[0] else new
        raise AleSemanticError(
            f"queries need an index on both sides, and {bare} is none: ale-semantic build --cards {bare} --index FOLDER"
        )
    sides = [
        open_engine(Path(side)).catalogue
        if indexed
        else load_catalogue(side, None, skip_invalid=False, smoke_tests=False)
        for side, indexed in zip((old, new), both, strict=True)
    ]
    return compare(*sides, curricula=saved)


def answer(result: Any, view: Callable[[Any], RenderableType], as_json: bool) -> None:
    """Print a result as JSON or as readable text."""
    if as_json:
        show_json(result.to_dict())
    else:
        show(view(result))


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        AleSemanticError: if it can't be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as fault:
        raise AleSemanticError(f"{path}: can't be read: {fault}") from None


def write(path: Path, content: bytes, *, force: bool) -> None:
    """Write a file that isn't there yet, or may be overwritten.

    Raises:
        AleSemanticError: if it is there already, or can't be written.
    """
    if path.exists() and not force:
        raise AleSemanticError(f"{path} exists; --force overwrites it")
    try:
        path.write_bytes(content)
    except OSError as fault:
        raise AleSemanticError(f"{path}: can't be written: {fault.strerror}") from None
    warn(f"-> {path}")


COMMANDS = (duplicates, check, export, diff)
