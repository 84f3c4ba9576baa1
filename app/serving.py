"""Serving the page: alone until interrupted, or in the background for a test."""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING

from ale_semantic.errors import AleSemanticError

from .desk import Desk, ask_in_threads
from .quick_import import import_gradio, spare_apps_left_out

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
    free = _require_free(host, port)
    import_gradio()
    from .page import launch_options, page_of

    desk = Desk(ask_in_threads(engine), engine)
    with spare_apps_left_out():
        page = page_of(desk)
    _, address, _ = page.launch(
        server_name=host, server_port=free, share=share, prevent_thread_lock=True, **launch_options()
    )
    desk.warm_up()  # not sooner: the page would wait for it
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
