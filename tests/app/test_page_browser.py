"""The page in a real browser, headless, against a server on this machine."""

from __future__ import annotations

import os
import re
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import pytest

from ale_semantic import Engine

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install '.[dev]'")
from playwright.sync_api import Browser, BrowserContext, Error, Page, Playwright, Request, expect  # noqa: E402

# What Gradio's server threads and gradio_client warn of is none of this project's business.
pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore")]

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
HOSTILE_ID = "legal/hostile"
READY = "#ale-main[aria-busy=false]"


@pytest.fixture(scope="module")
def address(page_engine: Engine) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from ale_semantic.app.serving import start

        page, address = start(page_engine, host="127.0.0.1", port=0)
    yield address.rstrip("/")
    page.close(verbose=False)


@pytest.fixture(scope="module")
def driver() -> Iterator[Playwright]:
    with playwright.sync_playwright() as started:
        yield started


@pytest.fixture(scope="module")
def browser(driver: Playwright) -> Iterator[Browser]:
    own = str(CHROMIUM) if CHROMIUM.is_file() else None
    try:
        started = driver.chromium.launch(executable_path=own, args=ARGUMENTS)
    except Error as fault:
        if os.environ.get("CI"):
            raise
        pytest.skip(
            f"no Chromium: apt install chromium, or playwright install chromium ({fault.message.splitlines()[0]})"
        )
    yield started
    started.close()


Open = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser, address: str) -> Iterator[Open]:
    """Open an address in a browser context of its own; at the end, no page may have had an error."""
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def open_in_new_browser(query: str = "", **options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda fault: faults.append(str(fault)))
        page.goto(f"{address}/{query}")
        ready(page)
        return page

    yield open_in_new_browser
    for context in contexts:
        context.close()
    assert faults == []


def ready(page: Page) -> None:
    page.wait_for_selector(READY, state="attached")


def state(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def hits(page: Page) -> list[str]:
    found: list[str] = page.eval_on_selector_all(".hits .hit", "nodes => nodes.map(node => node.dataset.task)")
    return found


def search(page: Page, text: str) -> None:
    page.get_by_label("Search tasks by meaning").fill(text)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: parse_qs(urlsplit(url).query).get("q", [""])[0] == text)
    ready(page)


def tick(page: Page, facet: str, label: str) -> None:
    page.locator(f'[data-box="{facet}"] .option', has_text=label).first.click()
    page.wait_for_url(re.compile(re.escape(facet) + "="))
    ready(page)


def count(page: Page, facet: str, label: str) -> int:
    box = page.locator(f'[data-box="{facet}"] .option', has=page.get_by_text(label, exact=True))
    return int(re.sub(r"\D", "", box.locator(".count").inner_text()))


def test_enter_searches_and_the_best_match_comes_first(open_page: Open) -> None:
    page = open_page()
    search(page, "reconcile supplier invoices")
    assert hits(page)[0] == "business_finance/invoice_matching"
    first = page.locator(".hit").first
    assert first.locator("mark").count() > 0
    assert first.locator(".band").is_visible()
    assert page.title().startswith("reconcile supplier invoices")


def test_examples_and_recent_queries_search(open_page: Open) -> None:
    page = open_page()
    page.locator(".examples a").first.click()
    page.wait_for_url("**q=**")
    ready(page)
    page.get_by_role("link", name="ALE Semantic, start").click()
    page.wait_for_url(lambda url: "q=" not in url)
    ready(page)
    recent = page.get_by_role("list", name="Recent queries")
    expect(recent.get_by_role("link")).to_have_count(1)


def test_facets_filter_with_live_counts_and_keep_the_other_values_counts(open_page: Open) -> None:
    page = open_page()
    before = count(page, "domain", "Science")
    tick(page, "domain", "Legal")
    assert state(page)["domain"] == ["legal"]
    assert sorted(hits(page)) == ["legal/hostile", "legal/lease_review", "legal/patent_claims"]
    assert count(page, "domain", "Science") == before
    assert count(page, "os", "Windows") == 1
    tick(page, "os", "Windows")
    assert hits(page) == ["legal/lease_review"]
    page.get_by_role("link", name="Remove Domain: Legal").click()
    page.wait_for_url(lambda url: "domain=" not in url)
    ready(page)
    assert "legal/lease_review" in hits(page)
    assert len(hits(page)) > 1


def test_long_facets_can_be_searched(open_page: Open) -> None:
    page = open_page()
    box = page.locator('[data-box="software"]')
    box.get_by_role("searchbox").fill("numpy")
    expect(box.locator(".option:visible")).to_have_count(1)
    box.get_by_role("searchbox").fill("nothing like it")
    expect(box.get_by_text("No such value")).to_be_visible()
    box.get_by_role("searchbox").fill("numpy")
    box.locator(".option:visible").click()
    page.wait_for_url("**software=NumPy*")
    ready(page)
    assert box.get_by_role("searchbox").input_value() == "numpy"  # stays over the search


