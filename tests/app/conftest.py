"""One made-up catalogue for all tests of the page, with a task whose every text is hostile."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from page_steps import Open, lead, ready
from playwright.sync_api import Browser, BrowserContext, Error, Page, sync_playwright
from toy import HashEncoder, toy_card, toy_cards, toy_catalogue

from ale_semantic import Engine, build_index
from ale_semantic.app.context import Site

HOSTILE = (
    '"><img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
    " [x](javascript:window.hacked=1) {{7*7}} ${7*7}"
)
PROMPT = f"""# Prompt {HOSTILE}

![pixel](http://evil.invalid/p.png)

<b onclick=window.hacked=1>bold</b>

| a |
|---|
| {HOSTILE} |
"""
CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
HOSTILE_ID = "legal/hostile"
FILLERS = 24  # enough for three pages


def _cards() -> tuple[object, ...]:
    hostile = toy_card(
        HOSTILE_ID,
        title=f"Hostile {HOSTILE}",
        summary=f"Summary {HOSTILE}",
        task_prompt=PROMPT,
        agent_must_do=[f"Step {HOSTILE}"],
        software=[f"Tool {HOSTILE}"],
        input_files=[{"name": HOSTILE, "format": HOSTILE, "path": "../../etc/passwd", "description": HOSTILE}],
        taxonomy={"domain_code": "legal", "subdomain_name": f"Sub {HOSTILE}"},
    )
    fillers = [
        toy_card(
            f"other/chore_{number:02}",
            title=f"Chore {chr(ord('z') - number)}",
            task_prompt=f"Sort {number} boxes of letters by size and write the counts down.",
            tiers=[["near-term"], ["full-spectrum"], ["last-exam"]][number % 3],
        )
        for number in range(FILLERS)
    ]
    return (*toy_cards(), hostile, *fillers)


@pytest.fixture(scope="session")
def page_engine(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """Return an engine over the made-up catalogue."""
    folder = tmp_path_factory.mktemp("page") / "index"
    build_index(toy_catalogue(_cards()), folder, encoder=HashEncoder())  # type: ignore[arg-type]
    return Engine.open(folder, encoder=HashEncoder())


@pytest.fixture(scope="session")
def site(page_engine: Engine) -> Site:
    """Return what the views are given."""
    return Site(page_engine)


@pytest.fixture(scope="package")
def address(page_engine: Engine) -> Iterator[str]:
    """Serve the page and return its address."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Gradio's imports
        from ale_semantic.app.serving import start

        page, address = start(page_engine, host="127.0.0.1", port=0)
    yield address.rstrip("/")
    page.close(verbose=False)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return a headless Chromium: Debian's, else Playwright's own; skip without one, but fail in CI."""
    # Not for longer: while it runs, no other test in this thread can run an event loop.
    with sync_playwright() as driver:
        try:
            started = driver.chromium.launch(executable_path=CHROMIUM if CHROMIUM.is_file() else None, args=ARGUMENTS)
        except Error as fault:
            if os.environ.get("CI"):
                raise
            reason = fault.message.splitlines()[0]
            pytest.skip(f"no Chromium: apt install chromium, or playwright install chromium ({reason})")
        yield started
        started.close()


def new_page(browser: Browser, faults: list[str], options: dict[str, Any]) -> Page:
    """Return a page in a browser context of its own, whose errors are written down."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    page = context.new_page()
    page.set_default_timeout(15_000)
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    return page


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[Open]:
    """Open an address in a browser context of its own; at the end, no page may have had an error."""
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def open_in_new_browser(query: str = "", **options: Any) -> Page:
        page = new_page(browser, faults, options)
        contexts.append(page.context)
        page.goto(f"{address}/{query}")
        ready(page)
        return page

    yield open_in_new_browser
    for context in contexts:
        context.close()
    assert faults == []


@dataclass(slots=True)
class Kept:
    """Pages that stay open for all tests of a file, by their options, and their errors since the last test."""

    pages: dict[str, Page] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def kept(browser: Browser) -> Iterator[Kept]:
    kept = Kept()
    yield kept
    for page in kept.pages.values():
        page.context.close()


@pytest.fixture
def visit(browser: Browser, address: str, kept: Kept) -> Iterator[Open]:
    """Show an address in a page that is open already, which costs far less than loading one; none may have an error.

    What was selected at one address stays selected at the next.
    """

    def lead_there(query: str = "", **options: Any) -> Page:
        key = repr(options)
        if key not in kept.pages:
            kept.pages[key] = new_page(browser, kept.faults, options)
            kept.pages[key].goto(address)
            ready(kept.pages[key])
        lead(kept.pages[key], query)
        return kept.pages[key]

    yield lead_there
    faults, kept.faults[:] = list(kept.faults), []
    assert faults == []
