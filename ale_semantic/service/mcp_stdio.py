"""The MCP server of one assistant on this machine: over stdin and stdout, with an index of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, redirect_stdout
from pathlib import Path
from typing import Any, TypeVar

from ale_semantic.engine import Engine

from .config import ServiceConfig
from .holder import EngineHolder
from .mcp_server import explain_in_full, mcp_server
from .telemetry import Telemetry

_Answer = TypeVar("_Answer")
_THREADS = 4  # one of them opens the index


def open_local(folder: Path, *, model: str | None = None) -> EngineHolder:
    """Open the index in a folder as the service does, by its default settings.

    Args:
        folder: the index folder.
        model: refuse an index of another model, now and later.

    Raises:
        AleSemanticError: if it can't be opened.
    """
    config = ServiceConfig.exactly(index=folder)
    return EngineHolder.open(folder, config, Telemetry(config), model=model)


class LocalAsker:
    """Answers on threads of this process; the first questions wait until the index is open.

    An index that was built anew meanwhile is opened by the next question. If it can't be, the earlier one goes on
    answering, and the error stream says why.
    """

    def __init__(self, open_index: Callable[[], EngineHolder]) -> None:
        """Keep how the index is opened; `running` begins to."""
        self._open_index = open_index
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="mcp")
        self._index: Future[EngineHolder] | None = None

    async def __call__(
        self, _stage: str, question: Callable[[Engine], _Answer], /, *, text: str = "", bulk: bool = False
    ) -> _Answer:
        """Answer a question; one client needs no care for others, so bulk ones go with the rest, and nothing is logged.

        Raises:
            AleSemanticError: if the index can't be opened, or refuses what is asked.
        """
        opened = self._opened()

        def answer() -> _Answer:
            holder = opened.result()
            holder.look()
            with holder.lease() as index:
                return question(index.engine)

        return await asyncio.wrap_future(self._threads.submit(answer))

    @asynccontextmanager
    async def running(self, _server: Any) -> AsyncIterator[None]:
        """Open the index beside the handshake, and drop what still waits at the end."""
        try:
            # The SDK keeps file descriptor 1 for itself; but what a library prints is buffered, and would come out at
            # the end, when that descriptor is stdout again.
            with redirect_stdout(sys.stderr):
                self._opened()
                yield
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _opened(self) -> Future[EngineHolder]:
        """Return the index that is open or being opened; after a failure, which may be mended by now, anew."""
        failed = self._index is not None and self._index.done() and self._index.exception() is not None
        if self._index is None or failed:
            self._index = self._threads.submit(self._open_index)
        return self._index


def serve_stdio(open_index: Callable[[], EngineHolder]) -> None:
    """Serve one client over stdin and stdout until it closes them; everything else goes to stderr."""
    ask = LocalAsker(open_index)
    mcp_server(ask, explain=explain_in_full, lifespan=ask.running).run("stdio")