def test_a_filter_that_leaves_nothing_offers_ways_out(open_page: Open) -> None:
    page = open_page("?domain=legal&tier=last-exam")
    page.get_by_role("link", name="Without Tier: last-exam").click()
    page.wait_for_url(lambda url: "tier=" not in url)
    ready(page)
    assert len(hits(page)) == 3


def test_a_filter_expression_is_applied_and_a_wrong_one_explained(open_page: Open) -> None:
    page = open_page()
    page.get_by_label("Filter expression").last.fill("inputs >= 3")
    page.keyboard.press("Enter")
    page.wait_for_url("**where=**")
    ready(page)
    assert hits(page) == ["business_finance/invoice_matching"]
    page.get_by_label("Filter expression").last.fill("domian = legal")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert").filter(has_text="Not understood")).to_contain_text("domain")


def test_opening_a_task_and_going_back_and_forward(open_page: Open) -> None:
    page = open_page()
    search(page, "lease")
    first = hits(page)
    page.locator(".hit h3 a").first.click()
    page.wait_for_url("**task=**")
    ready(page)
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    expect(page.get_by_text("Why it matched")).to_be_visible()
    page.go_back()
    page.wait_for_url(lambda url: "task=" not in url)
    ready(page)
    assert hits(page) == first
    assert page.locator("#ale-q").input_value() == "lease"
    page.go_forward()
    page.wait_for_url("**task=**")
    ready(page)
    page.go_back()
    page.go_back()
    page.wait_for_url(lambda url: "q=" not in url)
    ready(page)
    assert page.locator("#ale-q").input_value() == ""


def test_similar_starts_from_a_hit_and_can_be_steered(open_page: Open) -> None:
    page = open_page("?q=lease")
    page.locator('.hit[data-task="legal/lease_review"]').get_by_role("link", name="Tasks similar").click()
    page.wait_for_url("**like=legal/lease_review*")
    ready(page)
    assert "legal/lease_review" not in hits(page)
    gone = hits(page)[0]
    page.get_by_role("link", name=re.compile("^Less like")).first.click()
    page.wait_for_url("**unlike=**")
    ready(page)
    assert state(page)["unlike"] == [gone]
    assert gone not in hits(page)


def test_a_pasted_text_finds_tasks_like_it(open_page: Open) -> None:
    page = open_page("?tab=similar")
    page.get_by_label("Your own task").fill("I must reconcile invoices of suppliers with payments")
    page.get_by_role("button", name="Find tasks like mine").click()
    page.wait_for_url("**text=**")
    ready(page)
    assert hits(page)[0] == "business_finance/invoice_matching"


def test_each_browsers_link_restores_its_own_state_in_another(open_page: Open) -> None:
    one, other = open_page(), open_page()
    search(one, "lease")
    tick(one, "domain", "Legal")
    one.locator(".hit").nth(1).get_by_role("button", name="Selection").click()
    search(other, "orbit of a comet")
    other.locator(".hit h3 a").first.click()
    other.wait_for_url("**task=**")
    ready(other)
    for page in (one, other):
        assert "%" not in urlsplit(page.url).query  # readable
        again = open_page("?" + urlsplit(page.url).query)
        assert again.inner_text(".results, .task") == page.inner_text(".results, .task")
        assert again.locator("#ale-q").input_value() == page.locator("#ale-q").input_value()
        assert state(again) == state(page)
        pressed = '[data-sel][aria-pressed="true"]'
        assert again.locator(pressed).count() == page.locator(pressed).count()
    assert state(one)["sel"] == [hits(one)[1]]
    assert "sel" not in state(other)


def test_a_bare_address_finds_the_selection_of_the_session_again(open_page: Open, address: str) -> None:
    page = open_page("?sel=legal/lease_review")
    page.goto(address)
    ready(page)
    assert state(page)["sel"] == ["legal/lease_review"]


def test_going_back_loses_nothing_of_the_selection(open_page: Open) -> None:
    page = open_page()
    search(page, "lease")
    page.locator(".hit").first.get_by_role("button", name="Selection").click()
    page.go_back()
    page.wait_for_url(lambda url: "q=" not in url)
    ready(page)
    assert len(state(page)["sel"]) == 1


