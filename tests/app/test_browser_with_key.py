"""The page where an API key is asked for: signing in, its calls and event streams, links from elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from page_steps import hits, ready, search
from playwright.sync_api import Browser, Page
from service_toys import build_toys, toy_service

from ale_semantic.service.keys import KeyFile

# What Gradio warns of when it is imported is none of this project's business.
pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore")]
LEASE = "legal/lease_review"


@pytest.fixture
def keys(tmp_path: Path) -> KeyFile:
    return KeyFile(tmp_path / "keys.json")


@pytest.fixture
def address(tmp_path: Path, keys: KeyFile) -> Iterator[str]:
    """Serve the page and the API on a thread; return their address."""
    import uvicorn

    from ale_semantic.service.application import create_app
    from ale_semantic.service.serving import address_of, bind, uvicorn_config

    service = toy_service(build_toys(tmp_path / "index"), ui=True, keys_file=keys.path)
    bound = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn_config(service.config, create_app(service)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.02)
    yield address_of(bound)
    server.should_exit = True
    thread.join()
    bound.close()


@pytest.fixture
def elsewhere(address: str) -> Iterator[str]:
    """Serve a page of another site that links to a search; return its address."""

    class Link(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = f'<a href="{address}/?q=lease">a search</a>'.encode()
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Link)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://localhost:{server.server_port}"  # another site than 127.0.0.1
    server.shutdown()
    thread.join()
    server.server_close()


def sign_in(page: Page, key: str) -> None:
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()


def test_a_person_signs_in_and_the_page_works(browser: Browser, address: str, keys: KeyFile, elsewhere: str) -> None:
    key, _ = keys.add("visitor")
    context = browser.new_context()
    refused: list[str] = []
    page = context.new_page()
    page.goto(f"{address}/?q=poster")
    sign_in(page, "wrong")
    assert "isn't valid" in page.get_by_role("alert").inner_text()

    page.on("response", lambda answer: refused.append(answer.url) if answer.status in (401, 403) else None)
    sign_in(page, key)
    ready(page)
    assert page.locator("#ale-q").input_value() == "poster", "one gets to where one wanted to"
    search(page, "lease")
    assert hits(page)[0] == LEASE
    assert refused == [], "scripts, calls and event streams of the page all bring the session"
    assert page.evaluate("document.cookie") == ""

    other = context.new_page()
    other.goto(elsewhere)
    other.get_by_role("link").click()
    ready(other)
    assert hits(other)[0] == LEASE, "a link from another site finds the session again"

    keys.revoke("visitor")
    other.reload()
    other.get_by_label("API key").wait_for()
    context.close()
