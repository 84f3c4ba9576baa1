"""Search, similar and facets over HTTP: every option, every refusal, the same answers as the engine's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from service_toys import client_of, open_toys, toy_service

from ale_semantic import Engine
from ale_semantic.serialise import result_to_dict
from ale_semantic.service.models import FacetsAnswer, ProblemAnswer, SearchAnswer
from ale_semantic.service.search_answers import COMPACT_COLUMNS

SEARCH, SIMILAR, FACETS = "/api/v1/search", "/api/v1/similar", "/api/v1/facets"
LEASE = "legal/lease_review"


@pytest.fixture(scope="module")
def engine(toy_index: Path) -> Engine:
    """Return the engine that the service answers from."""
    return open_toys(toy_index).engine


def found(response: Any) -> dict[str, Any]:
    """Return a good answer, whole and as it is described."""
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json"
    body: dict[str, Any] = response.json()
    SearchAnswer.model_validate(body)
    return body


def refused(response: Any, status: int, slug: str) -> dict[str, Any]:
    """Return a refusal of the given kind, as it is described."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = response.json()
    ProblemAnswer.model_validate(body)
    assert body["type"] == f"urn:ale-semantic:problem:{slug}"
    assert body["status"] == status
    assert body["request_id"] == response.headers["x-request-id"]
    return body


def ids(body: dict[str, Any]) -> list[str]:
    return [hit["task_id"] for hit in body["hits"]]


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"query": "lease"},
        {"query": "review a lease", "where": "os = windows", "k": 2, "offset": 1},
        {"query": "annual report", "mode": "lexical"},
        {"query": "annual report", "mode": "dense", "min_band": "weak"},
        {"query": "colours on Windows", "understand": False},
        {"query": "年报 核心技术人员", "k": 3},
        {"query": '"unclosed (C++ \x00 😀', "k": 3},
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_answer_is_the_engines(api: TestClient, engine: Engine, method: str, asked: dict[str, Any]) -> None:
    how = {"params": asked} if method == "GET" else {"json": asked}
    body = found(api.request(method, SEARCH, **how))  # type: ignore[arg-type]
    expected = result_to_dict(engine.search(**asked, facets=False))
    assert body.pop("generation").startswith("g-")
    assert (body.pop("next") is None) == (asked.get("offset", 0) + len(expected["hits"]) >= expected["total"])
    assert body == expected


def test_facets_come_only_when_asked_for(api: TestClient, engine: Engine) -> None:
    expected = result_to_dict(engine.search("lease", where="os = linux"))["facets"]
    asked = {"query": "lease", "where": "os = linux"}
    assert found(api.get(SEARCH, params=asked))["facets"] == {}
    assert found(api.get(SEARCH, params={**asked, "facets": "none"}))["facets"] == {}
    assert found(api.get(SEARCH, params={**asked, "facets": "all"}))["facets"] == expected
    some = found(api.get(SEARCH, params={**asked, "facets": "tier,os"}))["facets"]
    assert some == {name: expected[name] for name in ("tier", "os")}
    assert found(api.post(SEARCH, json={**asked, "facets": ["os", "tier"]}))["facets"] == some
    assert found(api.get(f"{SEARCH}?query=lease&where=os=linux&facets=os&facets=tier"))["facets"] == some


def test_only_the_columns_that_are_asked_for_come(api: TestClient) -> None:
    whole = found(api.get(SEARCH, params={"query": "lease", "k": 1}))["hits"][0]["card"]
    some = found(api.get(SEARCH, params={"query": "lease", "k": 1, "fields": "tiers,summary"}))["hits"][0]["card"]
    compact = found(api.get(SEARCH, params={"query": "lease", "k": 1, "compact": "true"}))["hits"][0]["card"]
    assert some == {name: whole[name] for name in ("task_id", "summary", "tiers")}
    assert compact == {name: whole[name] for name in whole if name in COMPACT_COLUMNS}
    assert "task_prompt" in whole
    refused(api.get(SEARCH, params={"fields": "tiers", "compact": "true"}), 422, "bad-parameter")
    assert refused(api.get(SEARCH, params={"fields": "tier"}), 422, "bad-parameter")["nearest"][0] == "tiers"


