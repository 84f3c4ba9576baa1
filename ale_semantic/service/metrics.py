"""The numbers that the service counts, in Prometheus' form.

With several workers each counts in files of a folder that all share (the client's multiprocess mode; the parent makes
the folder and names it in PROMETHEUS_MULTIPROC_DIR before it starts them), so that any worker answers for them all.
Label values come from the code alone (templates of routes, names of stages), never from a request.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

MULTIPROCESS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
# From a cached answer (a millisecond) to the deadline (ten seconds, unless set otherwise).
_REQUEST_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_STAGE_BUCKETS = (0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_MEMORY_SECONDS = 5.0  # reading the process's memory costs a file read: not at each request
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


class Metrics:
    """All metrics of one process, in a registry of their own."""

    def __init__(self) -> None:
        """Register the metrics."""
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

        # Creation dates would double the lines, and nobody asks for them.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        own: dict[str, Any] = {"registry": self.registry}
        self.requests = Counter("ale_requests", "Requests answered.", ("method", "route", "status"), **own)
        self.latency = Histogram(
            "ale_request_seconds", "Time of a request.", ("route",), buckets=_REQUEST_BUCKETS, **own
        )
        self.stages = Histogram(
            "ale_stage_seconds",
            "Time of a stage, without the stages within it.",
            ("stage",),
            buckets=_STAGE_BUCKETS,
            **own,
        )
        self.errors = Counter("ale_errors", "Refusals and failures by type.", ("type",), **own)
        self.in_flight = Gauge("ale_requests_in_flight", "Requests under way.", multiprocess_mode="livesum", **own)
        self.waiting = Gauge("ale_queue_waiting", "Questions that wait.", multiprocess_mode="livesum", **own)
        self.running = Gauge("ale_queue_running", "Questions being answered.", multiprocess_mode="livesum", **own)
        self.cache = Counter("ale_cache", "Look-ups in a cache.", ("cache", "outcome"), **own)
        self.reloads = Counter(
            "ale_index_reloads", "Looks at the index folder that found something.", ("outcome",), **own
        )
        self.index = Gauge(
            "ale_index_info",
            "1 for the index that is served.",
            ("generation", "tasks"),
            multiprocess_mode="livemax",
            **own,
        )
        self.model = Gauge(
            "ale_model_info",
            "1 for the encoder of the index.",
            ("model", "revision", "dimension"),
            multiprocess_mode="livemax",
            **own,
        )
        self.memory = Gauge(
            "ale_process_memory_bytes", "Resident memory of the process.", multiprocess_mode="liveall", **own
        )
        self._memory_read = 0.0
        self._told: dict[str, tuple[str, ...]] = {}
        self._lock = Lock()
        if not is_shared():
            from prometheus_client import GCCollector, PlatformCollector, ProcessCollector

            for collector in (ProcessCollector, PlatformCollector, GCCollector):
                collector(registry=self.registry)
        for name in ("answers", "query_vectors"):
            for outcome in ("hit", "miss"):  # a rate needs both from the start
                self.cache.labels(name, outcome)

    def tell(self, index: Mapping[str, str], model: Mapping[str, str]) -> None:
        """Set the info gauges to the index and model that are served from now on."""
        with self._lock:
            for name, gauge, labels in (("index", self.index, index), ("model", self.model, model)):
                values = tuple(labels.values())
                before = self._told.get(name)
                if before is not None and before != values:
                    gauge.labels(*before).set(0)  # a file of the shared mode can't forget a label set
                    if not is_shared():
                        gauge.remove(*before)
                gauge.labels(**labels).set(1)
                self._told[name] = values

    def read_memory(self, *, now: bool = False) -> None:
        """Note the memory of this process, if the last reading is old."""
        moment = time.monotonic()
        if now or moment - self._memory_read >= _MEMORY_SECONDS:
            self._memory_read = moment
            self.memory.set(resident_bytes())

    def exposition(self, accept: str = "") -> tuple[bytes, str]:
        """Return all metrics as text, and its content type."""
        from prometheus_client import CollectorRegistry
        from prometheus_client.exposition import choose_encoder
        from prometheus_client.multiprocess import MultiProcessCollector

        self.read_memory(now=True)
        registry = self.registry
        if is_shared():
            forget_ended_workers()
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        encode, content_type = choose_encoder(accept)
        return encode(registry), content_type


def is_shared() -> bool:
    """Tell whether the workers count in one folder."""
    return bool(os.environ.get(MULTIPROCESS_VARIABLE))


def shared_folder() -> Path | None:
    """Return the folder that all workers share, if there are several."""
    return Path(os.environ[MULTIPROCESS_VARIABLE]) if is_shared() else None


def forget_ended_workers() -> None:
    """Drop what workers that have ended were doing (a killed one can't say so); what they counted stays."""
    from prometheus_client.multiprocess import mark_process_dead

    for file in Path(os.environ[MULTIPROCESS_VARIABLE]).glob("gauge_live*.db"):
        pid = file.stem.rpartition("_")[2]
        if pid.isdecimal() and not _is_running(int(pid)):
            mark_process_dead(int(pid))  # type: ignore[no-untyped-call]


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)  # asks only
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def resident_bytes() -> int:
    """Return the resident memory of this process; where /proc is missing, its peak."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE
    except OSError:
        import resource
        import sys

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
