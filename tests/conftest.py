"""What every test shares: the real cards, and a machine without settings, caches or a network of its own."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from ale_semantic import Catalogue, Engine, build_index

# Read once, before the fixtures below take the settings away from the code under test.
REAL_CARDS = os.environ.get("ALE_CARDS", "").strip()
# An index folder that is kept between runs: it stands as it is while cards and models do, which saves some minutes.
KEPT_INDEX = os.environ.get("ALE_TEST_INDEX", "").strip()
REAL_CARDS_REQUIRED = os.environ.get("ALE_REQUIRE_REAL", "").strip() == "1"

# No deadline: a busy machine is no fault of the code. In CI the same examples each time.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that read the real cards, so that `-m real` selects them."""
    for item in items:
        if {"real_cards", "real_index", "real_engine"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.real)


@pytest.fixture(scope="session", autouse=True)
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the builds of fixtures that live longer than a test out of the user's embedding cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALE_CACHE", str(tmp_path_factory.mktemp("session")))
        yield


@pytest.fixture(scope="session")
def real_cards() -> Path:
    """Return the checkout of the benchmark that ALE_CARDS names; skip without it, fail if it is required."""
    if not REAL_CARDS:
        problem = "ALE_CARDS is not set: point it at a checkout of the benchmark to test on the real cards"
    elif not (folder := Path(REAL_CARDS).resolve()).is_dir():
        problem = f"ALE_CARDS={REAL_CARDS} is no folder: point it at a checkout of the benchmark"
    else:
        return folder
    if REAL_CARDS_REQUIRED:
        pytest.fail(f"{problem} (ALE_REQUIRE_REAL=1 forbids to skip)")
    pytest.skip(problem)


@pytest.fixture(scope="session")
def real_index(real_cards: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index of the real cards, built by the real model once a session (two minutes or more).

    Of several processes that run the tests one builds it, and the others wait and find nothing to do.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if os.environ.get("PYTEST_XDIST_WORKER") else own
    folder = Path(KEPT_INDEX).resolve() if KEPT_INDEX else shared / "real-index"
    build_index(Catalogue.load(real_cards), folder, wait=600)
    return folder


@pytest.fixture(scope="session")
def real_engine(real_index: Path) -> Engine:
    """Return the engine of the real cards."""
    return Engine.open(real_index)


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Take the user's settings away and put the index and the cache of each test into a folder of its own."""
    for name in list(os.environ):
        if name.startswith("ALE_"):
            monkeypatch.delenv(name)
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("ALE_INDEX", str(folder / "index"))
    monkeypatch.setenv("ALE_CACHE", str(folder))  # so that no test sees what another embedded


@pytest.fixture(autouse=True)
def no_network(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer like an unplugged machine, loopback apart, unless the test is marked `network`."""
    if request.node.get_closest_marker("network"):
        return
    monkeypatch.setattr(socket, "getaddrinfo", _offline_getaddrinfo(socket.getaddrinfo))
    for method in ("connect", "connect_ex"):
        monkeypatch.setattr(socket.socket, method, _offline_connect(getattr(socket.socket, method)))


def _offline_getaddrinfo(resolve: Callable[..., Any]) -> Callable[..., Any]:
    def getaddrinfo(host: str | bytes | None, *args: Any, **kwargs: Any) -> Any:
        if host and not _is_loopback(host):
            raise socket.gaierror(socket.EAI_NONAME, f"tests have no network: {host!r} is not looked up")
        return resolve(host, *args, **kwargs)

    return getaddrinfo


def _offline_connect(connect: Callable[..., Any]) -> Callable[..., Any]:
    def guarded(self: socket.socket, address: Any) -> Any:
        if self.family in (socket.AF_INET, socket.AF_INET6) and not _is_loopback(address[0]):
            raise ConnectionRefusedError(f"tests have no network: no connection to {address[0]!r}")
        return connect(self, address)

    return guarded


def _is_loopback(host: str | bytes) -> bool:
    name = host.decode() if isinstance(host, bytes) else host
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False
