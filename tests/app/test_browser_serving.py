"""What the server gives and refuses, to browsers and scripts, many at once."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from urllib.request import urlopen

import pytest
from page_steps import VIEWS, lead, ready
from playwright.sync_api import Browser, Request

from ale_semantic import Engine

# What Gradio's server threads and gradio_client warn of is none of this project's business.
pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore")]


def test_no_request_leaves_the_pages_server(browser: Browser, address: str) -> None:
    outside: list[str] = []

    def watch(request: Request) -> None:
        if not request.url.startswith((address, "data:", "blob:")):
            outside.append(request.url)

    context = browser.new_context()
    context.on("request", watch)
    page = context.new_page()
    page.goto(address)
    ready(page)
    for query in VIEWS:
        lead(page, query)
    page.wait_for_timeout(500)
    context.close()
    assert outside == []


def test_ten_sessions_at_once_each_get_their_own_answer(browser: Browser, address: str) -> None:
    pages = [browser.new_context().new_page() for _ in range(10)]
    for page in pages:
        page.goto(address)
    for page in pages:
        ready(page)
    words = ["lease", "invoices", "poster", "orbit", "soil", "tune", "patent", "spectra", "boxes", "report"]
    for page, word in zip(pages, words, strict=True):  # all are asked before any is waited for
        page.locator("#ale-q").fill(word)
        page.keyboard.press("Enter")
    for page, word in zip(pages, words, strict=True):
        page.wait_for_url(f"**q={word}*")
        page.wait_for_function("word => document.title.startsWith(word)", arg=word)
        assert page.locator("#ale-q").input_value() == word
        page.context.close()


def test_a_slow_request_holds_nobody_up(address: str, page_engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    from threading import Event

    from gradio_client import Client  # type: ignore[import-untyped]

    from ale_semantic.app import exporting

    go_on = Event()
    monkeypatch.setattr(exporting, "selection", lambda *_: go_on.wait(20) and None)
    with ThreadPoolExecutor(1) as pool:
        client = Client(address, verbose=False)
        slow = pool.submit(client.predict, ["legal/lease_review"], "csv", api_name="/export")
        started = time.monotonic()
        found = Client(address, verbose=False).predict("lease", api_name="/search")
        assert found["hits"]
        assert not slow.done()
        assert time.monotonic() - started < 15
        go_on.set()
        assert slow.exception() is not None  # what stood in for the export gave nothing to write


def test_endpoints_are_named_and_the_rest_is_private(address: str) -> None:
    from gradio_client import Client

    client = Client(address, verbose=False)
    api = client.view_api(return_format="dict", print_info=False)
    assert set(api["named_endpoints"]) == {"/search", "/similar", "/task", "/facets", "/export"}
    assert api["unnamed_endpoints"] == {}
    assert client.predict("legal/lease_review", api_name="/task")["title"] == "Review a lease"
    with pytest.raises(Exception, match="legal/lease_review"):
        client.predict("legal/lease_reviw", api_name="/task")


@pytest.mark.parametrize("path", ["gradio_api/file=/etc/passwd", "gradio_api/file=pyproject.toml", "file=/etc/passwd"])
def test_no_route_gives_files_of_the_machine(address: str, path: str) -> None:
    from urllib.error import HTTPError

    with pytest.raises(HTTPError) as refused:
        urlopen(f"{address}/{path}", timeout=10)
    assert refused.value.code == 404


def test_many_loads_do_not_grow_the_memory(address: str) -> None:
    import gc
    import tracemalloc

    def load(times: int) -> None:
        for number in range(times):
            urlopen(f"{address}/?q=lease&n={number}", timeout=20).read()

    load(30)
    gc.collect()
    tracemalloc.start()
    load(5)
    gc.collect()
    before = tracemalloc.get_traced_memory()[0]
    load(60)
    gc.collect()
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown < 60 * 10_000  # bytes: a page kept would be some 100 kB a load
