"""The MCP server of one assistant on this machine: over stdin and stdout, with an engine of its own."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import asynccontextmanager, redirect_stdout
from typing import Any, TypeVar

from ale_semantic.engine import Engine

from .mcp_server import explain_in_full, mcp_server

_Answer = TypeVar("_Answer")
_THREADS = 4  # one of them opens the engine


class LocalAsker:
    """Answers on threads of this process; the first questions wait until the engine is open."""

    def __init__(self, open_engine: Callable[[], Engine]) -> None:
        """Keep how the engine is opened; `running` begins to."""
        self._open_engine = open_engine
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="mcp")
        self._engine: Future[Engine] | None = None

    async def __call__(
        self, _stage: str, question: Callable[[Engine], _Answer], /, *, text: str = "", bulk: bool = False
    ) -> _Answer:
        """Answer a question; one client needs no care for others, so bulk ones go with the rest, and nothing is logged.

        Raises:
            AleSemanticError: if the engine can't be opened, or refuses what is asked.
        """
        opened = self._opened()
        return await asyncio.wrap_future(self._threads.submit(lambda: question(opened.result())))

    @asynccontextmanager
    async def running(self, _server: Any) -> AsyncIterator[None]:
        """Open the engine beside the handshake, and drop what still waits at the end."""
        try:
            # The SDK keeps file descriptor 1 for itself; but what a library prints is buffered, and would come out at
            # the end, when that descriptor is stdout again.
            with redirect_stdout(sys.stderr):
                self._opened()
                yield
        finally:
            self._threads.shutdown(wait=False, cancel_futures=True)

    def _opened(self) -> Future[Engine]:
        """Return the engine that is open or being opened; after a failure, which may be mended by now, anew."""
        failed = self._engine is not None and self._engine.done() and self._engine.exception() is not None
        if self._engine is None or failed:
            self._engine = self._threads.submit(self._open_engine)
        return self._engine


def serve_stdio(open_engine: Callable[[], Engine]) -> None:
    """Serve one client over stdin and stdout until it closes them; everything else goes to stderr."""
    ask = LocalAsker(open_engine)
    mcp_server(ask, explain=explain_in_full, lifespan=ask.running).run("stdio")
