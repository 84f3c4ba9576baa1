"""Who asks the engine for the page: what waits for whom, and over which index."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, Protocol, TypeVar

from .context import Site

if TYPE_CHECKING:
    from ale_semantic.engine import Engine

_Value = TypeVar("_Value")


class Ask(Protocol):
    """How the page's work is done: off the event loop, over the engine that is open when it begins."""

    async def __call__(self, question: Callable[[Engine], _Value], /) -> _Value:
        """Answer a question from the engine."""
        ...


class Desk:
    """Answers visitors; when the engine is exchanged for a newer one, what was computed from the old one goes."""

    def __init__(self, ask: Ask, engine: Engine) -> None:
        """Take the way to ask and the engine that is open now."""
        self._ask = ask
        self._lock = Lock()
        self.site = Site(engine)

    def warm_up(self) -> None:
        """Do in the background what the first visitor would wait for."""
        self.site.warm_up()

    async def answer(self, question: Callable[[Site], _Value]) -> _Value:
        """Answer a question from the site of the engine that is open when it begins."""
        return await self._ask(lambda engine: question(self._site_of(engine)))

    def _site_of(self, engine: Engine) -> Site:
        with self._lock:
            if self.site.engine is not engine:
                self.site = Site(engine)
                self.site.warm_up()
            return self.site


def ask_in_threads(engine: Engine) -> Ask:
    """Return the way to ask one engine for good, on Gradio's own threads."""

    async def ask(question: Callable[[Engine], _Value], /) -> _Value:
        from anyio.to_thread import run_sync

        return await run_sync(question, engine)

    return ask
