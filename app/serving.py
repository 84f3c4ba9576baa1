"""Serving the page: alone until interrupted, or in the background for a test."""

from __future__ import annotations

import os
import socket
import sys
from typing import TYPE_CHECKING

from ale_semantic.errors import AleSemanticError

if TYPE_CHECKING:
    import gradio

    from ale_semantic.engine import Engine


def serve(engine: Engine, *, host: str, port: int, share: bool = False) -> None:
    """Serve the page until it is interrupted.

    Raises:
        AleSemanticError: if the port is taken.
    """
    page, address = start(engine, host=host, port=port, share=share)
    print(f"ALE Semantic: {address}  (Ctrl-C stops it)", file=sys.stderr, flush=True)
    page.block_thread()


def start(engine: Engine, *, host: str, port: int, share: bool = False) -> tuple[gradio.Blocks, str]:
    """Serve the page in the background and return it with its address; `close()` stops it.

    Raises:
        AleSemanticError: if the port is taken.
    """
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # Gradio reads it when it is imported
    from .page import build_page, launch_options

    free = _require_free(host, port)
    page = build_page(engine)
    _, address, _ = page.launch(
        server_name=host, server_port=free, share=share, prevent_thread_lock=True, **launch_options()
    )
    return page, address


def _require_free(host: str, port: int) -> int:
    """Return the port, or a free one for 0."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as fault:
            raise AleSemanticError(f"can't listen on {host}:{port}: {fault.strerror}; choose another --port") from None
        return int(probe.getsockname()[1])
