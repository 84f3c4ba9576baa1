"""A known ETag saves an answer, never a refusal: whatever would be refused is, with it as without."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from ale_semantic import Engine

ROOT = "/api/v1"
LEASE = "legal/lease_review"
REFUSED: list[tuple[str, dict[str, Any], int]] = [
    ("search", {"k": 99999}, 422),
    ("search", {"where": "osx=1"}, 422),
    ("search", {"where": "os ="}, 422),
    ("search", {"where": "os = beos"}, 422),
    ("search", {"cursor": "nonsense"}, 400),
    ("search", {"facets": "oss"}, 422),
    ("search", {"fields": "titel"}, 422),
    ("similar", {}, 422),
    ("similar", {"like": "legal/lease_reviw"}, 404),
    ("similar", {"like": LEASE, "unlike": LEASE}, 422),
    ("similar", {"text": "a lease", "variant": "easier"}, 422),
    ("facets", {"fields": "oss"}, 422),
    ("facets", {"where": "osx=1"}, 422),
    ("tasks", {"k": 99999}, 422),
    ("tasks", {"where": "osx=1"}, 422),
    ("tasks/legal/lease_reviw", {}, 404),
    ("curriculum/subset", {"k": 99999}, 422),
    ("curriculum/subset", {"k": 2, "quota": "tier"}, 422),
    ("curriculum/subset", {"k": 2, "cover": "oss"}, 422),
    ("curriculum/subset", {"k": 2, "must": "legal/lease_reviw"}, 404),
    ("curriculum/split", {"balance": "oss"}, 422),
    ("curriculum/path", {"where": "osx=1"}, 422),
    ("curriculum/path", {"min_step": 0.5, "max_step": 0.4}, 422),
    ("curriculum/coverage", {"domain": "lgal"}, 422),
    ("curriculum/duplicates", {"exclude": "legal/lease_reviw"}, 404),
    ("curriculum/ladders", {"task": "legal/lease_reviw"}, 404),
    ("curriculum/prerequisites", {"task": "legal/lease_reviw"}, 404),
]


@pytest.mark.parametrize(("path", "asked", "status"), REFUSED)
def test_what_is_refused_is_so_with_a_known_etag(
    api: TestClient, path: str, asked: dict[str, Any], status: int
) -> None:
    etag = api.get(f"{ROOT}/catalogue").headers["etag"]
    plain = api.get(f"{ROOT}/{path}", params=asked)
    for known in (etag, "*"):
        answer = api.get(f"{ROOT}/{path}", params=asked, headers={"if-none-match": known})
        assert answer.status_code == plain.status_code == status, plain.text
        told, expected = answer.json(), plain.json()
        assert (told["type"], told["detail"]) == (expected["type"], expected["detail"])


def test_what_is_answered_is_not_searched_again(api: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {
        "query": "lease",
        "k": 2,
        "where": "os in (linux, windows)",
        "facets": "os",
        "fields": "title",
    }
    first = api.get(f"{ROOT}/search", params=asked)
    assert first.status_code == 200, first.text
    monkeypatch.setattr(Engine, "search", lambda *_, **__: pytest.fail("it was searched"))
    pages: list[dict[str, Any]] = [{}, {"cursor": first.json()["next"]}]
    for more in pages:
        again = api.get(f"{ROOT}/search", params={**asked, **more}, headers={"if-none-match": first.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
