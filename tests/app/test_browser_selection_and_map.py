"""Links, the selection, exports, the map and the overview: in a real browser, headless."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from page_steps import Open, hits, ready, search, state, tick
from playwright.sync_api import expect

from ale_semantic import Engine

# What Gradio's server threads and gradio_client warn of is none of this project's business.
pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore")]


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


def test_a_point_of_the_map_opens_its_task(visit: Open) -> None:
    page = visit("?tab=map&q=lease")
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


def test_arrow_keys_walk_over_the_map(visit: Open) -> None:
    page = visit("?tab=map")
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


def test_a_cell_of_the_overview_opens_its_tasks(visit: Open) -> None:
    page = visit("?tab=overview")
    cell = page.get_by_role("link", name="Legal, near-term, Windows: 1 task")
    cell.click()
    page.wait_for_url("**domain=legal*")
    ready(page)
    assert hits(page) == ["legal/lease_review"]
