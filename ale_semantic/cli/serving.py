"""Commands that serve: app."""

from __future__ import annotations

from typing import Annotated

import typer

from ale_semantic.cli.options import CardsOption, IndexOption, build_here, index_folder


def app(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes any that is free.")] = 7860,
    cards: CardsOption = None,
    index: IndexOption = None,
) -> None:
    """Open the page in a browser; the index is built first if there is none.

    Example:

        ale-semantic app --port 8000
    """
    from ale_semantic.app import launch
    from ale_semantic.embeddings.bundle import has_index
    from ale_semantic.engine import Engine

    folder = index_folder(index)
    if not has_index(folder):
        build_here(folder, cards=cards, model=None)
    launch(Engine.open(folder), host=host, port=port)
