"""What every route of the service works with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from .config import ServiceConfig
from .holder import EngineHolder, OpenIndex
from .pool import WorkPool
from .telemetry import Telemetry

if TYPE_CHECKING:
    from fastapi import Request

_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Service:
    """One running service: its settings, the index that is open now, its workers and its measurements."""

    config: ServiceConfig
    holder: EngineHolder
    pool: WorkPool
    telemetry: Telemetry

    async def ask(self, stage: str, question: Callable[[OpenIndex], _Answer]) -> _Answer:
        """Answer a question on a worker thread, off the event loop, from the index that is open when it begins.

        Args:
            stage: what the time is booked under in the metrics.
            question: called once with the open index; everything it answers comes from that one index.

        Raises:
            QueueFullError: if too many questions wait already.
            DeadlineError: if the answer takes longer than the deadline of the settings.
        """

        def answer() -> _Answer:
            with self.holder.lease() as index, self.telemetry.stage(stage):
                return question(index)

        return await self.pool.run(answer)


def service_of(request: Request) -> Service:
    """Return the service that answers a request (a FastAPI dependency)."""
    service: Service = request.app.state.service
    return service
