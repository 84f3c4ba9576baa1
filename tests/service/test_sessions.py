"""How a person opens the page where keys are asked for."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from ale_semantic.service import guarding
from ale_semantic.service.config import ServiceConfig
from ale_semantic.service.keys import KeyFile, KeyRing
from ale_semantic.service.sessions import Sessions
from ale_semantic.service.telemetry import Telemetry

HERE = "http://127.0.0.1:8000"
BROWSER = {"accept": "text/html,application/xhtml+xml", "sec-fetch-site": "none"}


@pytest.fixture
def keys(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "keys.json")


@pytest.fixture
def client(keys: KeyFile) -> TestClient:
    return served(keys)


def served(keys: KeyFile, *, base_url: str = HERE, **settings: Any) -> TestClient:
    config = ServiceConfig.exactly(keys_file=keys.path, require_key=True, **settings)
    app = FastAPI(docs_url=None)

    @app.get("/")
    async def page() -> str:
        return "the page"

    service: Any = SimpleNamespace(config=config, telemetry=Telemetry(config))
    guarding.install(app, service)
    return TestClient(app, base_url=base_url, follow_redirects=False)


def signed_in(client: TestClient, key: str, *, target: str = "/") -> Any:
    return client.post(
        "/sign-in",
        data={"key": key, "next": target},
        headers={**BROWSER, "origin": client.base_url.scheme + "://" + client.base_url.netloc.decode()},
    )


def test_a_browser_is_shown_a_form_and_a_program_is_not(client: TestClient) -> None:
    shown = client.get("/?q=lease", headers=BROWSER)
    assert shown.status_code == 401
    assert 'action="/sign-in"' in shown.text
    assert 'value="/?q=lease"' in shown.text
    assert client.get("/").headers["content-type"] == "application/problem+json"


def test_the_form_takes_a_key_and_leads_to_where_one_wanted_to(client: TestClient, keys: KeyFile) -> None:
    key, _ = keys.add("visitor")
    answer = signed_in(client, key, target="/?q=lease&task=legal/lease_review")
    assert (answer.status_code, answer.headers["location"]) == (303, "/?q=lease&task=legal/lease_review")
    cookie = answer.headers["set-cookie"]
    assert all(part in cookie for part in ("HttpOnly", "SameSite=strict", "Path=/", "Max-Age=43200"))
    assert key not in cookie
    assert client.get("/").text == '"the page"'


def test_a_wrong_key_sets_no_cookie(client: TestClient) -> None:
    for key in ("wrong", "", "<script>"):
        answer = signed_in(client, key)
        assert answer.status_code == 401
        assert "set-cookie" not in answer.headers
        assert "Ask whoever runs" in answer.text
        assert "<script>" not in answer.text


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", b"&".join(b"a=%d" % n for n in range(50)), b"key=%zz&next=%"])
def test_odd_forms_are_refused(body: bytes, client: TestClient) -> None:
    assert client.post("/sign-in", content=body).status_code == 401


@pytest.mark.parametrize(
    "target",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "/a\r\nset-cookie: x",
        "",
        "/sign-out",
    ],
)
def test_the_form_never_leads_elsewhere(target: str, client: TestClient, keys: KeyFile) -> None:
    key, _ = keys.add("visitor")
    assert signed_in(client, key, target=target).headers["location"] == "/"
    assert client.get("/sign-in", params={"next": target}).headers["location"] == "/"


def test_addresses_are_escaped_in_the_form(client: TestClient) -> None:
    for path in ('/?q="><script>alert(1)</script>', "/sign-in?next=/%22%3E%3Cscript%3E"):
        for site in ("none", "cross-site"):
            assert "<script" not in client.get(path, headers={**BROWSER, "sec-fetch-site": site}).text


def test_a_link_from_elsewhere_finds_a_signed_in_browser_again(client: TestClient, keys: KeyFile) -> None:
    """The browser withholds the cookie from such a request, but not from the one that the answer leads to."""
    key, _ = keys.add("visitor")
    link = "/?q=lease%20%26%20law"
    first = client.get(link, headers={**BROWSER, "sec-fetch-site": "cross-site"})
    assert first.status_code == 401
    assert 'http-equiv="refresh"' in first.text
    again = first.text.partition('content="0;url=')[2].partition('"')[0]
    assert "action=" in client.get(again).text, "whoever isn't signed in gets the form there"
    signed_in(client, key)
    assert client.get(again).headers["location"] == link


def test_a_session_ends_with_its_key(client: TestClient, keys: KeyFile) -> None:
    key, _ = keys.add("visitor")
    signed_in(client, key)
    assert client.get("/").status_code == 200
    keys.revoke("visitor")
    assert client.get("/").status_code == 401


def test_a_session_ends_in_time_and_by_signing_out(client: TestClient, keys: KeyFile) -> None:
    key, stored = keys.add("visitor")
    sessions: Sessions = client.app.state.sessions  # type: ignore[attr-defined]
    for age, status in ((sessions.seconds - 5, 200), (sessions.seconds + 1, 401)):
        client.cookies.set("ale_session", sessions.token(stored, now=time.time() - age))
        assert client.get("/").status_code == status
    client.cookies.clear()
    signed_in(client, key)
    assert "Sign out" in client.get("/sign-out").text
    assert client.get("/").status_code == 200, "looking at the form signs nobody out"
    assert client.post("/sign-out").status_code == 303
    assert client.get("/").status_code == 401


def test_a_changed_cookie_opens_nothing(client: TestClient, keys: KeyFile) -> None:
    _, stored = keys.add("visitor")
    _, other = keys.add("other")
    token = client.app.state.sessions.token(stored)  # type: ignore[attr-defined]
    identity, expires, signature = token.split(".")
    later = str(int(expires) + 1)
    for forged in (
        f"{other.id}.{expires}.{signature}",
        f"{identity}.{later}.{signature}",
        f"{identity}.{expires}.{signature[:-1]}",
        f"{identity}.{expires}.",
        f"{identity}.{'9' * 20}.{signature}",
        f"{identity}.-1.{signature}",
        f"{identity}.٣.{signature}".encode(),
        "..",
        "",
    ):
        raw = forged if isinstance(forged, bytes) else forged.encode()
        assert client.get("/", headers={b"cookie": b"ale_session=" + raw}).status_code == 401, forged
    assert client.get("/", headers={"cookie": f"x=1; ale_session={token}"}).status_code == 200


def test_sessions_hold_on_every_worker_and_not_under_another_secret(keys: KeyFile) -> None:
    _, stored = keys.add("visitor")
    ring = KeyRing(keys.path)
    token = Sessions(ring, secret="a" * 32, hours=1).token(stored)
    scope: Any = {"scheme": "http", "headers": [(b"cookie", f"ale_session={token}".encode())]}
    assert Sessions(ring, secret="a" * 32, hours=1).find(scope) == stored
    assert Sessions(ring, secret="b" * 32, hours=1).find(scope) is None


def test_over_tls_the_cookie_is_bound_to_its_host(keys: KeyFile) -> None:
    key, _ = keys.add("visitor")
    client = served(keys, base_url="https://search.example.org", allowed_hosts=("search.example.org",))
    cookie = signed_in(client, key).headers["set-cookie"]
    assert cookie.startswith("__Host-ale_session=")
    assert "Secure" in cookie
    assert client.get("/").status_code == 200
    plain = served(keys)
    assert plain.get("/", headers={"cookie": cookie.partition(";")[0]}).status_code == 401


def test_another_site_cannot_sign_a_browser_in_or_out(client: TestClient, keys: KeyFile) -> None:
    key, _ = keys.add("attacker")
    for path in ("/sign-in", "/sign-out"):
        answer = client.post(path, data={"key": key}, headers={"origin": "https://evil.example"})
        assert answer.status_code == 403
