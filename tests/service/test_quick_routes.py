"""What is read quickly is read as FastAPI reads it; what can't be taken is refused in the usual words."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Annotated, Any
from urllib.parse import urlencode

import pytest
from fastapi import APIRouter, FastAPI, Query, Response, routing
from fastapi.responses import JSONResponse
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ale_semantic.service.parameters import SearchParameters, SimilarParameters
from ale_semantic.service.problems import ParameterError
from ale_semantic.service.quick_routes import QuickRoute
from ale_semantic.service.replies import Desk
from ale_semantic.service.strict_requests import StrictRoute

NAMES = [*SearchParameters.model_fields, *SimilarParameters.model_fields, "kk"]
VALUES = [
    "",
    " ",
    "0",
    "5",
    "-1",
    "true",
    "no",
    "hybrid",
    "dense",
    "a,b",
    ",",
    "os = linux",
    "1.5",
    "üß 年",
    "a&b=c+%2B",
]


def echoing(kind: type[StrictRoute]) -> FastAPI:
    """Return an application whose answers say how the parameters were read."""
    router = APIRouter(route_class=kind)

    @router.get("/search")
    async def search(desk: Desk, asked: Annotated[SearchParameters, Query()]) -> Response:
        return JSONResponse(asked.model_dump(mode="json"))

    @router.get("/similar")
    async def similar(desk: Desk, asked: Annotated[SimilarParameters, Query()]) -> Response:
        return JSONResponse(asked.model_dump(mode="json"))

    @router.get("/values")  # FastAPI is to make an answer of it
    async def values(desk: Desk, asked: Annotated[SearchParameters, Query()]) -> dict[str, Any]:
        return asked.model_dump(mode="json")

    @router.get("/task/{task_id}")
    async def task(desk: Desk, task_id: str, asked: Annotated[SearchParameters, Query()]) -> Response:
        return JSONResponse({"task_id": task_id, **asked.model_dump(mode="json")})

    app = FastAPI()
    app.state.service = SimpleNamespace()
    app.include_router(router)
    return app


@pytest.fixture(scope="module")
def both() -> Iterator[tuple[TestClient, TestClient]]:
    with TestClient(echoing(QuickRoute)) as one, TestClient(echoing(StrictRoute)) as other:
        yield one, other


def outcome(client: TestClient, address: str) -> tuple[int, Any] | str:
    try:
        answer = client.get(address)
    except ParameterError as fault:  # a name given twice
        return f"{type(fault).__name__}: {fault}"
    return answer.status_code, answer.json()


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs=st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES)), max_size=6))
def test_the_same_as_the_usual_way(both: tuple[TestClient, TestClient], pairs: list[tuple[str, str]]) -> None:
    for path in ("/search", "/similar"):
        address = f"{path}?{urlencode(pairs)}"
        quick, usual = (outcome(client, address) for client in both)
        assert quick == usual


@pytest.mark.parametrize("path", ["/values", "/task/7"])
def test_other_functions_are_called_the_usual_way(both: tuple[TestClient, TestClient], path: str) -> None:
    quick, usual = (outcome(client, f"{path}?query=orbit&facets=tier,os") for client in both)
    assert quick == usual
    assert quick[0] == 200


def test_what_is_valid_does_not_go_the_usual_way(api: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(**options: Any) -> Any:
        raise AssertionError("the parameters were read by FastAPI")

    monkeypatch.setattr(routing, "solve_dependencies", never)
    answer = api.get("/api/v1/search", params={"query": "orbit", "k": 2, "facets": "tier,os"})
    assert (answer.status_code, len(answer.json()["hits"]), len(answer.json()["facets"])) == (200, 2, 2)
    assert api.get("/api/v1/search", params={"query": "orbit", "k": 0}).status_code == 500
