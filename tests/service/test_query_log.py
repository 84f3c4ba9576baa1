"""What is searched for stands in the log, by whatever road it came, if the settings ask for it; else nowhere."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from service_toys import client_of, toy_service

ROADS = ("search", "similar", "path", "embedding", "embeddings", "mcp", "mcp_path")
TOOL = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def call(client: TestClient, tool: str, **arguments: str) -> Any:
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return client.post("/mcp", json=body, headers=TOOL)


def ask(client: TestClient, road: str, words: str) -> Any:
    match road:
        case "search":
            return client.get("/api/v1/search", params={"query": words})
        case "similar":
            return client.post("/api/v1/similar", json={"text": words})
        case "path":
            return client.get("/api/v1/curriculum/path", params={"goal": words})
        case "embedding":
            return client.post("/v1/embeddings", json={"model": "hash", "input": words})
        case "embeddings":
            return client.post("/v1/embeddings", json={"model": "hash", "input": [words, "another"]})
        case "mcp_path":
            return call(client, "curriculum_path", goal=words)
        case _:
            return call(client, "search", query=words)


@pytest.fixture(scope="module", params=[True, False], ids=["asked", "unasked"])
def service(request: pytest.FixtureRequest, toy_index: Path) -> Iterator[tuple[TestClient, bool]]:
    """Return a client of a service, and whether its settings ask for queries in the log."""
    with client_of(toy_service(toy_index, log_queries=request.param)) as client:
        yield client, request.param


@pytest.mark.parametrize("road", ROADS)
def test_queries_are_logged_if_asked_for(
    service: tuple[TestClient, bool], caplog: pytest.LogCaptureFixture, road: str
) -> None:
    client, asked = service
    words = "comet " * (1 + ROADS.index(road)) + "words"  # of its own: none gets the answer that is kept of another
    log = logging.getLogger("ale_semantic.service")
    log.addHandler(caplog.handler)  # it passes nothing on, once a service has set the logs up
    with caplog.at_level(logging.INFO, log.name):
        assert ask(client, road, words).status_code == 200
    log.removeHandler(caplog.handler)
    told = [getattr(record, "fields", {}) for record in caplog.records if record.message == "request"]
    assert told[0].get("query") == (words if asked else None)
    assert asked or words not in str([vars(record) for record in caplog.records])