def test_a_recognised_part_can_be_taken_for_words(api: TestClient) -> None:
    body = found(api.get(SEARCH, params={"query": "colours on Windows"}))
    (part,) = body["recognised"]
    assert part["applied"]
    again = found(api.get(SEARCH, params={"query": "colours on Windows", "ignore": part["key"]}))
    assert again["total"] > body["total"]


def test_a_filter_that_leaves_nothing_says_so(api: TestClient) -> None:
    body = found(api.get(SEARCH, params={"query": "lease", "where": "domain = legal and tier = last-exam"}))
    assert (body["verdict"], body["total"], body["hits"], body["next"]) == ("filtered-out", 0, [], None)


@pytest.mark.parametrize(
    ("asked", "slug", "param", "told"),
    [
        ({"where": "domian = legal"}, "unknown-name", "where", "'domain'"),
        ({"where": "domain = leagl"}, "unknown-name", "where", "'legal'"),
        ({"where": "os = "}, "bad-filter", "where", "expected a value"),
        ({"where": "software < 3"}, "bad-filter", "where", "software"),
        ({"where": "x" * 100_000}, "bad-parameter", "where", "characters"),
        ({"query": "x" * 20_001}, "bad-parameter", "query", "at most 20000 characters"),
        ({"k": 0}, "bad-parameter", "k", "greater than or equal to 1"),
        ({"k": 1001}, "bad-parameter", "k", "at most 1000"),
        ({"k": "ten"}, "bad-parameter", "k", "whole number"),
        ({"offset": -1}, "bad-parameter", "offset", "greater than or equal to 0"),
        ({"offset": 10**30}, "bad-parameter", "offset", "less than or equal"),
        ({"mode": "fuzzy"}, "bad-parameter", "mode", "'hybrid', 'dense' or 'lexical'"),
        ({"min_band": "good"}, "bad-parameter", "min_band", "'strong', 'weak' or 'none'"),
        ({"facets": ["tear"]}, "bad-parameter", "facets", "'tier'"),
        ({"fields": ["prompt"]}, "bad-parameter", "fields", "'task_prompt'"),
        ({"understand": "perhaps"}, "bad-parameter", "understand", "true or false"),
        ({"q": "lease"}, "unknown-parameter", "q", "'query'"),
        ({"rerank": "model"}, "unknown-parameter", "rerank", "unknown parameter 'rerank'"),
    ],
)
def test_bad_input_is_refused_and_named(
    api: TestClient, asked: dict[str, Any], slug: str, param: str, told: str
) -> None:
    by_post = refused(api.post(SEARCH, json=asked), 422, slug)
    assert by_post["param"] == param
    assert told in by_post["detail"]
    if len(str(asked)) < 10_000:
        by_get = refused(api.get(SEARCH, params=asked), 422, slug)
        assert by_get["detail"] == by_post["detail"]


@pytest.mark.parametrize(
    ("content", "kind", "told"),
    [
        (b"{,", "application/json", "no JSON"),
        (b"[]", "application/json", "the body"),
        (b"null", "application/json", "the body"),
        (b'{"query": null}', "application/json", "query"),
        (b'{"query": "\\ud800"}', "application/json", "unicode string"),
        (b'{"cursor": "\\ud800"}', "application/json", "unicode string"),
        (b'{"facets": ["\\ud800"]}', "application/json", "unicode string"),
        (b'{"where": "\\udfff"}', "application/json", "unicode string"),
        (b'{"\\ud800": 1}', "application/json", "the body"),
        (b'{"like": "a"}', "application/json", "unknown parameter"),
        (b"\xff\xfe", "application/json", "JSON"),
        (b'{"query": "lease"}', "text/plain", "the body"),
        (b"query=lease", "application/x-www-form-urlencoded", "the body"),
        (b"[" * 100_000, "application/json", "JSON"),
    ],
)
def test_a_body_that_is_none_is_refused(api: TestClient, content: bytes, kind: str, told: str) -> None:
    response = api.post(SEARCH, content=content, headers={"content-type": kind})
    assert response.status_code == 422, response.text
    assert told in response.json()["detail"]


