"""Options and small helpers that several commands share."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ale_semantic.types import Band, Mode

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from ale_semantic.catalogue import Catalogue
    from ale_semantic.curriculum import Pool, TwinThresholds
    from ale_semantic.embeddings.build_report import BuildReport
    from ale_semantic.engine import Engine

CardsOption = Annotated[
    str | None,
    typer.Option(
        "--cards",
        envvar="ALE_CARDS",
        help="Catalogue: a checkout, a .jsonl/.json/.csv/.parquet file, 'hub', 'demo' or 'auto'.",
    ),
]
RevisionOption = Annotated[str | None, typer.Option(help="Branch, tag or commit of the Hub's data set.")]
SkipOption = Annotated[bool, typer.Option("--skip-invalid", help="Leave out cards that can't be read.")]
SmokeOption = Annotated[bool, typer.Option("--smoke-tests", help="Also take the harness's smoke tests (domain demo).")]
IndexOption = Annotated[Path | None, typer.Option("--index", envvar="ALE_INDEX", help="Folder of the index.")]
ModelOption = Annotated[str | None, typer.Option("--model", help="Refuse unless the index was built with this model.")]
WhereOption = Annotated[
    str, typer.Option("--where", "-w", help="Filter, e.g. 'domain = legal and os = linux and inputs >= 3'.")
]
KOption = Annotated[int, typer.Option("--k", "-k", help="Hits on this page.")]
OffsetOption = Annotated[int, typer.Option("--offset", help="Hits before this page.")]
ModeOption = Annotated[Mode, typer.Option("--mode", help="Legs that take part.")]
BandOption = Annotated[Band | None, typer.Option("--min-band", help="Leave out hits below this band.")]
DomainOption = Annotated[list[str] | None, typer.Option("--domain", help="Take tasks of this domain (repeatable).")]
SystemOption = Annotated[list[str] | None, typer.Option("--os", help="Take tasks of this system (repeatable).")]
ExcludeOption = Annotated[list[str] | None, typer.Option("--exclude", help="Leave this task out (repeatable).")]
TwinsOption = Annotated[bool, typer.Option("--allow-twins", help="Near twins may both be taken.")]
WordingOption = Annotated[
    float | None, typer.Option("--wording", help="Shared wording from which two tasks are near twins.")
]
ClosenessOption = Annotated[
    float | None, typer.Option("--closeness", help="Closeness from which two tasks are near twins.")
]
OutOption = Annotated[Path | None, typer.Option("--out", "-o", help="Also save it as a curriculum file (.yaml).")]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite the file.")]
ExplainOption = Annotated[bool, typer.Option("--explain", help="Also tell how the vectors were searched.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON (docs/json.md) instead of a table.")]


def console() -> Console:
    """Return the console for answers."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


def show(view: RenderableType) -> None:
    """Print a table or text."""
    console().print(view)