def test_the_selection_is_ordered_noted_compared_and_exported(open_page: Open, page_engine: Engine) -> None:
    page = open_page("?domain=legal")
    for task in ("legal/patent_claims", "legal/lease_review"):
        page.locator(f'.hit[data-task="{task}"]').get_by_role("button", name="Selection").click()
    page.get_by_role("link", name="Compare and export").click()
    page.wait_for_url("**tab=selection**")
    ready(page)
    expect(page.locator(".picked li")).to_have_count(2)
    page.get_by_role("button", name="Move Review a lease up").click()
    expect(page.locator(".picked li").first).to_have_attribute("data-task", "legal/lease_review")
    page.get_by_label("Note on Review a lease").fill("do first")
    page.keyboard.press("Tab")
    expect(page.get_by_role("heading", name="Side by side")).to_be_visible()
    with page.expect_download() as waiting:
        page.get_by_role("group", name="Export").get_by_role("button", name="ALE task list").click()
    lines = waiting.value.path().read_text().splitlines()
    assert waiting.value.suggested_filename == "ale-selection.txt"
    assert [line for line in lines if not line.startswith("#")] == ["legal/lease_review", "legal/patent_claims"]
    assert any(page_engine.provenance.fingerprint in line for line in lines)
    with page.expect_download() as waiting:
        page.get_by_role("group", name="Export").get_by_role("button", name="CSV").click()
    csv = waiting.value.path().read_text(encoding="utf-8-sig")
    assert "do first" in csv
    assert page_engine.provenance.model in csv


def test_all_hits_can_be_exported_from_the_results(open_page: Open) -> None:
    page = open_page("?domain=other")
    page.locator(".menu summary").click()
    with page.expect_download() as waiting:
        page.locator(".menu").get_by_role("button", name="JSONL").click()
    assert len(waiting.value.path().read_text().splitlines()) == 24


def test_sorting_the_table_and_clicking_its_third_row_opens_the_task_shown_there(open_page: Open) -> None:
    page = open_page("?domain=other&view=table")
    page.get_by_role("link", name="Title").click()
    page.wait_for_url("**sort=title*")
    ready(page)
    row = page.locator(".grid tbody tr").nth(2)
    title, task = row.locator("th").inner_text(), row.get_attribute("data-task")
    assert title == "Chore e"
    row.locator("td").nth(2).click()
    page.wait_for_url("**task=**")
    ready(page)
    assert state(page)["task"] == [task]
    expect(page.get_by_role("heading", level=1)).to_have_text(title)


def test_pages_follow_each_other(open_page: Open) -> None:
    page = open_page()
    seen = hits(page)
    while page.get_by_role("link", name="Next").count():
        page.get_by_role("link", name="Next").click()
        number = len(seen) // 10 + 1
        page.wait_for_url(f"**page={number}*")
        ready(page)
        seen += hits(page)
    assert len(seen) == len(set(seen)) == 34


def test_a_point_of_the_map_opens_its_task(open_page: Open) -> None:
    page = open_page("?tab=map&q=lease")
    point = page.locator(".point.hit").last
    point.hover()
    expect(page.locator("[data-tip]")).to_contain_text(point.get_attribute("data-title") or "?")
    task = point.get_attribute("data-point")
    point.click()
    page.wait_for_url("**task=**")
    ready(page)
    assert state(page)["task"] == [task]


