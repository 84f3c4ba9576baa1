"""What the service tells of itself: times by stage, counts, one log line per request, spans where wanted.

Nothing here keeps what a user asked: the text of a query is dropped unless the settings ask for it, and a key is only
known by its id.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from .config import ServiceConfig
from .metrics import Metrics
from .tracing import Tracing

UNREAD = "unread"  # the route of a request that was refused before it was read
OTHER = "OTHER"  # its method, and any that HTTP doesn't name
_LONGEST_QUERY = 500  # characters of a query in the log


@dataclass(slots=True)
class RequestRecord:
    """What is known of one request while it is under way."""

    request_id: str
    method: str
    begun: float = field(default_factory=perf_counter)
    stages: dict[str, float] = field(default_factory=dict)  # seconds
    key_id: str | None = None
    query: str | None = None


# Both follow a request into the thread that works for it, if that thread runs in a copy of its context.
_current: ContextVar[RequestRecord | None] = ContextVar("ale_request", default=None)
_within: ContextVar[list[float] | None] = ContextVar("ale_stage", default=None)


class Telemetry:
    """Measurements, log and spans of one process."""

    def __init__(self, config: ServiceConfig) -> None:
        """Register the metrics; connect to the collector of spans if one is set.

        Raises:
            MissingExtraError: if spans are wanted and OpenTelemetry isn't installed.
        """
        self.config = config
        self.metrics = Metrics()
        self.tracing = Tracing(config.otlp_endpoint)
        self.log = logging.getLogger("ale_semantic.service")

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Book the time of a block under a stage; a stage within it keeps its own, so that all add up.

        Args:
            name: a fixed word of the code (it becomes a label), never something from a request.
        """
        outer, own = _within.get(), [0.0]
        token = _within.set(own)
        begun = perf_counter()
        try:
            with self.tracing.span(name):
                yield
        finally:
            took = perf_counter() - begun
            _within.reset(token)
            if outer is not None:
                outer[0] += took
            self.add(name, took - own[0])

    def add(self, stage: str, seconds: float) -> None:
        """Book time that was measured elsewhere, such as waiting in the queue."""
        seconds = max(seconds, 0.0)
        self.metrics.stages.labels(stage).observe(seconds)
        record = _current.get()
        if record is not None:
            record.stages[stage] = record.stages.get(stage, 0.0) + seconds

    def queue(self, *, waiting: int, running: int) -> None:
        """Say how many questions wait and how many are being answered."""
        self.metrics.waiting.set(waiting)
        self.metrics.running.set(running)

    def cache(self, name: str, *, hits: int = 0, misses: int = 0) -> None:
        """Count look-ups in a cache."""
        if hits:
            self.metrics.cache.labels(name, "hit").inc(hits)
        if misses:
            self.metrics.cache.labels(name, "miss").inc(misses)

    def index_opened(self, *, generation: str, tasks: int, model: str, revision: str, dimension: int) -> None:
        """Say which index and model are served from now on."""
        self.metrics.tell(
            {"generation": generation, "tasks": str(tasks)},
            {"model": model, "revision": revision, "dimension": str(dimension)},
        )
        self.event("index opened", generation=generation, tasks=tasks, model=model, revision=revision)

    def reload(self, outcome: str, *, problem: str = "") -> None:
        """Count a look for a new index: `opened`, `unchanged` or `failed`, the last with its problem."""
        self.metrics.reloads.labels(outcome).inc()
        if problem:
            self.event("index not opened; the earlier one stays", level=logging.ERROR, problem=problem)

    def fault(self, kind: str) -> None:
        """Count a refusal or failure by its type."""
        self.metrics.errors.labels(kind).inc()

    def unread(self, status: int, kind: str, *, client: str) -> None:
        """Count and log a request that was refused before it was read, by the reason alone: it may hold anything."""
        self.metrics.requests.labels(OTHER, UNREAD, str(status)).inc()
        self.fault(kind)
        level = logging.ERROR if status >= 500 else logging.INFO
        self.event("request", level=level, route=UNREAD, status=status, problem=kind, client=client)

    def note_query(self, text: str) -> None:
        """Keep the text of a query for the log line of its request, if the settings ask for it."""
        record = _current.get()
        if self.config.log_queries and record is not None:
            record.query = text[:_LONGEST_QUERY]

    def event(self, message: str, *, level: int = logging.INFO, **fields: Any) -> None:
        """Write a line into the log, with the id of the request that is under way."""
        record = _current.get()
        if record is not None:
            fields.setdefault("request_id", record.request_id)
        self.log.log(level, message, extra={"fields": fields})

    @contextmanager
    def request(self, record: RequestRecord) -> Iterator[None]:
        """Make a record the current one for a block."""
        token = _current.set(record)
        self.metrics.in_flight.inc()
        try:
            yield
        finally:
            self.metrics.in_flight.dec()
            _current.reset(token)

    def close(self) -> None:
        """Send what spans are left."""
        self.tracing.close()


def current_request() -> RequestRecord | None:
    """Return the record of the request that this code works for, if any."""
    return _current.get()
