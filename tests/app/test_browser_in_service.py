"""The page inside the service: the same page, in one process with the API, neither in the other's way."""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import httpx
import pytest
from page_steps import hits, ready, search
from playwright.sync_api import Browser
from service_toys import build_toys, toy_service
from toy import toy_card, toy_cards

from ale_semantic.service.core import Service

# What Gradio warns of when it is imported is none of this project's business.
pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore")]
LEASE = "legal/lease_review"


@dataclass(frozen=True, slots=True)
class Served:
    """A service that listens, with the page."""

    address: str
    service: Service


@contextmanager
def serving(folder: Path, **settings: Any) -> Iterator[Served]:
    """Serve an index of the toys on a thread."""
    import uvicorn

    from ale_semantic.service.application import create_app
    from ale_semantic.service.serving import address_of, bind, uvicorn_config

    service = toy_service(folder, **{"ui": True, **settings})
    bound = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn_config(service.config, create_app(service)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.02)
        yield Served(address_of(bound), service)
    finally:
        server.should_exit = True
        thread.join()
        bound.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an index of the toys."""
    return build_toys(tmp_path_factory.mktemp("served") / "index")


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    """Serve the page and the API together."""
    with serving(folder, threads=2, deadline_seconds=30) as running:
        yield running


def call(served: Served, name: str, data: Any) -> Any:
    """Call one of the page's own functions, as its script does."""
    config = json.loads(urlopen(f"{served.address}/config", timeout=20).read())
    (shell,) = [part for part in config["components"] if part["props"].get("elem_id") == "ale"]
    body = {"session_hash": "test", "component_id": shell["id"], "fn_name": name, "data": data}
    request = Request(
        f"{served.address}/gradio_api/component_server",
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json"},
    )
    return json.loads(urlopen(request, timeout=60).read())


def test_the_page_works_and_nothing_comes_from_elsewhere(browser: Browser, served: Served) -> None:
    outside: list[str] = []
    faults: list[str] = []
    context = browser.new_context()
    context.on("request", lambda asked: outside.append(asked.url))
    page = context.new_page()
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    for query in ("?tab=map&q=lease", "?tab=overview"):
        page.goto(f"{served.address}/{query}")
        ready(page)
    search(page, "lease")
    assert hits(page)[0] == LEASE
    context.close()
    assert faults == []
    assert [url for url in outside if not url.startswith((served.address, "data:", "blob:"))] == []


def test_a_shared_link_restores_the_view(browser: Browser, served: Served) -> None:
    first = browser.new_context().new_page()
    first.goto(f"{served.address}/?q=lease&os=windows&view=table")
    ready(first)
    first.locator(".grid tbody tr").first.locator("td").nth(2).click()
    first.wait_for_url("**task=**")
    ready(first)
    second = browser.new_context().new_page()
    second.goto(first.url)
    ready(second)
    assert second.locator("#ale-main h1").inner_text() == first.locator("#ale-main h1").inner_text()
    assert second.locator("#ale-q").input_value() == "lease"
    first.context.close()
    second.context.close()


@pytest.mark.parametrize("path", ["docs", "redoc"])
def test_the_documentation_comes_from_this_server_alone(browser: Browser, served: Served, path: str) -> None:
    outside: list[str] = []
    troubles: list[str] = []
    context = browser.new_context()
    context.on("request", lambda asked: outside.append(asked.url))
    page = context.new_page()
    page.on("pageerror", lambda fault: troubles.append(str(fault)))
    page.on("console", lambda line: troubles.append(line.text) if line.type == "error" else None)
    page.goto(f"{served.address}/{path}")
    page.locator(".opblock, h1").first.wait_for()
    page.wait_for_timeout(500)
    assert page.locator(".errors-wrapper").count() == 0  # what Swagger UI says of a broken schema
    context.close()
    assert troubles == []
    assert [url for url in outside if not url.startswith((served.address, "data:", "blob:"))] == []


