"""Commands that serve: app."""

from __future__ import annotations

from typing import Annotated

import typer

from ale_semantic.cli.options import CardsOption, IndexOption, build_here, index_folder


def app(
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

    Example:

        ale-semantic app --port 8000
    """
    from ale_semantic.app import launch
    from ale_semantic.embeddings.bundle import has_index
    from ale_semantic.engine import Engine

    folder = index_folder(index)
    if not has_index(folder):
        build_here(folder, cards=cards, model=None)
    launch(Engine.open(folder), host=host, port=port, share=share)
