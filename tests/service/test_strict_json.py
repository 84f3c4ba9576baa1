"""Numbers and truth values of JSON are taken as such alone; a query string writes numbers in digits."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from ale_semantic.service.curriculum_parameters import PathParameters

SEARCH, SIMILAR, TASKS = "/api/v1/search", "/api/v1/similar", "/api/v1/tasks"
LIKE = {"like": ["legal/lease_review"]}
TEXT = {"model": "hash", "input": "a lease"}


def posted(api: TestClient, path: str, body: dict[str, Any]) -> str:
    """Return the detail of a refusal of a body, after checking that it names the parameter."""
    answer = api.post(path, json=body)
    assert answer.status_code == 422, answer.text
    told = answer.json()
    told = told.get("error", told)
    assert told["param"] == list(body)[-1]
    return str(told.get("detail") or told["message"])


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (True, "must be a whole number such as 10, not true"),
        ("5", "must be a whole number such as 10, not the text '5'; write it without quotes"),
        (5.0, "must be a whole number such as 10, not the number 5.0; write it without point and exponent"),
        (5.5, "must be a whole number such as 10, not the number 5.5"),
        ("five", "must be a whole number such as 10, not the text 'five'"),
        ("0.5", "must be a whole number such as 10, not the text '0.5'"),
        ([5], "must be a whole number such as 10, not a list"),
        ({}, "must be a whole number such as 10, not an object"),
    ],
)
@pytest.mark.parametrize(
    ("path", "name", "beside"),
    [
        (SEARCH, "k", {}),
        (SEARCH, "offset", {}),
        (SIMILAR, "k", LIKE),
        (TASKS, "offset", {}),
        ("/api/v1/curriculum/path", "length", {}),
        ("/api/v1/curriculum/subset", "k", {}),
        ("/api/v1/curriculum/split", "seed", {}),
        ("/api/v1/curriculum/duplicates", "most", {}),
        ("/v1/embeddings", "dimensions", TEXT),
    ],
)
def test_a_whole_number_is_one(
    api: TestClient, path: str, name: str, beside: dict[str, Any], given: Any, told: str
) -> None:
    assert posted(api, path, {**beside, name: given}) == f"{name} {told}"


@pytest.mark.parametrize(
    ("path", "name", "beside"),
    [
        (SEARCH, "understand", {}),
        (TASKS, "compact", {}),
        ("/api/v1/tasks/batch", "compact", {"task_ids": ["legal/lease_review"]}),
        ("/api/v1/curriculum/path", "allow_twins", {}),
        ("/api/v1/curriculum/diff", "served_is_new", {"cards": [{}]}),
        ("/v1/embeddings", "truncation", TEXT),
    ],
)
@pytest.mark.parametrize(("given", "end"), [("yes", ""), (1, ""), ("true", "; write it without quotes"), (None, "")])
def test_a_truth_value_is_one(
    api: TestClient, path: str, name: str, beside: dict[str, Any], given: Any, end: str
) -> None:
    said = posted(api, path, {**beside, name: given})
    assert said.startswith(f"{name} must be true or false, not ")
    assert ("quotes" in said) == bool(end)


@pytest.mark.parametrize("given", [True, "0.5", None])
def test_a_number_is_one(api: TestClient, given: Any) -> None:
    said = posted(api, "/api/v1/curriculum/split", {"test": given})
    assert said.startswith("test must be a number such as 0.5, not ")
    assert posted(api, "/api/v1/curriculum/leaks", {"content": "x", "wording": given}).startswith("wording must be ")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (SEARCH, {"k": 2, "offset": 1, "compact": True}),
        (SIMILAR, {**LIKE, "k": 2}),
        ("/api/v1/curriculum/path", {"length": None, "min_step": 0, "max_step": 1, "allow_twins": False}),
        ("/v1/embeddings", {**TEXT, "dimensions": 64, "truncation": False}),
    ],
)
def test_what_json_means_is_taken(api: TestClient, path: str, body: dict[str, Any]) -> None:
    assert api.post(path, json=body).status_code == 200


@pytest.mark.parametrize("given", ["5.0", "1_0", " 5", "+5", "true", "٥", "", "0x5"])
def test_a_query_string_writes_whole_numbers_in_digits(api: TestClient, given: str) -> None:
    for path, name in ((SEARCH, "k"), ("/api/v1/curriculum/path", "length")):
        answer = api.get(path, params={name: given})
        assert answer.status_code == 422
        assert answer.json()["detail"] == f"{name} must be a whole number such as 10, not the text {given!r}"


_FLOATS = [("path", "max_step"), ("split", "test"), ("duplicates", "wording"), ("ladders", "min_closeness")]


@pytest.mark.parametrize(
    "given", ["0.5_1", "1e400", "5e-1", "nan", "inf", " 0.5", "0.5\n", "+0.5", "٠.٥", ".5", "1.", ""]
)
def test_a_query_string_writes_numbers_in_plain_decimals(api: TestClient, given: str) -> None:
    for path, name in _FLOATS:
        answer = api.get(f"/api/v1/curriculum/{path}", params={name: given})
        assert answer.status_code == 422
        assert answer.json()["detail"] == f"{name} must be a number such as 0.5, not the text {given!r}"
    assert posted(api, "/api/v1/curriculum/path", {"max_step": given}).endswith(f"not the text {given!r}")


@pytest.mark.parametrize(("written", "value"), [("0.5", 0.5), ("1", 1.0), ("-0.25", -0.25), ("00.50", 0.5)])
def test_plain_decimals_are_read(api: TestClient, written: str, value: float) -> None:
    assert PathParameters.model_validate({"max_step": written}).max_step == value
    answer = api.get("/api/v1/curriculum/ladders", params={"min_closeness": written})
    assert answer.status_code == 200
    assert answer.json() == api.post("/api/v1/curriculum/ladders", json={"min_closeness": value}).json()
    beyond = api.get("/api/v1/curriculum/path", params={"max_step": f"{value + 2}"})
    assert beyond.json()["detail"] == "max_step: input should be less than or equal to 1"


def test_a_query_string_writes_truth_values_in_words(api: TestClient) -> None:
    asked = {"k": "2", "offset": "1", "compact": "yes"}
    assert api.get(SEARCH, params=asked).json() == api.post(SEARCH, json={"k": 2, "offset": 1, "compact": True}).json()


def test_bodies_are_described_as_query_strings_are(api: TestClient) -> None:
    described = api.get("/openapi.json").json()
    bodies = described["components"]["schemas"]
    for name, path in (("SearchBody", SEARCH), ("PathParameters", "/api/v1/curriculum/path")):
        parameters = described["paths"][path]["get"]["parameters"]
        assert [one["name"] for one in parameters if one["in"] == "query"] == list(bodies[name]["properties"])
    assert bodies["SearchBody"]["properties"]["k"]["type"] == "integer"
    assert bodies["SearchBody"]["properties"]["k"]["minimum"] == 1
    assert bodies["SearchBody"]["additionalProperties"] is False


def test_a_list_of_names_may_be_a_text_with_commas(api: TestClient) -> None:
    written = api.post(SEARCH, json={"query": "lease", "facets": "os, tier", "fields": "title"}).json()
    listed = api.post(SEARCH, json={"query": "lease", "facets": ["os", "tier"], "fields": ["title"]}).json()
    assert written == listed
    assert set(written["facets"]) == {"os", "tier"}
    for path, body in ((SEARCH, {"facets": 5}), (SIMILAR, {"like": "legal/lease_review"})):
        assert api.post(path, json=body).status_code == 422
