"""Commands that serve: the page alone, and the service."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ale_semantic.cli.options import CardsOption, IndexOption, index_folder, require_index, warn


def app(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 lets other machines in.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes any that is free.", min=0, max=65535)] = 7860,
    cards: CardsOption = None,
    index: IndexOption = None,
    share: Annotated[
        bool,
        typer.Option(
            "--share/--share-off", help="Also open a public link for 72 hours through Gradio's servers; off by default."
        ),
    ] = False,
) -> None:
    """Open the page in a browser; the index is built first if there is none.

    An index that is there must be of the cards that --cards names.

    Example:

        ale-semantic app --port 8000
    """
    from ale_semantic.app import launch
    from ale_semantic.engine import Engine

    folder = index_folder(index)
    require_index(folder, context, cards=cards)
    launch(Engine.open(folder, warm=True), host=host, port=port, share=share)


def serve(
    context: typer.Context,
    host: Annotated[
        str | None, typer.Option(help="Address to listen on, by default this machine alone. Others need an API key.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port, by default 8000; 0 takes any that is free.", min=0, max=65535)
    ] = None,
    index: IndexOption = None,
    cards: CardsOption = None,
    ui: Annotated[bool | None, typer.Option("--ui/--no-ui", help="Serve the page at /, by default yes.")] = None,
    with_mcp: Annotated[bool | None, typer.Option("--mcp/--no-mcp", help="Serve MCP at /mcp, by default yes.")] = None,
    threads: Annotated[int | None, typer.Option(help="Searches that run at once in a process.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes that share the index; more than one: --no-ui.")] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file with any of the settings (docs/service.md).")] = None,
    others: Annotated[
        list[str] | None, typer.Option("--set", help="Any other setting, as NAME=VALUE (repeatable).")
    ] = None,
) -> None:
    """Serve the REST API, embeddings, MCP and the page to other programs; docs/service.md has the whole picture.

    Every setting can also be given as a variable ALE_SERVICE_... or in a TOML file; options here win. The index is
    built first if there is none; one that is there must be of the cards that --cards names.

    Examples:

        ale-semantic serve

        ale-semantic serve --no-ui --port 9000 --config service.toml

        ale-semantic serve --set rate_limit=120/minute --set max_k=50
    """
    from ale_semantic.service import serving
    from ale_semantic.service.config import ServiceConfig

    flags = {"host": host, "port": port, "index": index, "ui": ui, "mcp": with_mcp}
    flags |= {"threads": threads, "workers": workers}
    named = ServiceConfig.named(others or ())
    settings = ServiceConfig.load(config, **{**flags, **named})
    folder = serving.index_folder(settings)
    require_index(folder, context, cards=cards)
    serving.serve(settings, ready=lambda address: warn(f"ALE Semantic: {address}  (Ctrl-C stops it)"))
