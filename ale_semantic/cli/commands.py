"""The Typer application and its commands, in the order of the help."""

from __future__ import annotations

from typing import Annotated

import typer

from ale_semantic import __version__
from ale_semantic.cli import catalogues, curriculum, evaluating, keys, mcp, searching, serving

app = typer.Typer(
    name="ale-semantic",
    help="Find agent-benchmark tasks by meaning, with facet filters.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Start with: ale-semantic build --cards FOLDER, then: ale-semantic search 'your words'.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"ale-semantic {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


for _command in (
    catalogues.build,
    searching.search,
    searching.similar,
    searching.facets,
    searching.show,
    searching.export,
    catalogues.lint,
    catalogues.vocabulary,
    catalogues.info,
    serving.app,
    serving.serve,
    mcp.mcp,
):
    app.command()(_command)
app.command(name="eval")(evaluating.evaluate)
app.add_typer(curriculum.app)
app.add_typer(keys.app)
