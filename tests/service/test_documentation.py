"""The OpenAPI schema: complete, typed, with examples that are true; and pages that need no other server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import BaseModel

from ale_semantic import Catalogue
from ale_semantic.serialise import card_to_dict
from ale_semantic.service import models
from ale_semantic.service.curriculum_designs import DESIGNS
from ale_semantic.service.documentation import STATIC
from ale_semantic.service.openapi_responses import examples
from ale_semantic.service.problems import problem_of_status

OWN = ("/api/v1/search", "/api/v1/similar", "/api/v1/facets", "/api/v1/tasks", "/api/v1/catalogue", "/api/v1/reload")
MODELS: dict[str, type[BaseModel]] = {
    "search": models.SearchAnswer,
    "similar": models.SearchAnswer,
    "facets": models.FacetsAnswer,
    "tasks": models.TasksAnswer,
    "batch": models.BatchAnswer,
    "task": models.CardParts,
    "catalogue": models.CatalogueAnswer,
    "reload": models.ReloadAnswer,
}


@pytest.fixture(scope="module")
def schema(api: TestClient) -> dict[str, Any]:
    """Return the schema as it is served."""
    found: dict[str, Any] = api.get("/openapi.json").json()
    return found


def operations(schema: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the path, method and description of each operation."""
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def test_each_route_of_the_task_is_described(schema: dict[str, Any]) -> None:
    described = {(path, method) for path, method, _ in operations(schema)}
    for path in OWN[:4]:
        assert {(path, "get"), (path, "post")} <= described
    for route in [("/api/v1/tasks/{task_id}", "get"), ("/api/v1/catalogue", "get"), ("/api/v1/reload", "post")]:
        assert route in described


def test_each_operation_has_an_id_a_tag_and_a_sentence(schema: dict[str, Any]) -> None:
    ids = [operation["operationId"] for _, _, operation in operations(schema)]
    assert len(ids) == len(set(ids))
    known = {tag["name"] for tag in schema["tags"]}
    for path, method, operation in operations(schema):
        assert operation["summary"], (path, method)
        assert set(operation["tags"]) <= known, (path, method)


def test_each_answer_is_typed_and_has_an_example(schema: dict[str, Any]) -> None:
    for path, method, operation in operations(schema):
        if path.startswith(OWN):
            good = operation["responses"]["200"]["content"]["application/json"]
            assert "$ref" in good["schema"], (path, method)
            assert good["example"], (path, method)


def test_each_refusal_is_typed_and_has_an_example(schema: dict[str, Any]) -> None:
    for path, method, operation in operations(schema):
        if not path.startswith("/api/"):
            continue
        assert {"401", "413", "422", "429", "503"} <= operation["responses"].keys(), (path, method)
        for status, answer in operation["responses"].items():
            if status in ("200", "304"):
                continue
            ((kind, content),) = answer["content"].items()
            assert kind == "application/problem+json", (path, method, status)
            assert "#/components/schemas/ProblemAnswer" in str(content["schema"])
            if path.startswith(OWN):
                assert content["example"]["status"] == int(status)


def test_each_reference_leads_somewhere(schema: dict[str, Any]) -> None:
    references = set(re.findall(r'"\$ref": ?"#/components/schemas/([^"]+)"', json.dumps(schema)))
    assert "ProblemAnswer" in references
    assert references <= schema["components"]["schemas"].keys()


def test_each_parameter_is_explained(schema: dict[str, Any]) -> None:
    for path, method, operation in operations(schema):
        if not path.startswith(OWN):
            continue
        for parameter in operation.get("parameters", ()):
            assert parameter["description"], (path, method, parameter["name"])


@pytest.mark.parametrize("name", sorted(MODELS))
def test_each_example_is_an_answer_over_the_demo_cards(name: str) -> None:
    example = examples()[name]
    MODELS[name].model_validate(example)
    if "provenance" in example:
        assert example["provenance"]["demo"]


def test_each_curriculum_has_an_example_of_its_own_shape(schema: dict[str, Any]) -> None:
    seen = set()
    for path, method, operation in operations(schema):
        name = path.removeprefix("/api/v1/curriculum/")
        content = operation["responses"]["200"].get("content", {})
        if name == path or "application/json" not in content:
            continue
        assert content["application/json"]["example"], (path, method)
        example, shape = examples()[f"curriculum_{name}"], content["application/json"]["schema"]["$ref"]
        fields = schema["components"]["schemas"][shape.rpartition("/")[2]]
        assert set(fields.get("required", ())) <= example.keys() <= fields["properties"].keys(), (path, method)
        assert example.get("provenance", {"demo": True})["demo"]
        seen.add(name)
    assert seen == {*(design.name for design in DESIGNS), "leaks", "diff", "check"}


def test_each_card_in_the_examples_is_a_demo_card() -> None:
    demo = {card.task_id: card_to_dict(card) for card in Catalogue.load("demo")}
    cards = [found for example in examples().values() for found in _cards(example)]
    assert len(cards) > 6
    for card in cards:
        for column, value in card.items():
            if isinstance(value, str):
                assert demo[card["task_id"]][column].startswith(value.removesuffix(" ..."))


def _cards(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every card in a JSON value."""
    if isinstance(value, dict):
        if "task_id" in value and value.keys() <= models.CardParts.model_fields.keys():
            yield value
        for inner in value.values():
            yield from _cards(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _cards(inner)


def test_each_example_of_a_refusal_is_one() -> None:
    answers = {*MODELS, *(name for name in examples() if name.startswith("curriculum_"))}
    refusals = [example for name, example in examples().items() if name not in answers]
    assert len(refusals) >= 9
    for example in refusals:
        models.ProblemAnswer.model_validate(example)


def test_the_schema_is_made_once(api: TestClient) -> None:
    assert api.get("/openapi.json").content == api.get("/openapi.json").content


@pytest.mark.parametrize("path", ["/docs", "/redoc"])
def test_a_page_names_no_other_server_and_forbids_it(api: TestClient, path: str) -> None:
    response = api.get(path)
    assert response.status_code == 200
    assert "default-src 'self'" in response.headers["content-security-policy"]
    for address in re.findall(r'(?:src|href|url)[=:]\s*["\']([^"\']+)', response.text):
        assert address.startswith("/"), address
        assert api.get(address).status_code == 200


def test_redoc_does_not_ask_its_maker_for_a_logo(api: TestClient) -> None:
    original = (files("fastapi_offline") / "static" / "redoc.standalone.js").read_bytes()
    assert b"https://cdn.redoc.ly/redoc/logo-mini.svg" in original  # else the replacement can go
    assert b"cdn.redoc.ly/redoc/logo" not in api.get(f"{STATIC}/redoc.standalone.js").content


@pytest.mark.parametrize("name", ["nothing.js", "..%2f..%2fpyproject.toml", "%2e%2e/core.py", ".", "a/b"])
def test_there_are_no_other_files(api: TestClient, name: str) -> None:
    response = api.get(f"{STATIC}/{name}")
    assert response.status_code == 404
    assert response.json()["type"] == "urn:ale-semantic:problem:" + problem_of_status(404, "").slug
