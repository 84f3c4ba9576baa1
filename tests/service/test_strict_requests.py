"""What would be passed over in silence is refused: names given twice, a query string that nobody reads."""

from __future__ import annotations

import json
from typing import Any

import pytest
from fastapi.testclient import TestClient


def post(api: TestClient, address: str, body: str | bytes) -> Any:
    return api.post(address, content=body, headers={"content-type": "application/json"})


@pytest.mark.parametrize(
    ("body", "kind", "told"),
    [
        ('{"query": "lease", "query": "orbit"}', "bad-parameter", "query is given more than once"),
        ('{"k": 3, "\\ud800": 1, "\\ud800": 2}', "bad-parameter", "is given more than once"),
        ('{"k": ' + "9" * 5_000 + "}", "bad-json", "too many digits"),
        ('{"query": ' + "[" * 100_000, "bad-json", "too deeply nested"),
        (b'{"query": "\xff"}', "bad-json", "not UTF-8 at byte 11"),
        ("{", "bad-json", "at character 1"),
        ('{"k": NaN}', "bad-json", "it has no number NaN"),
        ('{"offset": -Infinity}', "bad-json", "it has no number -Infinity"),
    ],
)
def test_what_json_leaves_open_is_refused(api: TestClient, body: str | bytes, kind: str, told: str) -> None:
    answer = post(api, "/api/v1/search", body)
    assert answer.status_code == 422
    assert answer.json()["type"].endswith(kind)
    assert told in answer.json()["detail"]


def test_the_same_name_in_several_objects_is_no_repetition(api: TestClient) -> None:
    cards = [{"task_id": f"made/{number}"} for number in range(2)]
    answer = post(api, "/api/v1/curriculum/diff", json.dumps({"cards": cards}))
    assert "more than once" not in answer.text


@pytest.mark.parametrize("address", ["/api/v1/search", "/api/v1/tasks", "/api/v1/curriculum/ladders"])
def test_a_query_string_beside_a_body_is_refused(api: TestClient, address: str) -> None:
    answer = post(api, f"{address}?where=os+%3D+linux", "{}")
    assert answer.status_code == 422
    assert "query string" in answer.json()["detail"]
    assert post(api, address, "{}").status_code == 200


def test_embeddings_say_what_is_given_twice_in_openais_shape(api: TestClient) -> None:
    answer = post(api, "/v1/embeddings?api-version=1", '{"model": "hash", "input": "a", "input": "b"}')
    assert answer.status_code == 422
    assert answer.json()["error"]["param"] == "input"
    assert post(api, "/v1/embeddings?api-version=1", '{"model": "hash", "input": "a"}').status_code == 200


@pytest.mark.parametrize("given", ["null", "{}", "1"])
def test_an_input_of_another_kind_is_told_once(api: TestClient, given: str) -> None:
    fault = post(api, "/v1/embeddings", f'{{"model": "hash", "input": {given}}}').json()["error"]
    assert (fault["param"], fault["message"]) == ("input", "input: input should be a text or a list of texts")
