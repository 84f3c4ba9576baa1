"""A service over the made-up catalogue, for the tests of its routes."""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from fastapi.testclient import TestClient
from toy import HashEncoder, toy_catalogue

from ale_semantic import Engine, build_index
from ale_semantic.service.application import create_app
from ale_semantic.service.batching import BatchingEncoder
from ale_semantic.service.config import ServiceConfig
from ale_semantic.service.core import Service
from ale_semantic.service.holder import EngineHolder, OpenIndex
from ale_semantic.service.pool import WorkPool
from ale_semantic.service.telemetry import Telemetry
from ale_semantic.types import TaskCard


def build_toys(folder: Path, cards: Sequence[TaskCard] | None = None) -> Path:
    """Build an index of the given cards in a folder, or put a copy of the one of all toys there."""
    if cards is None and not folder.exists():
        return shutil.copytree(_all_toys(), folder)
    build_index(toy_catalogue(cards), folder, encoder=HashEncoder())
    return folder


@cache
def _all_toys() -> Path:
    """Build the index of all toys once a process."""
    folder = Path(mkdtemp(prefix="toys-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    build_index(toy_catalogue(), folder / "index", encoder=HashEncoder())
    return folder / "index"


def open_toys(folder: Path) -> OpenIndex:
    """Open an index of the toys: their encoder stands in no registry, so it is given."""
    encoder = BatchingEncoder(HashEncoder())
    return OpenIndex.of(Engine.open(folder, encoder=encoder), encoder, vector_cache=64)


def toy_service(folder: Path, **settings: Any) -> Service:
    """Return a service over the index in a folder, with the given settings instead of the defaults."""
    # Keys of its own: a developer's must not be seen.
    usual = {"index": folder, "keys_file": folder.parent / "keys.json", "ui": False, "watch_seconds": 0.0, "threads": 2}
    config = ServiceConfig.exactly(**{**usual, **settings})
    telemetry = Telemetry(config)
    holder = EngineHolder(folder, config, telemetry, open_toys(folder))
    pool = WorkPool(threads=config.threads, queue=config.queue, deadline=config.deadline_seconds, telemetry=telemetry)
    return Service.of(config, holder, pool, telemetry)


@contextmanager
def client_of(service: Service) -> Iterator[TestClient]:
    """Serve a service in memory."""
    with TestClient(create_app(service), base_url="http://127.0.0.1:8000", raise_server_exceptions=False) as client:
        yield client
