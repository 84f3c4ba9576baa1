"""What is asked of an address without calling it: HEAD as GET, all methods that it takes, the metrics' label."""

from __future__ import annotations

from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from service_toys import client_of, toy_service

from ale_semantic.service.keys import KeyFile
from ale_semantic.service.route_table import is_own

GETS = (
    "/api/v1/search?query=lease",
    "/api/v1/tasks/legal/lease_review",
    "/api/v1/curriculum/ladders",
    "/v1/models",
    "/docs",
    "/openapi.json",
    "/healthz",
    "/readyz",
    "/metrics",
    "/sign-out",
)


@pytest.mark.parametrize("address", GETS)
def test_head_answers_as_get(api: TestClient, address: str) -> None:
    got, head = api.get(address), api.head(address)
    assert (got.status_code, head.status_code) == (200, 200)
    if address != "/metrics":  # they have grown in between
        assert head.headers["content-length"] == got.headers["content-length"]
    assert head.headers.get("etag") == got.headers.get("etag")


def test_head_tells_refusals_too(api: TestClient) -> None:
    assert api.head("/api/v1/tasks/legal/nothing").status_code == 404
    assert api.head("/v1/embeddings").status_code == 405
    assert api.head("/api/v1/search", headers={"if-none-match": "*"}).status_code == 304


@pytest.mark.parametrize(
    ("address", "methods"),
    [("/api/v1/search", "GET, HEAD, POST"), ("/api/v1/reload", "POST"), ("/v1/models", "GET, HEAD")],
)
def test_a_wrong_method_is_told_all_that_are_right(api: TestClient, address: str, methods: str) -> None:
    answer = api.delete(address)
    assert (answer.status_code, answer.headers["allow"]) == (405, methods)
    assert methods in answer.text


def test_refused_requests_are_counted_under_their_routes(toy_index: Path, tmp_path: Path) -> None:
    key, _ = KeyFile(tmp_path / "keys.json").add("me")
    with client_of(toy_service(toy_index, keys_file=tmp_path / "keys.json")) as client:
        for address in ("/api/v1/tasks/legal/lease_review", "/mcp", "/docs", "/api/v1/nothing"):
            assert client.get(address).status_code == 401
        assert client.head("/api/v1/catalogue", headers={"x-api-key": key}).status_code == 200
        told = client.get("/metrics", headers={"x-api-key": key}).text
    for route in ("/api/v1/tasks/{task_id:path}", "/mcp", "/docs", "unmatched"):
        assert f'ale_requests_total{{method="GET",route="{route}",status="401"}} 1.0' in told
    assert 'ale_requests_total{method="HEAD",route="/api/v1/catalogue",status="200"} 1.0' in told


def test_addresses_of_the_page_are_not_the_services() -> None:
    assert all(map(is_own, ("/api", "/api/v1/x", "/v1/models", "/mcp", "/sign-in")))
    assert not any(map(is_own, ("/", "/apis", "/config", "/gradio_api/info", "/mcpx")))
