"""What every route of the service works with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypeVar

from fastapi import Depends, Request  # FastAPI reads the annotation below when the routes are made

from .answer_cache import Answer, AnswerCache
from .config import ServiceConfig
from .holder import EngineHolder, OpenIndex
from .pool import WorkPool
from .telemetry import Telemetry

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Service:
    """One running service: its settings, the index that is open now, its workers and its measurements."""

    config: ServiceConfig
    holder: EngineHolder
    pool: WorkPool
    telemetry: Telemetry
    answers: AnswerCache

    @classmethod
    def of(cls, config: ServiceConfig, holder: EngineHolder, pool: WorkPool, telemetry: Telemetry) -> Service:
        """Put the parts together, with a cache of answers as large as the settings say."""
        return cls(config, holder, pool, telemetry, AnswerCache(config.answer_cache_mb * 1_000_000))

    async def ask(self, stage: str, question: Callable[[OpenIndex], _Answer], *, bulk: bool = False) -> _Answer:
        """Answer a question on a worker thread, off the event loop, from the index that is open when it begins.

        Args:
            stage: what the time is booked under in the metrics.
            question: called once with the open index; everything it answers comes from that one index.
            bulk: it may take seconds, as a batch of embeddings does: at most half of the threads are given to such.

        Raises:
            QueueFullError: if too many questions wait already.
            DeadlineError: if the answer takes longer than the deadline of the settings.
        """

        def answer() -> _Answer:
            with self.holder.lease() as index, self.telemetry.stage(stage):
                return question(index)

        return await self.pool.run(answer, bulk=bulk)

    async def answer(
        self, stage: str, asked: str, question: Callable[[OpenIndex], bytes], *, bulk: bool = False
    ) -> Answer:
        """Answer as `ask` does, once for all who ask the same of the same index.

        Args:
            stage: what the time is booked under in the metrics.
            asked: all that the answer depends on besides the index, such as the path and the query string.
            question: called with the open index, returns the body of the answer.
            bulk: as of `ask`.

        Raises:
            QueueFullError, DeadlineError: as `ask` does.
        """

        made = False

        async def make() -> Answer:
            nonlocal made
            made = True
            return await self.ask(stage, lambda index: Answer(question(index), index.etag), bulk=bulk)

        found = await self.answers.get(self.holder.current.etag, asked, make)
        self.telemetry.cache("answers", hits=not made, misses=made)
        return found


def service_of(request: Request) -> Service:
    """Return the service that answers a request."""
    service: Service = request.app.state.service
    return service


async def _service(request: Request) -> Service:
    return service_of(request)  # FastAPI would call what isn't async on another thread


Serving = Annotated[Service, Depends(_service)]