@pytest.mark.parametrize("tool", ["Box", "Lasso"])
def test_a_brush_on_the_map_chooses_tasks_for_a_filter_or_the_selection(open_page: Open, tool: str) -> None:
    page = open_page("?tab=map")
    page.get_by_role("button", name=tool).click()
    paper = page.locator(".paper > svg").bounding_box()
    assert paper is not None
    corners = [(0.02, 0.02), (0.98, 0.02), (0.98, 0.6), (0.02, 0.6)]
    places = [(paper["x"] + x * paper["width"], paper["y"] + y * paper["height"]) for x, y in corners]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:3] if tool == "Box" else places[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()
    text = page.locator("[data-chosen-text]").inner_text()
    number = int(text.split()[0])
    points = page.eval_on_selector_all(".point", "nodes => nodes.map(node => Number(node.dataset.y))")
    assert number == sum(y < 0.6 * 720 for y in points) > 0
    page.get_by_role("button", name="Add to selection").click()
    assert len(state(page)["sel"]) == number
    page.get_by_role("button", name="Filter to these").click()
    page.wait_for_url("**task_id=**")
    ready(page)
    assert page.locator(".point:not(.faded)").count() == number


def test_arrow_keys_walk_over_the_map(open_page: Open) -> None:
    page = open_page("?tab=map")
    page.locator('.point[tabindex="0"]').focus()
    start = page.evaluate("document.activeElement.dataset.point")
    for key in ("ArrowLeft", "ArrowUp", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    visited = page.evaluate("document.activeElement.dataset.point")
    assert visited
    assert page.locator('.point[tabindex="0"]').count() == 1
    page.keyboard.press("Enter")
    page.wait_for_url("**task=**")
    assert start


def test_a_cell_of_the_overview_opens_its_tasks(open_page: Open) -> None:
    page = open_page("?tab=overview")
    cell = page.get_by_role("link", name="Legal, near-term, Windows: 1 task")
    cell.click()
    page.wait_for_url("**domain=legal*")
    ready(page)
    assert hits(page) == ["legal/lease_review"]


@pytest.mark.parametrize(
    "query",
    [
        "?q=hostile",
        f"?task={HOSTILE_ID}&q=hostile",
        "?q=hostile&view=table",
        "?tab=map&q=hostile",
        f"?tab=selection&sel={HOSTILE_ID}&sel=legal/lease_review&note={HOSTILE_ID}:<img src=x onerror=window.hacked=1>",
        "?tab=overview",
        f"?tab=similar&like={HOSTILE_ID}",
        '?q="><img src=x onerror=window.hacked=1>',
    ],
)
def test_hostile_text_does_nothing(open_page: Open, query: str) -> None:
    page = open_page(query)
    page.wait_for_timeout(150)
    assert page.evaluate("window.hacked") is None
    assert page.locator("#ale-main :is(img, script, iframe)").count() == 0
    assert page.locator('#ale-main a[href^="javascript"]').count() == 0


def test_the_keyboard_alone_finds_opens_and_selects(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("/")
    page.keyboard.type("reconcile supplier invoices")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=**")
    ready(page)
    for _ in range(400):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.key") == "sel:business_finance/invoice_matching":
            break
    page.keyboard.press("Space")
    page.wait_for_url("**sel=**")
    assert state(page)["sel"] == ["business_finance/invoice_matching"]
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("task=business_finance/invoice_matching"))
    ready(page)
    expect(page.get_by_role("heading", level=1)).to_be_focused()


def test_ticking_a_facet_keeps_the_focus_on_it(open_page: Open) -> None:
    page = open_page()
    page.locator('[data-key="facet:os=linux"]').focus()
    page.keyboard.press("Space")
    page.wait_for_url("**os=linux*")
    ready(page)
    expect(page.locator('[data-key="facet:os=linux"]')).to_be_focused()
    expect(page.locator('[data-key="facet:os=linux"]')).to_be_checked()


VIEWS = [
    "",
    "?q=lease&os=windows",
    "?q=lease&view=table",
    "?task=legal/lease_review&q=lease",
    "?tab=similar&like=legal/lease_review",
    "?tab=map&q=lease",
    "?tab=overview",
    "?tab=selection&sel=legal/lease_review&sel=legal/patent_claims",
    "?domian=legal",
]


# What sticks out on the right and doesn't scroll within a part of the page.
TOO_WIDE = """() => [...document.querySelectorAll('.ale *')].filter(node => {
  const box = node.getBoundingClientRect();
  if (!box.width || box.right <= 361) return false;
  for (let outer = node.parentElement; outer; outer = outer.parentElement)
    if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(outer).overflowX)) return false;
  return true;
}).map(node => node.outerHTML.slice(0, 100))"""


@pytest.mark.parametrize("query", VIEWS)
def test_nothing_is_wider_than_a_small_phone(open_page: Open, query: str) -> None:
    page = open_page(query, viewport={"width": 360, "height": 740})
    assert page.evaluate(TOO_WIDE) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator("#ale-q").is_visible()


def test_on_a_phone_the_filters_fold_away(open_page: Open) -> None:
    page = open_page(viewport={"width": 360, "height": 740})
    panel = page.get_by_role("complementary", name="Filters")
    expect(panel).to_be_hidden()
    page.get_by_role("button", name="Filters").click()
    expect(panel).to_be_visible()
    tick(page, "os", "Windows")
    expect(panel).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("query", VIEWS)
def test_no_serious_fault_of_accessibility(open_page: Open, query: str, scheme: str) -> None:
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed: pip install '.[dev]'"
    )
    page = open_page(query, color_scheme=scheme)
    found = axe.Axe().run(page).response["violations"]
    serious = [
        f"{fault['id']}: {node['html'][:160]}"
        for fault in found
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]
    assert serious == []


def test_the_theme_follows_the_system_and_the_button_turns_it(open_page: Open) -> None:
    ground = "getComputedStyle(document.querySelector('.ale')).backgroundColor"
    dark, light = open_page(color_scheme="dark"), open_page(color_scheme="light")
    assert dark.evaluate(ground) != light.evaluate(ground)
    light.get_by_role("button", name="Dark theme").click()
    assert light.evaluate(ground) == dark.evaluate(ground)
    light.reload()
    ready(light)
    assert light.evaluate(ground) == dark.evaluate(ground)


def test_no_request_leaves_the_pages_server(browser: Browser, address: str) -> None:
    outside: list[str] = []

    def watch(request: Request) -> None:
        if not request.url.startswith((address, "data:", "blob:")):
            outside.append(request.url)

    context = browser.new_context()
    context.on("request", watch)
    page = context.new_page()
    for query in VIEWS:
        page.goto(f"{address}/{query}")
        ready(page)
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