def test_a_parameter_is_taken_once(api: TestClient) -> None:
    assert "query is given more than once" in api.get(f"{SEARCH}?query=a&query=b").json()["detail"]


def test_where_a_filter_is_wrong_is_told(api: TestClient) -> None:
    body = refused(api.get(SEARCH, params={"where": "os = linux and domian = legal"}), 422, "unknown-name")
    assert body["position"] == len("os = linux and ")
    assert body["nearest"][0] == "domain"


def test_two_pages_are_one_page_of_both(api: TestClient) -> None:
    asked = {"query": "report on a lease", "where": "not domain = art_media"}
    whole = ids(found(api.get(SEARCH, params={**asked, "k": 6})))
    first = found(api.get(SEARCH, params={**asked, "k": 3}))
    second = found(api.get(SEARCH, params={**asked, "k": 3, "cursor": first["next"]}))
    assert ids(first) + ids(second) == whole
    assert [hit["rank"] for hit in second["hits"]] == [4, 5, 6]
    last = found(api.post(SEARCH, json={**asked, "k": 3, "cursor": second["next"]}))
    assert ids(last)
    assert last["next"] is None


def test_a_later_page_may_be_shown_otherwise(api: TestClient) -> None:
    first = found(api.get(SEARCH, params={"query": "lease", "k": 2, "facets": "all"}))
    second = api.get(SEARCH, params={"query": "lease", "k": 5, "compact": "true", "cursor": first["next"]})
    assert [hit["rank"] for hit in found(second)["hits"]] == [3, 4, 5, 6, 7]


@pytest.mark.parametrize(
    "changed", [{"query": "poster"}, {"where": "os = linux"}, {"mode": "dense"}, {"min_band": "weak"}]
)
def test_a_cursor_of_another_question_is_refused(api: TestClient, changed: dict[str, Any]) -> None:
    cursor = found(api.get(SEARCH, params={"query": "lease", "k": 2}))["next"]
    asked = {"query": "lease", "k": 2, "cursor": cursor, **changed}
    assert refused(api.get(SEARCH, params=asked), 409, "cursor-of-another-question")["param"] == "cursor"
    refused(api.get(SIMILAR, params={"text": "lease", "cursor": cursor}), 409, "cursor-of-another-question")


def test_a_changed_cursor_is_refused(api: TestClient) -> None:
    cursor = found(api.get(SEARCH, params={"query": "lease", "k": 2}))["next"]
    for other in ("B" + cursor[1:], cursor[:-1], "nonsense", ""):
        refused(api.get(SEARCH, params={"query": "lease", "cursor": other}), 400, "bad-cursor")
    both = api.get(SEARCH, params={"query": "lease", "cursor": cursor, "offset": 2})
    assert refused(both, 422, "bad-parameter")["param"] == "offset"


def test_an_etag_saves_the_answer(api: TestClient) -> None:
    first = api.get(SEARCH, params={"query": "lease"})
    known = api.get(SEARCH, params={"query": "lease"}, headers={"if-none-match": first.headers["etag"]})
    assert (known.status_code, known.content, known.headers["etag"]) == (304, b"", first.headers["etag"])
    other = api.get(SEARCH, params={"query": "lease"}, headers={"if-none-match": '"other"'})
    assert other.status_code == 200
    assert "etag" not in api.post(SEARCH, json={"query": "lease"}).headers


def test_similar_tasks_are_the_engines(api: TestClient, engine: Engine) -> None:
    body = found(api.get(f"{SIMILAR}?like={LEASE}&like=legal/patent_claims&unlike=science/orbit_fit&k=3"))
    expected = engine.similar(LEASE, "legal/patent_claims", unlike=["science/orbit_fit"], k=3)
    assert ids(body) == [hit.task_id for hit in expected.hits]
    assert LEASE not in ids(body)
    by_post = found(api.post(SIMILAR, json={"text": "match colours of a poster", "k": 2, "where": "gpu = yes"}))
    assert ids(by_post)[0] == "art_media/poster_colours"


