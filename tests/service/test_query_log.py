"""What is searched for stands in the log, by whatever road it came, if the settings ask for it; else nowhere."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from service_toys import client_of, toy_service

WORDS = "comet words"
TOOL = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


def call(client: TestClient, tool: str, **arguments: str) -> Any:
    params = {"name": tool, "arguments": arguments}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return client.post("/mcp", json=body, headers=TOOL)


def ask(client: TestClient, road: str) -> Any:
    match road:
        case "search":
            return client.get("/api/v1/search", params={"query": WORDS})
        case "similar":
            return client.post("/api/v1/similar", json={"text": WORDS})
        case "path":
            return client.get("/api/v1/curriculum/path", params={"goal": WORDS})
        case "embedding":
            return client.post("/v1/embeddings", json={"model": "hash", "input": WORDS})
        case "embeddings":
            return client.post("/v1/embeddings", json={"model": "hash", "input": [WORDS, "another"]})
        case "mcp_path":
            return call(client, "curriculum_path", goal=WORDS)
        case _:
            return call(client, "search", query=WORDS)


@pytest.mark.parametrize("asked", [True, False])
@pytest.mark.parametrize("road", ["search", "similar", "path", "embedding", "embeddings", "mcp", "mcp_path"])
def test_queries_are_logged_if_asked_for(
    toy_index: Path, caplog: pytest.LogCaptureFixture, road: str, asked: bool
) -> None:
    log = logging.getLogger("ale_semantic.service")
    log.addHandler(caplog.handler)  # it passes nothing on, once a service has set the logs up
    with caplog.at_level(logging.INFO, log.name), client_of(toy_service(toy_index, log_queries=asked)) as client:
        caplog.clear()
        assert ask(client, road).status_code == 200
    log.removeHandler(caplog.handler)
    told = [getattr(record, "fields", {}) for record in caplog.records if record.message == "request"]
    assert told[0].get("query") == (WORDS if asked else None)
    assert asked or WORDS not in str([vars(record) for record in caplog.records])
