"""One index of the toys for all tests of the service, and a client of a service over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from service_toys import build_toys, client_of, toy_service


@pytest.fixture(scope="session")
def toy_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index of the toys, to be read only."""
    return build_toys(tmp_path_factory.mktemp("service") / "index")


@pytest.fixture(scope="module")
def api(toy_index: Path) -> Iterator[TestClient]:
    """Return a client of a service with the default settings, without the page."""
    with client_of(toy_service(toy_index)) as client:
        yield client