@pytest.mark.parametrize("variant", ["other-domain", "other-software", "easier", "harder"])
def test_a_variant_differs_as_it_is_asked(api: TestClient, engine: Engine, variant: str) -> None:
    body = found(api.get(SIMILAR, params={"like": LEASE, "variant": variant}))
    assert ids(body) == [hit.task_id for hit in engine.similar(LEASE, variant=variant, facets=False).hits]


def test_similar_pages_by_cursor_and_counts_facets(api: TestClient) -> None:
    asked: dict[str, Any] = {"like": [LEASE], "where": "not domain = art_media"}
    whole = found(api.post(SIMILAR, json={**asked, "k": 4, "facets": ["domain"]}))
    first = found(api.post(SIMILAR, json={**asked, "k": 2}))
    second = found(api.post(SIMILAR, json={**asked, "k": 2, "cursor": first["next"]}))
    assert ids(first) + ids(second) == ids(whole)
    assert whole["facets"].keys() == {"domain"}


@pytest.mark.parametrize(
    ("asked", "status", "slug", "told"),
    [
        ({}, 422, "bad-query", "at least one task id or a text"),
        ({"like": ["legal/lease_reviw"]}, 404, "unknown-task", LEASE),
        ({"like": [LEASE], "unlike": [LEASE]}, 422, "bad-query", "both"),
        ({"text": "lease", "variant": "easier"}, 422, "bad-query", "needs a task"),
        ({"like": [LEASE], "variant": "same"}, 422, "bad-parameter", "'easier' or 'harder'"),
        ({"like": [""]}, 422, "bad-parameter", "like[0]"),
        ({"like": ["a/b"] * 201}, 422, "bad-parameter", "at most 200 items"),
        ({"query": "lease"}, 422, "unknown-parameter", "unknown parameter 'query'"),
    ],
)
def test_similar_refuses_with_a_sentence(
    api: TestClient, asked: dict[str, Any], status: int, slug: str, told: str
) -> None:
    assert told in refused(api.post(SIMILAR, json=asked), status, slug)["detail"]


def test_facets_are_the_engines(api: TestClient, engine: Engine) -> None:
    response = api.get(FACETS, params={"where": "domain = legal"})
    body = response.json()
    FacetsAnswer.model_validate(body)
    assert body["facets"] == result_to_dict(engine.search(where="domain = legal"))["facets"]
    counts = {value["value"]: value["count"] for value in body["facets"]["domain"]["values"]}
    assert counts["science"] == 3  # its own selection doesn't narrow a field
    some = api.post(FACETS, json={"where": "domain = legal", "fields": ["tier"]}).json()
    assert some["facets"] == {"tier": body["facets"]["tier"]}


def test_facets_of_a_query_count_what_matches_it(api: TestClient) -> None:
    everything = api.get(FACETS, params={"query": "lease", "fields": "domain"}).json()
    matching = api.get(FACETS, params={"query": "lease", "fields": "domain", "min_band": "strong"}).json()
    assert everything["counted"] == "all tasks"
    assert matching["counted"] == "tasks that match the query at least strong"
    assert matching["total"] < everything["total"]


def test_facets_refuse_an_unknown_field(api: TestClient) -> None:
    assert refused(api.get(FACETS, params={"fields": "tear"}), 422, "bad-parameter")["nearest"][0] == "tier"
    assert refused(api.get(FACETS, params={"k": 3}), 422, "unknown-parameter")["param"] == "k"


def test_the_settings_bound_k_and_the_query(toy_index: Path) -> None:
    with client_of(toy_service(toy_index, max_k=5, max_query_chars=50)) as client:
        assert "at most 5" in refused(client.get(SEARCH, params={"k": 6}), 422, "bad-parameter")["detail"]
        body = refused(client.post(SIMILAR, json={"text": "x" * 51}), 422, "bad-parameter")
        assert "at most 50" in body["detail"]
        assert client.get("/api/v1/catalogue").json()["limits"]["max_k"] == 5
