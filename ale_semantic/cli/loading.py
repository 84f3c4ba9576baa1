"""The Typer application, with the one command that is asked for: a module is imported when its command is needed."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, NamedTuple

import typer

from ale_semantic import __version__
from ale_semantic.cli.plain import PlainCommand, PlainGroup


class Source(NamedTuple):
    """Where a command or a group of commands is, and what it does: the first line of its own help."""

    place: str
    help: str


# In the order of the help.
COMMANDS = {
    "build": Source("catalogues.build", "Build the index of a catalogue; only what changed is embedded again."),
    "search": Source("searching.search", "Find tasks by meaning."),
    "similar": Source("searching.similar", "Find tasks like others, and unlike some."),
    "facets": Source("searching.facets", "Count the values of the facets, each under the other facets' selections."),
    "show": Source("searching.show", "Show one whole card."),
    "export": Source("searching.export", "Write tasks to a file that a harness, a spreadsheet or a notebook takes."),
    "lint": Source(
        "catalogues.lint",
        "List what is odd in the cards of a catalogue: missing, contradicting or drifting fields.",
    ),
    "vocabulary": Source(
        "catalogues.vocabulary",
        "List the spellings of software and formats that the alias tables leave to general rules.",
    ),
    "info": Source("catalogues.info", "Say what an index holds, and whether all its files are whole."),
    "app": Source("serving.app", "Open the page in a browser; the index is built first if there is none."),
    "serve": Source(
        "serving.serve",
        "Serve the REST API, embeddings, MCP and the page to other programs; docs/service.md has the whole picture.",
    ),
    "mcp": Source("mcp.mcp", "Serve an assistant over stdin and stdout (MCP); its configuration names this command."),
    "keys": Source("keys.app", "Make, list and revoke the API keys of the service."),
    "eval": Source(
        "evaluating.evaluate",
        'Measure retrieval on judged queries: nDCG@10, MRR, recall@10, and "nothing fits".',
    ),
    "curriculum": Source(
        "curriculum.app",
        "Design curricula: ladders, paths, subsets, splits, coverage, duplicates, prerequisites, files, diffs.",
    ),
}


def application(arguments: Sequence[str] = ()) -> typer.Typer:
    """Return the application for some arguments: with the command that they name, or with the names of all.

    To import all commands would take longer than the help may take as a whole.
    """
    asked = next((argument for argument in arguments if not argument.startswith("-")), "")
    made = _empty()
    if asked in COMMANDS:
        _add(made, asked)
    else:
        for name, source in COMMANDS.items():
            made.command(name=name, short_help=source.help)(_nothing)
    return made


def whole_application() -> typer.Typer:
    """Return the application with all commands."""
    made = _empty()
    for name in COMMANDS:
        _add(made, name)
    return made


def _empty() -> typer.Typer:
    made = typer.Typer(
        name="ale-semantic",
        cls=PlainGroup,
        help="Find agent-benchmark tasks by meaning, with facet filters.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # Rich takes as long to load as all the rest
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog="Start with: ale-semantic build --cards FOLDER, then: ale-semantic search 'your words'.",
    )
    made.callback()(_root)
    return made


def _add(made: typer.Typer, name: str) -> None:
    """Import a command or a group of commands and add it."""
    module, _, attribute = COMMANDS[name].place.partition(".")
    command = getattr(import_module(f"ale_semantic.cli.{module}"), attribute)
    if isinstance(command, typer.Typer):
        made.add_typer(command, short_help=COMMANDS[name].help)
    else:
        made.command(name=name, short_help=COMMANDS[name].help, cls=PlainCommand)(command)


def _nothing() -> None:
    """Stand in for a command in the list of all."""


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"ale-semantic {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
