"""What stands between the network and the routes: keys, limits, hosts, origins, headers."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import APIRouter, FastAPI, WebSocket
from fastapi.testclient import TestClient
from service_toys import toy_service
from starlette.websockets import WebSocketDisconnect

from ale_semantic.service import guarding, health_routes
from ale_semantic.service.application import create_app
from ale_semantic.service.config import ServiceConfig, ServiceConfigError
from ale_semantic.service.guarding import check_exposure, host_name
from ale_semantic.service.keys import KeyFile
from ale_semantic.service.telemetry import Telemetry

OPEN = {"/healthz", "/readyz", "/sign-in", "/sign-out"}
UNNAMED: tuple[str, ...] = (
    "/",
    "/docs",
    "/redoc",
    "/openapi.json",
    "/mcp",
    "/nowhere",
    "/api/v1/nowhere",
    "/config",
    "/theme.css",
)
UNNAMED += ("/gradio_api/info", "/gradio_api/queue/data", "/assets/x.js", "/static-offline-docs/swagger-ui.css")
POSTED = ("/mcp", "/gradio_api/queue/join", "/gradio_api/run/x", "/gradio_api/upload")
HERE = "http://127.0.0.1:8000"


@pytest.fixture
def keys(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "keys.json")


@pytest.fixture
def serve(keys: KeyFile) -> Any:
    """Return a function that puts the guards before a small application."""

    def start(*, peer: str = "testclient", **settings: Any) -> TestClient:
        config = ServiceConfig.exactly(**{"keys_file": keys.path, **settings})
        app = FastAPI()
        pool = SimpleNamespace(is_open=True)
        service: Any = SimpleNamespace(config=config, telemetry=Telemetry(config), pool=pool, holder=HOLDER)
        app.state.service = service
        guarding.install(app, service)
        app.include_router(health_routes.router)
        app.include_router(ROUTER)
        return TestClient(app, base_url=HERE, client=(peer, 1), raise_server_exceptions=False)

    return start


ROUTER = APIRouter(prefix="/api/v1")
HOLDER = SimpleNamespace(
    current=SimpleNamespace(
        generation="g-1",
        engine=SimpleNamespace(catalogue="nine cards"),
        encoder=SimpleNamespace(identity=SimpleNamespace(name="toy")),
    ),
    problem="",
)


@ROUTER.get("/catalogue")
async def catalogue() -> str:
    return "cards"


@ROUTER.post("/search")
async def search(body: dict[str, str]) -> int:
    return len(body["query"])


@ROUTER.websocket("/talk")
async def talk(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text("hello")
    await socket.close()


@ROUTER.get("/broken")
async def broken() -> None:
    raise RuntimeError("/home/somebody/secret.json: lease")


def paths_of(client: TestClient) -> set[tuple[str, str]]:
    """Return method and path of every route, templates filled in."""
    schema = client.app.openapi()  # type: ignore[attr-defined]
    named = {
        (method.upper(), path.replace("{task_id}", "legal/lease_review").replace("{", "").replace("}", ""))
        for path, methods in schema["paths"].items()
        for method in methods
    }
    unnamed = {
        ("GET", path) for path in ("/", "/docs", "/redoc", "/openapi.json", "/mcp", "/nowhere", "/api/v1/nowhere")
    }
    return named | unnamed | {("POST", "/mcp")}


def test_without_keys_all_is_open_on_loopback(serve: Any) -> None:
    client = serve()
    assert client.get("/api/v1/catalogue").status_code == 200
    assert client.get("/metrics").status_code == 200


def test_a_key_guards_every_route_but_health(page_client: TestClient) -> None:
    paths = paths_of(page_client)
    assert len(paths) > 25
    for method, path in sorted(paths):
        answer = page_client.request(method, path, headers={"x-api-key": ""})
        assert (answer.status_code != 401) is (path in OPEN), f"{method} {path}"
    assert page_client.get("/").status_code == 200


def test_the_whole_service_books_its_stages_and_caches(page_client: TestClient) -> None:
    for _ in range(2):
        assert page_client.get("/api/v1/search", params={"query": "unlawful clauses"}).status_code == 200
    lines = page_client.get("/metrics").text.splitlines()
    for stage in ("search", "serialise"):
        assert f'ale_stage_seconds_count{{stage="{stage}"}} 1.0' in lines, stage
    for outcome in ("hit", "miss"):
        assert f'ale_cache_total{{cache="answers",outcome="{outcome}"}} 1.0' in lines, outcome


def test_a_key_is_taken_from_either_header(serve: Any, keys: KeyFile) -> None:
    key, _ = keys.add("notebook")
    client = serve()
    for headers in ({"authorization": f"Bearer {key}"}, {"authorization": f"bearer  {key}"}, {"x-api-key": key}):
        assert client.get("/api/v1/catalogue", headers=headers).status_code == 200, headers
    for headers in (
        {"authorization": f"Basic {key}"},
        {"authorization": key},
        {"authorization": "Bearer"},
        {"x-api-key": key + "x"},
        {"cookie": f"ale_session={key}"},
        {"authorization": "Bearer wrong", "x-api-key": key},
    ):
        answer = client.get("/api/v1/catalogue", headers=headers)
        assert answer.status_code == 401, headers
        assert answer.headers["www-authenticate"] == "Bearer"
        assert key not in answer.text
    assert client.get(f"/api/v1/catalogue?api_key={key}").status_code == 401, "keys in addresses end up in logs"


def test_a_web_socket_needs_a_key_and_its_own_origin(serve: Any, keys: KeyFile) -> None:
    key, _ = keys.add("notebook")
    client = serve()
    own = {"x-api-key": key, "origin": HERE, "host": "127.0.0.1:8000"}
    with client.websocket_connect("/api/v1/talk", headers=own) as socket:
        assert socket.receive_text() == "hello"
    for headers in (
        {**own, "x-api-key": "wrong"},
        {**own, "origin": "https://evil.example"},
        {**own, "host": "evil.example"},
    ):
        with pytest.raises(WebSocketDisconnect), client.websocket_connect("/api/v1/talk", headers=headers):
            pass


def test_revoking_works_on_a_running_service(serve: Any, keys: KeyFile) -> None:
    key, stored = keys.add("notebook")
    client = serve()
    headers = {"x-api-key": key}
    assert client.get("/api/v1/catalogue", headers=headers).status_code == 200
    keys.revoke(stored.id)
    assert client.get("/api/v1/catalogue", headers=headers).status_code == 401
    again, _ = keys.add("notebook")
    assert client.get("/api/v1/catalogue", headers={"x-api-key": again}).status_code == 200


def test_the_first_key_closes_a_running_service(serve: Any, keys: KeyFile) -> None:
    client = serve()
    assert client.get("/api/v1/catalogue").status_code == 200
    keys.add("notebook")
    assert client.get("/api/v1/catalogue").status_code == 401


def test_keys_can_be_asked_for_or_not_whatever_the_file_says(serve: Any, keys: KeyFile) -> None:
    assert serve(require_key=True).get("/api/v1/catalogue").status_code == 401
    keys.add("notebook")
    assert serve(require_key=False).get("/api/v1/catalogue").status_code == 200


def test_the_openai_routes_refuse_in_their_own_shape(serve: Any, keys: KeyFile) -> None:
    keys.add("notebook")
    answer = serve().post("/v1/embeddings", json={"input": "x", "model": "m"})
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "unauthorised"


def test_readiness_tells_its_details_to_keys_alone(serve: Any, keys: KeyFile) -> None:
    key, _ = keys.add("notebook")
    client = serve()
    assert client.get("/readyz").json() == {
        "status": "ready",
        "generation": None,
        "tasks": None,
        "model": None,
        "problem": None,
    }
    assert client.get("/readyz", headers={"x-api-key": key}).json()["generation"] == "g-1"


def test_a_body_over_the_limit_is_refused_whatever_its_length_claims(serve: Any) -> None:
    client = serve(max_body_bytes=2_000)
    large = b'{"query": "' + b"x" * 3_000 + b'"}'
    headers = {"content-type": "application/json"}

    def chunks() -> Iterator[bytes]:
        for at in range(0, len(large), 100):
            yield large[at : at + 100]

    for content in (large, chunks()):
        answer = client.post("/api/v1/search", content=content, headers=headers)
        assert answer.status_code == 413
        assert answer.json()["type"].endswith("too-large")
    claimed = client.post("/api/v1/search", content=b"{}", headers={**headers, "content-length": "9" * 30})
    assert claimed.status_code == 413
    small = b'{"query": "' + b"x" * 1_900 + b'"}'
    assert client.post("/api/v1/search", content=small, headers=headers).status_code == 200


def test_a_compressed_body_is_refused_whatever_it_unpacks_to(serve: Any) -> None:
    client = serve()
    body = gzip.compress(b'{"query": "' + b" " * 5_000_000 + b'"}')
    headers = {"content-type": "application/json"}
    for encoding in ("gzip", "Br", "gzip, identity"):
        answer = client.post("/api/v1/search", content=body, headers={**headers, "content-encoding": encoding})
        assert answer.status_code == 415
        assert "without Content-Encoding" in answer.json()["detail"]
    plain = client.post(
        "/api/v1/search", content=b'{"query": "x"}', headers={**headers, "content-encoding": "identity"}
    )
    assert plain.status_code == 200


def test_a_rate_holds_for_each_key_and_each_address(serve: Any, keys: KeyFile) -> None:
    first, _ = keys.add("first")
    second, _ = keys.add("second")
    client = serve(rate_limit="3/hour")

    def ask(key: str = "") -> int:
        return int(client.get("/api/v1/catalogue", headers={"x-api-key": key} if key else {}).status_code)

    assert [ask(first) for _ in range(4)] == [200, 200, 200, 429]
    assert ask(second) == 200
    assert [ask() for _ in range(4)] == [401, 401, 401, 429], "trying keys is limited by address"
    answer = client.get("/api/v1/catalogue", headers={"x-api-key": first})
    assert 3_000 < int(answer.headers["retry-after"]) <= 3_600
    assert client.get("/healthz").status_code == 200


def test_a_client_is_told_by_its_proxy_only_if_that_is_trusted(serve: Any) -> None:
    def statuses(peer: str, forwarded: list[str]) -> list[int]:
        client = serve(peer=peer, rate_limit="1/hour", trusted_proxies=("10.0.0.0/8",))
        return [client.get("/api/v1/catalogue", headers={"x-forwarded-for": f}).status_code for f in forwarded]

    assert statuses("10.1.2.3", ["203.0.113.1", "203.0.113.2"]) == [200, 200]
    assert statuses("10.1.2.3", ["203.0.113.1", "198.51.100.9, 203.0.113.1"]) == [200, 429], "the last hop counts"
    assert statuses("203.0.113.5", ["203.0.113.1", "203.0.113.2"]) == [200, 429]


def test_one_ipv6_site_counts_as_one_address(serve: Any) -> None:
    client = serve(peer="::1", rate_limit="1/hour", trusted_proxies=("::1",))
    peers = ("2001:db8::1", "2001:db8::2", "2001:db8:0:1::1")
    statuses = [client.get("/api/v1/catalogue", headers={"x-forwarded-for": peer}).status_code for peer in peers]
    assert statuses == [200, 429, 200]


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:8000", "localhost:1", "[::1]:8000", "LocalHost", "search.example.org"]
)
def test_own_names_are_taken(host: str, serve: Any) -> None:
    client = serve(allowed_hosts=("search.example.org",))
    assert client.get("/api/v1/catalogue", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "10.0.0.1"]
)
def test_foreign_names_are_refused_on_loopback(host: str, serve: Any) -> None:
    client = serve()
    answer = client.get("/api/v1/catalogue", headers={"host": host})
    assert answer.status_code == 403
    assert client.get("/healthz", headers={"host": host}).status_code == 200


def test_elsewhere_any_name_is_taken_unless_some_are_set(serve: Any) -> None:
    remote = {"host": "0.0.0.0", "allow_remote_without_key": True}
    assert serve(**remote).get("/api/v1/catalogue", headers={"host": "anything"}).status_code == 200
    named = serve(**remote, allowed_hosts=("search.example.org",))
    assert named.get("/api/v1/catalogue", headers={"host": "anything"}).status_code == 403
    assert named.get("/api/v1/catalogue", headers={"host": "search.example.org:443"}).status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"origin": HERE}, 200),
        ({"origin": "https://app.example"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site", "origin": HERE}, 403),
    ],
)
def test_other_sites_may_not_post(headers: dict[str, str], status: int, serve: Any) -> None:
    client = serve(cors_origins=("https://app.example",))
    assert client.post("/api/v1/search", json={"query": "lease"}, headers=headers).status_code == status


def test_cors_is_off_until_an_origin_is_named(serve: Any) -> None:
    ask = {"origin": "https://app.example", "access-control-request-method": "POST"}
    plain = serve()
    assert "access-control-allow-origin" not in plain.get("/api/v1/catalogue", headers=ask).headers
    assert "access-control-allow-origin" not in plain.options("/api/v1/search", headers=ask).headers


def test_cors_is_for_exact_origins_and_never_with_cookies(serve: Any, keys: KeyFile) -> None:
    keys.add("notebook")
    client = serve(cors_origins=("https://app.example",))
    ask = {"access-control-request-method": "POST", "access-control-request-headers": "x-api-key"}
    allowed = client.options("/api/v1/search", headers={**ask, "origin": "https://app.example"})
    assert allowed.status_code == 200, "a preflight brings no key"
    assert allowed.headers["access-control-allow-origin"] == "https://app.example"
    assert "access-control-allow-credentials" not in allowed.headers
    for origin in ("https://app.example.evil", "http://app.example", "https://app.example:8443", "null"):
        answer = client.options("/api/v1/search", headers={**ask, "origin": origin})
        assert "access-control-allow-origin" not in answer.headers, origin


@pytest.mark.parametrize("path", ["/healthz", "/api/v1/catalogue", "/api/v1/nowhere", "/metrics", "/sign-in"])
def test_every_answer_has_the_careful_headers(path: str, serve: Any) -> None:
    answer = serve().get(path)
    for name, value in {
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "cross-origin-resource-policy": "same-origin",
    }.items():
        assert answer.headers.get_list(name) == [value], name
    assert len(answer.headers.get_list("content-security-policy")) == 1
    assert len(answer.headers.get_list("referrer-policy")) == 1
    assert "server" not in answer.headers


def test_answers_stay_out_of_shared_caches(serve: Any) -> None:
    client = serve()
    for path in ("/api/v1/catalogue", "/api/v1/nowhere", "/metrics"):
        control = client.get(path).headers["cache-control"]
        assert "no-store" in control or "private" in control, path


def test_a_fault_of_the_program_is_answered_without_its_message(serve: Any) -> None:
    client = serve()
    answer = client.get("/api/v1/broken")
    assert answer.status_code == 500
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    assert answer.headers["x-frame-options"] == "DENY"
    assert "somebody" not in answer.text
    assert "RuntimeError" not in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/static-offline-docs/../../../etc/passwd",
        "/static-offline-docs/%2e%2e/%2e%2e/etc/passwd",
        "/static-offline-docs/..%2f..%2f..%2fetc%2fpasswd",
        "/static-offline-docs//etc/passwd",
        "/gradio_api/file=/etc/passwd",
        "/file=/etc/passwd",
        "/gradio_api/file%3D/etc/passwd",
        "/assets/../../../../etc/passwd",
        "/static/%2e%2e%2f%2e%2e%2fetc/passwd",
        "/gradio_api/proxy=http://127.0.0.1/",
        "/api/v1/tasks/..%2f..%2fetc%2fpasswd",
        "/svelte/../../../../../etc/passwd",
        "/gradio_api/custom_component/x/client/component/..%2f..%2fetc%2fpasswd",
    ],
)
def test_no_route_gives_files_of_the_machine(path: str, page_client: TestClient) -> None:
    answer = page_client.get(path)
    assert "root:" not in answer.text
    assert answer.status_code in (400, 403, 404, 405, 422) or "passwd" not in answer.url.path
    assert answer.status_code < 500


@pytest.fixture(scope="module")
def page_client(toy_index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """Return a client of the whole service, page included, with a key."""
    keys = KeyFile(tmp_path_factory.mktemp("keys") / "keys.json")
    key, _ = keys.add("notebook")
    service = toy_service(toy_index, keys_file=keys.path, ui=True)

    async def application() -> FastAPI:
        return create_app(service)

    app = asyncio.run(application())  # outside of a loop Gradio makes some of its own and leaves them open
    with TestClient(app, base_url=HERE, headers={"x-api-key": key}, raise_server_exceptions=False) as client:
        yield client


def test_uploads_are_closed(page_client: TestClient) -> None:
    for path in ("/gradio_api/upload", "/upload"):
        answer = page_client.post(path, files={"files": ("a.txt", b"x")})
        assert answer.status_code in (403, 404, 405), path


def test_another_address_needs_a_key(keys: KeyFile) -> None:
    remote = ServiceConfig.exactly(host="0.0.0.0", keys_file=keys.path)
    with pytest.raises(ServiceConfigError, match="keys add"):
        check_exposure(remote)
    with pytest.raises(ServiceConfigError, match="other machines"):
        check_exposure(remote.model_copy(update={"require_key": False}))
    check_exposure(ServiceConfig.exactly(keys_file=keys.path))
    check_exposure(ServiceConfig.exactly(host="0.0.0.0", keys_file=keys.path, allow_remote_without_key=True))
    keys.add("notebook")
    check_exposure(remote)


def test_a_key_that_is_asked_for_must_exist(keys: KeyFile) -> None:
    with pytest.raises(ServiceConfigError, match="holds no key"):
        check_exposure(ServiceConfig.exactly(require_key=True, keys_file=keys.path))


@pytest.mark.parametrize(
    ("value", "name"),
    [("a.example:80", "a.example"), ("[::1]:8000", "::1"), ("A.Example.", "a.example"), ("", ""), ("[::1]", "::1")],
)
def test_host_names_are_read(value: str, name: str) -> None:
    assert host_name(value) == name


@pytest.mark.parametrize("value", ["[::1", "[::1]evil", "localhost:80@evil", "localhost:x", "a b", "127.0.0.1/x"])
def test_what_is_no_host_names_none(value: str) -> None:
    assert host_name(value) == ""


def test_several_hosts_are_refused(serve: Any) -> None:
    client = serve()
    assert client.get("/api/v1/catalogue", headers=[("host", "127.0.0.1:8000")]).status_code == 200
    assert client.get("/api/v1/catalogue", headers=[("host", "127.0.0.1"), ("host", "evil.example")]).status_code == 403