def show_json(value: Any) -> None:
    """Print JSON; on a terminal it is indented."""
    print(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


def show_build(report: BuildReport) -> None:
    """Print what a build did: without Rich, whose import would be a fiftieth of the time of a quick one."""
    dropped = f"{report.tokens_dropped} tokens dropped"
    model = f"model {report.model.name}, {report.model.dimension} dimensions"
    coloured = False if os.environ.get("NO_COLOR") else None  # by default, if it is a terminal that shows them
    typer.echo(f"{report.cards} tasks ({report.embedded} embedded, {report.reused} reused), {report.passages} passages")
    typer.echo(f"{report.tokens_seen} tokens seen, ", nl=False)
    typer.secho(dropped, fg="red" if report.tokens_dropped else "green", color=coloured)
    typer.echo(f"{model}, {report.seconds:.1f} s -> {report.folder}")
    for notice in report.notices:
        typer.secho(notice, fg="yellow", color=coloured)


def warn(message: str) -> None:
    """Print a notice on the error stream, where it doesn't get into a pipe."""
    from rich.console import Console
    from rich.text import Text

    Console(stderr=True, highlight=False).print(Text(message, style="bold yellow"))


def index_folder(index: Path | None) -> Path:
    """Return the index folder that an option or the settings name."""
    from ale_semantic.settings import Settings

    return index or Settings.from_environment().index


def pool_of(where: str, domain: list[str] | None, system: list[str] | None, exclude: list[str] | None) -> Pool:
    """Return the pool of tasks that the options describe."""
    from ale_semantic.curriculum import Pool

    return Pool(where=where, domains=tuple(domain or ()), systems=tuple(system or ()), exclude=tuple(exclude or ()))


def thresholds_of(wording: float | None, closeness: float | None) -> TwinThresholds:
    """Return from where on two tasks are near twins; what isn't given is as usual."""
    from ale_semantic.curriculum import TwinThresholds

    usual = TwinThresholds()
    return TwinThresholds(
        wording=usual.wording if wording is None else wording,
        closeness=usual.closeness if closeness is None else closeness,
    )


@contextmanager
def spool_folder(index: Path) -> Iterator[Path]:
    """Give a folder beside an index, on the same disk, for cards that are too many for memory.

    Those that killed builds left there are removed.

    Raises:
        BundleError: if none can be made there.
    """
    from contextlib import ExitStack

    from ale_semantic.errors import BundleError
    from ale_semantic.leftovers import held_folder

    with ExitStack() as stack:
        try:
            index.parent.mkdir(parents=True, exist_ok=True)
            folder = stack.enter_context(held_folder(index.parent, f".{index.name}-cards-"))
        except OSError as fault:
            raise BundleError(f"{index}: can't be written: {fault.strerror or fault}") from None
        yield folder


def load_catalogue(
    cards: str | None, revision: str | None, *, skip_invalid: bool, smoke_tests: bool, spool: Path | None = None
) -> Catalogue:
    """Load the catalogue that the options name, and print what the user must know of it."""
    from ale_semantic.catalogue import Catalogue
    from ale_semantic.settings import Settings

    settings = Settings.from_environment()
    catalogue = Catalogue.load(
        cards or settings.cards,
        skip_invalid=skip_invalid,
        include_smoke_tests=smoke_tests,
        revision=revision,
        hub_timeout=settings.hub_timeout,
        spool=spool,
    )
    for notice in catalogue.notices:
        warn(notice)
    for fault in catalogue.skipped:
        warn(f"left out: {fault}")
    return catalogue


def open_engine(index: Path | None, *, model: str | None = None, warm: bool = False) -> Engine:
    """Open the index; with none there, a person at a terminal is asked whether to build it.

    Args:
        index: its folder; by default the one of the settings.
        model: refuse unless the index was built with this model.
        warm: a query comes next: its encoder is loaded meanwhile.

    Raises:
        BundleError: if there is no index and nobody to ask, or it is damaged.
    """
    from ale_semantic.embeddings.bundle import has_index
    from ale_semantic.engine import Engine

    folder = index_folder(index)
    missing = not has_index(folder) and sys.stdin.isatty() and sys.stdout.isatty()
    if missing and typer.confirm(f"There is no index in {folder}. Build it now?", default=True):
        build_here(folder, cards=None, model=model)
    return Engine.open(folder, model=model, warm=warm)


def require_index(folder: Path, context: typer.Context, *, cards: str | None) -> None:
    """Build the index if there is none; where there is one and the command names cards, see that it is of these.

    Cards that a variable names are those to build of, as everywhere: to compare them would take longer than to open
    the index.

    Raises:
        BundleMismatchError: if it is of other cards.
    """
    from ale_semantic.embeddings.bundle import has_index, open_generation

    if not has_index(folder):
        build_here(folder, cards=cards, model=None)
        return
    source = context.get_parameter_source("cards")
    if cards is None or source is None or source.name != "COMMANDLINE":
        return
    _, manifest = open_generation(folder)
    _require_cards(folder, cards, manifest["catalogue"])


def _require_cards(folder: Path, cards: str, indexed: dict[str, Any]) -> None:
    """See that an index is of these cards, with or without those that can't be read and the smoke tests.

    Raises:
        BundleMismatchError: if it isn't.
    """
    from shlex import quote
    from tempfile import TemporaryDirectory

    from ale_semantic.errors import BundleMismatchError

    found = []
    for smoke_tests in (False, True):
        with TemporaryDirectory(prefix="ale-cards-") as spool:  # the index may stand where nothing can be written
            catalogue = load_catalogue(cards, None, skip_invalid=True, smoke_tests=smoke_tests, spool=Path(spool))
            found.append((catalogue.fingerprint, len(catalogue)))
        if catalogue.fingerprint == indexed["fingerprint"]:
            return
        if len(catalogue) >= indexed["cards"]:  # smoke tests would only be more
            break
    fingerprint, count = found[0]
    options = f"--cards {quote(cards)}{' --skip-invalid' if catalogue.skipped else ''} --index {quote(str(folder))}"
    raise BundleMismatchError(
        f"{folder}: the index is not of these cards: it holds {indexed['cards']} tasks of {indexed['name']} "
        f"({indexed['fingerprint'][:12]}), while --cards {cards} has {count} of {catalogue.origin.name} "
        f"({fingerprint[:12]}). Rebuild it with: ale-semantic build {options}; "
        "or leave out --cards to open the index as it is; or name another folder with --index to build it there"
    )


def build_here(folder: Path, *, cards: str | None, model: str | None) -> None:
    """Build the index of the default catalogue, showing what is done."""
    from ale_semantic.embeddings.build import build_index
    from ale_semantic.settings import Settings

    chosen = model or Settings.from_environment().model
    with spool_folder(folder) as spool:
        catalogue = load_catalogue(cards, None, skip_invalid=False, smoke_tests=False, spool=spool)
        warn(f"Building the index of {len(catalogue)} tasks ({catalogue.origin.name}) with {chosen} ...")
        show_build(build_index(catalogue, folder, model=chosen, progress=sys.stderr.isatty()))
