"""Cards, the catalogue and reloading over HTTP."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from service_toys import build_toys, client_of, open_toys, toy_service
from toy import toy_card, toy_cards

from ale_semantic import Engine
from ale_semantic.serialise import card_to_dict
from ale_semantic.service.models import BatchAnswer, CardParts, CatalogueAnswer, ReloadAnswer, TasksAnswer

TASKS, CATALOGUE, RELOAD = "/api/v1/tasks", "/api/v1/catalogue", "/api/v1/reload"
LEASE = "legal/lease_review"


@pytest.fixture(scope="module")
def engine(toy_index: Path) -> Engine:
    """Return the engine that the service answers from."""
    return open_toys(toy_index).engine


def test_a_card_comes_whole_by_its_id(api: TestClient, engine: Engine) -> None:
    for card in engine.catalogue:
        body = api.get(f"{TASKS}/{card.task_id}").json()
        assert body == card_to_dict(card)
        CardParts.model_validate(body)


def test_an_id_may_be_encoded(api: TestClient) -> None:
    plain = api.get(f"{TASKS}/{LEASE}").json()
    assert api.get(f"{TASKS}/legal%2Flease_review").json() == plain
    assert api.get(f"{TASKS}/business_finance/%E5%B9%B4%E6%8A%A5").json()["task_id"] == "business_finance/年报"


def test_a_card_can_be_cut(api: TestClient) -> None:
    assert api.get(f"{TASKS}/{LEASE}", params={"fields": "os"}).json() == {"task_id": LEASE, "os": "windows"}
    assert "task_prompt" not in api.get(f"{TASKS}/{LEASE}", params={"compact": "1"}).json()


@pytest.mark.parametrize(
    "task_id", ["legal/lease_reviw", "nothing", "../../etc/passwd", "legal/", "%00", "a" * 3_000, "%ff", "legal//x"]
)
def test_an_unknown_task_is_not_found(api: TestClient, task_id: str) -> None:
    response = api.get(f"{TASKS}/{task_id}")
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"
    assert "root:" not in response.text


def test_the_nearest_ids_are_told(api: TestClient) -> None:
    body = api.get(f"{TASKS}/legal/lease_reviw").json()
    assert (body["param"], body["nearest"][0]) == ("task_id", LEASE)


def test_an_etag_of_a_card_saves_it(api: TestClient) -> None:
    etag = api.get(f"{TASKS}/{LEASE}").headers["etag"]
    assert api.get(f"{TASKS}/{LEASE}", headers={"if-none-match": etag}).status_code == 304


def test_tasks_are_listed_in_the_order_of_their_ids_page_by_page(api: TestClient, engine: Engine) -> None:
    seen: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        body = api.get(TASKS, params={"k": 4, "fields": "title", **cursor}).json()
        TasksAnswer.model_validate(body)
        seen += [task["task_id"] for task in body["tasks"]]
        if body["next"] is None:
            break
        cursor = {"cursor": body["next"]}
    assert seen == [card.task_id for card in engine.catalogue]
    assert body["total"] == len(seen)


def test_tasks_are_filtered(api: TestClient) -> None:
    body = api.get(TASKS, params={"where": "domain = legal", "compact": "true"}).json()
    assert [task["task_id"] for task in body["tasks"]] == [LEASE, "legal/patent_claims"]
    assert body["where"] == "domain = legal"
    assert api.post(TASKS, json={"where": "domain = legal", "compact": True}).json() == body
    assert api.get(TASKS, params={"where": "domain = legal", "offset": 5}).json()["tasks"] == []


@pytest.mark.parametrize("asked", [{"where": "domian = legal"}, {"k": 5000}, {"query": "lease"}, {"fields": "nothing"}])
def test_a_bad_listing_is_refused(api: TestClient, asked: dict[str, Any]) -> None:
    assert api.get(TASKS, params=asked).status_code == 422
    assert api.post(TASKS, json=asked).status_code == 422


def test_one_bad_id_in_a_batch_fails_by_itself(api: TestClient) -> None:
    wanted = [LEASE, "legal/lease_reviw", "science/orbit_fit", LEASE]
    body = api.post(f"{TASKS}/batch", json={"task_ids": wanted, "fields": ["os"]}).json()
    BatchAnswer.model_validate(body)
    assert [(item["index"], item["task_id"]) for item in body["tasks"]] == list(enumerate(wanted))
    assert [item["card"] is None for item in body["tasks"]] == [False, True, False, False]
    assert body["failed"] == 1
    assert body["tasks"][1]["problem"]["nearest"] == [LEASE]


@pytest.mark.parametrize("asked", [{}, {"task_ids": []}, {"task_ids": ["a/b"] * 201}, {"task_ids": "a/b"}, {"ids": []}])
def test_a_bad_batch_is_refused(api: TestClient, asked: dict[str, Any]) -> None:
    assert api.post(f"{TASKS}/batch", json=asked).status_code == 422


def test_the_catalogue_tells_what_a_search_form_needs(api: TestClient, engine: Engine) -> None:
    body = api.get(CATALOGUE).json()
    CatalogueAnswer.model_validate(body)
    assert body["tasks"] == 9
    assert body["provenance"]["fingerprint"] == engine.catalogue.fingerprint
    fields = {field["name"]: field for field in body["fields"]}
    assert fields.keys() == set(engine.facet_table.fields)
    assert [value["value"] for value in fields["tier"]["values"]] == ["near-term", "full-spectrum", "last-exam"]
    assert fields["title"]["values"] is None
    assert fields["tier"]["missing"] == 1
    assert set(body["card_columns"]) == set(card_to_dict(engine.catalogue.cards[0]))


def test_every_operator_that_is_told_is_taken(api: TestClient) -> None:
    values = {"number": "1", "duration": "1h", "bool": "yes"}
    for field in api.get(CATALOGUE).json()["fields"]:
        value = field["values"][0]["value"] if field["values"] else "legal/lease_review"
        if field["name"] == "title":
            value = "Review a lease"
        value = values.get(field["kind"], '"' + value + '"')
        for operator in field["operators"]:
            operand = {"in": f"({value})", "not in": f"({value})", "is missing": "", "is present": ""}
            where = f"{field['name']} {operator} {operand.get(operator, value)}"
            response = api.get(TASKS, params={"where": where, "compact": "true"})
            assert response.status_code == 200, (where, response.text)


def test_a_parameter_where_there_is_none_is_refused(api: TestClient) -> None:
    assert api.get(CATALOGUE, params={"full": "1"}).status_code == 422
    assert api.post(f"{RELOAD}?folder=/etc").status_code == 422


def test_a_reload_opens_a_newer_build_and_old_cursors_and_etags_go(toy_index: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    shutil.copytree(toy_index, folder)
    with client_of(toy_service(folder)) as client:
        unchanged = client.post(RELOAD).json()
        ReloadAnswer.model_validate(unchanged)
        assert not unchanged["reloaded"]
        first = client.get("/api/v1/search", params={"query": "lease", "k": 2})
        build_toys(folder, [*toy_cards(), toy_card("legal/new_lease", title="A new lease")])
        changed = client.post(RELOAD).json()
        assert changed["reloaded"]
        assert changed["generation"] != unchanged["generation"]
        assert changed["provenance"]["cards"] == 10
        again = client.get(
            "/api/v1/search",
            params={"query": "lease", "k": 9},
            headers={"if-none-match": first.headers["etag"]},
        )
        assert again.status_code == 200
        assert "legal/new_lease" in [hit["task_id"] for hit in again.json()["hits"]]
        old = client.get("/api/v1/search", params={"query": "lease", "k": 2, "cursor": first.json()["next"]})
        assert (old.status_code, old.json()["type"]) == (410, "urn:ale-semantic:problem:cursor-expired")


def test_a_build_that_cannot_be_opened_leaves_the_old_one_serving(toy_index: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    shutil.copytree(toy_index, folder)
    with client_of(toy_service(folder)) as client:
        before = client.get(CATALOGUE).json()
        (folder / "CURRENT").write_text("g-000000000000", encoding="utf-8")
        response = client.post(RELOAD)
        assert response.status_code == 503
        assert str(tmp_path) not in response.text
        assert client.get(CATALOGUE).json() == before
