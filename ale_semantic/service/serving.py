"""Serving: one process, or several that share one port and one memory-mapped index."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ale_semantic.embeddings.bundle import open_generation
from ale_semantic.settings import Settings

from .config import ServiceConfig, ServiceConfigError
from .core import Service
from .guarding import check_exposure
from .holder import EngineHolder
from .pool import WorkPool
from .protocol import uvicorn_settings
from .telemetry import Telemetry

if TYPE_CHECKING:
    from fastapi import FastAPI
    from uvicorn import Config
    from uvicorn.supervisors import Multiprocess

_BACKLOG = 512  # connections that wait to be accepted
_KEEP_ALIVE = 30  # seconds that an idle connection stays
_READY = 120  # seconds that a worker may take to start, when all are replaced one by one (SIGHUP)
_RESTART_PAUSE = 1.0  # seconds between two replacements of workers that have ended
_METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"  # where the workers' counts meet


def index_folder(config: ServiceConfig) -> Path:
    """Return the folder of the index that is served."""
    return config.index if config.index is not None else Settings.from_environment().index


def open_service(config: ServiceConfig) -> Service:
    """Open the index and start the worker threads.

    Raises:
        AleSemanticError: if the index can't be opened.
    """
    telemetry = Telemetry(config)
    holder = EngineHolder.open(index_folder(config), config, telemetry)
    pool = WorkPool(threads=config.threads, queue=config.queue, deadline=config.deadline_seconds, telemetry=telemetry)
    return Service.of(config, holder, pool, telemetry)


@dataclass(frozen=True, slots=True)
class Worker:
    """Makes the application in the process that serves it; it travels there by pickling."""

    config: ServiceConfig

    def __call__(self) -> FastAPI:
        """Return the application over a service of its own."""
        from threadpoolctl import threadpool_limits

        from .application import create_app

        _end_with_parent()
        service = open_service(self.config)
        # The matrix products of one search are small: threads of their own would get into the other searches' way.
        threadpool_limits(limits=1)
        return create_app(service)


def serve(config: ServiceConfig, *, ready: Callable[[str], None] | None = None) -> None:
    """Serve until SIGINT or SIGTERM; answers that are under way are finished first.

    Args:
        config: the settings.
        ready: told the address once it is bound.

    Raises:
        ServiceConfigError: if settings exclude each other, or the address can't be bound.
        AleSemanticError: if the index can't be opened.
    """
    _check(config)
    bound = bind(config.host, config.port)
    try:
        if ready is not None:
            ready(address_of(bound))
        if config.workers == 1:
            _serve_here(config, bound)
        else:
            _serve_in_workers(config, bound)
    finally:
        bound.close()


def uvicorn_config(config: ServiceConfig, app: FastAPI | Worker) -> Config:
    """Return uvicorn's settings."""
    import uvicorn

    return uvicorn.Config(
        app,
        **uvicorn_settings(config),
        factory=isinstance(app, Worker),
        host=config.host,
        port=config.port,
        workers=config.workers,
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=max(1, round(config.shutdown_seconds)),
        timeout_worker_healthcheck=_READY,
    )


def bind(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address.

    Raises:
        ServiceConfigError: if it is taken, or isn't this machine's.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as fault:
        raise ServiceConfigError(f"{host}:{port} can't be listened on: {fault.strerror or fault}") from None
    try:
        if os.name != "nt":  # there it would let another program take the same port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as fault:
        bound.close()
        raise ServiceConfigError(
            f"{host}:{port} can't be listened on: {fault.strerror or fault}; choose another --host or --port"
        ) from None
    bound.listen(_BACKLOG)  # whoever comes before the service is up waits instead of being refused
    bound.set_inheritable(True)
    return bound


def address_of(bound: socket.socket) -> str:
    """Return the address of a bound socket as a URL."""
    host, port = bound.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _check(config: ServiceConfig) -> None:
    """Find out before anything is started whether it can work, and may."""
    check_exposure(config)
    if config.workers > 1 and config.ui:
        raise ServiceConfigError(
            "the page keeps what its visitors do in one process: serve it with workers = 1, or leave it out (--no-ui)"
        )
    if config.workers > 1 and not config.watch_seconds:
        raise ServiceConfigError(
            "with several workers a reload reaches one of them, the others follow by watching: "
            "set watch_seconds above 0, or workers = 1"
        )
    open_generation(index_folder(config))


def _serve_here(config: ServiceConfig, bound: socket.socket) -> None:
    import uvicorn

    server = uvicorn.Server(uvicorn_config(config, Worker(config)()))
    if threading.current_thread() is threading.main_thread():
        # uvicorn raises the signal that ended it once more, which would end this process as if it had failed.
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(0))
    with suppress(KeyboardInterrupt):  # likewise
        server.run(sockets=[bound])
    if not server.started:
        sys.exit(1)  # uvicorn has told why


def _serve_in_workers(config: ServiceConfig, bound: socket.socket) -> None:
    with tempfile.TemporaryDirectory(prefix="ale-metrics-") as folder, _variable(_METRICS_FOLDER, folder):
        _supervisor(uvicorn_config(config, Worker(config)), bound).run()


def _supervisor(settings: Config, bound: socket.socket) -> Multiprocess:
    """Return uvicorn's supervisor of worker processes, but for how it finds out that one has ended.

    uvicorn asks each worker over a pipe and waits for the answer; one that dies meanwhile is missed, and no signal
    is heeded, until that wait is over.
    """
    from uvicorn.config import STARTUP_FAILURE
    from uvicorn.supervisors import Multiprocess
    from uvicorn.supervisors.multiprocess import Process

    class Supervisor(Multiprocess):
        """Replaces workers that have ended."""

        begun = 0.0  # when a worker was last replaced

        def keep_subprocess_alive(self) -> None:
            """Start another worker for one that has ended, but not over and over at once."""
            for place, worker in enumerate(self.processes):
                alive = worker.process.is_alive()
                if alive or self.should_exit.is_set() or time.monotonic() - self.begun < _RESTART_PAUSE:
                    continue
                worker.join()
                if worker.exitcode == STARTUP_FAILURE:  # it would fail again
                    self.should_exit.set()
                    return
                self.begun = time.monotonic()
                self.processes[place] = Process(self.config, self.sockets)
                self.processes[place].start()

        def terminate_all(self) -> None:
            """Stop listening here too: what came after the workers stopped would wait for nobody."""
            for one in self.sockets:
                one.close()
            super().terminate_all()

    return Supervisor(settings, sockets=[bound])


def _end_with_parent() -> None:
    """Stop as on SIGTERM when the process that supervises this one is gone, however it ended."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="ale-parent", daemon=True).start()


@contextmanager
def _variable(name: str, value: str) -> Iterator[None]:
    """Set a variable for a block and the processes that it starts, unless the user has set it."""
    if name in os.environ:
        yield
        return
    os.environ[name] = value
    try:
        yield
    finally:
        del os.environ[name]