@pytest.mark.parametrize("path", ["/gradio_api/file=/etc/passwd", "/gradio_api/upload", "/file=/etc/passwd"])
def test_the_page_gives_and_takes_no_files(served: Served, path: str) -> None:
    assert httpx.get(f"{served.address}{path}").status_code == 404


@pytest.mark.parametrize("data", [5, None, {"a": 1}, ["q=lease"], {"address": 1, "form": [], "scope": None}])
def test_what_no_script_of_the_page_sends_is_no_bug(served: Served, data: Any) -> None:
    assert "html" in call(served, "ale_screen", data)
    assert call(served, "ale_export", data)["problem"]


def test_wrong_addresses_below_the_apis_are_problems_not_pages(served: Served) -> None:
    for path in ("/api/v1/nothing", "/api", "/v1/nothing", "/docs/nothing", "/static-docs/nothing.js"):
        response = httpx.get(served.address + path)
        assert (response.status_code, response.json().get("detail", response.json().get("error"))) != (200, None)
        assert response.status_code == 404
        assert response.headers["content-type"] in ("application/problem+json", "application/json")
    assert httpx.delete(f"{served.address}/api/v1/search").status_code == 405


def test_a_page_that_blocks_does_not_hold_up_the_api(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    from ale_semantic.app import exporting

    go_on = threading.Event()
    monkeypatch.setattr(exporting, "selection", lambda *_: go_on.wait(25) and None)
    asked = {"address": f"sel={LEASE}", "form": "csv", "scope": "selection"}
    with ThreadPoolExecutor(6) as pool:
        slow = [pool.submit(call, served, "ale_export", asked) for _ in range(6)]
        while served.service.pool.stats().running < 1:
            time.sleep(0.01)
        for number in range(20):
            answer = httpx.get(f"{served.address}/api/v1/search", params={"query": f"lease {number}"}, timeout=20)
            assert answer.status_code == 200
        assert not any(future.done() for future in slow)
        go_on.set()


def test_a_page_that_finds_nobody_free_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ale_semantic.app import exporting

    go_on = threading.Event()
    monkeypatch.setattr(exporting, "selection", lambda *_: go_on.wait(25) and None)
    asked = {"address": f"sel={LEASE}", "form": "csv", "scope": "selection"}
    with serving(folder, threads=1, queue=0, deadline_seconds=30) as served, ThreadPoolExecutor(1) as pool:
        blocked = pool.submit(call, served, "ale_export", asked)
        while served.service.pool.stats().running < 1:
            time.sleep(0.01)
        screen = call(served, "ale_screen", "q=lease")
        file = call(served, "ale_export", asked)
        go_on.set()
        assert "wait already" in screen["html"]
        assert "wait already" in file["problem"]
        blocked.exception(30)


def test_the_page_follows_when_the_index_is_exchanged(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "index"
    shutil.copytree(folder, copy)
    with serving(copy) as served:
        before = call(served, "ale_screen", "q=a+new+lease")
        build_toys(copy, [*toy_cards(), toy_card("legal/new_lease", title="A new lease")])
        assert httpx.post(f"{served.address}/api/v1/reload").json()["reloaded"]
        after = call(served, "ale_screen", "q=a+new+lease")
        assert "legal/new_lease" not in before["html"]
        assert "legal/new_lease" in after["html"]
        assert "9 tasks" in before["foot"]
        assert "10 tasks" in after["foot"]
        build_toys(copy, toy_cards())
        assert httpx.post(f"{served.address}/api/v1/reload").json()["reloaded"]
        assert "unknown task &#39;legal/new_lease&#39;" in call(served, "ale_screen", "task=legal/new_lease")["html"]
        selected = call(served, "ale_screen", f"tab=selection&sel=legal/new_lease&sel={LEASE}")
        assert "not in this catalogue" in selected["html"]
        assert "2 tasks" in selected["html"]  # what was chosen stays, for whoever chose it to decide
