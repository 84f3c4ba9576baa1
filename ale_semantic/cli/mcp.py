"""The command `mcp`: the engine for an assistant on this machine."""

from __future__ import annotations

import sys
from functools import partial

from ale_semantic.cli.options import IndexOption, ModelOption, index_folder, warn


def mcp(index: IndexOption = None, model: ModelOption = None) -> None:
    """Serve an assistant over stdin and stdout (MCP); its configuration names this command.

    Example:

        ale-semantic mcp --index path/to/index
    """
    from ale_semantic.embeddings.bundle import has_index
    from ale_semantic.service.mcp_stdio import open_local, serve_stdio

    folder = index_folder(index)
    open_index = partial(open_local, folder, model=model)
    if not has_index(folder):
        open_index()  # says what is missing now, not at an assistant's first question
    if sys.stdin.isatty():
        warn("Waiting for an MCP client on stdin; assistants start this command themselves (docs/service.md).")
    serve_stdio(open_index)
