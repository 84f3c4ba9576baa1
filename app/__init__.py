"""The page in the browser. Gradio is imported when the page is built, not before."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import gradio

    from ale_semantic.engine import Engine

__all__ = ["build_page", "launch"]


def build_page(engine: Engine) -> gradio.Blocks:
    """Return the page over an engine; `launch` serves it."""
    from .page import build_page as build

    return build(engine)


def launch(engine: Engine, *, host: str = "127.0.0.1", port: int = 7860, share: bool = False) -> None:
    """Serve the page until it is interrupted.

    Args:
        engine: the engine, shared by all visitors.
        host: the address to listen on.
        port: the port; 0 takes any that is free.
        share: also open a public link through Gradio's servers.

    Raises:
        AleSemanticError: if the port is taken.
    """
    from .serving import serve

    serve(engine, host=host, port=port, share=share)
