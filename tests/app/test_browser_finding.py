"""Searching, filtering, opening, going back: in a real browser, headless."""

from __future__ import annotations

import re

import pytest
from page_steps import Open, count, hits, ready, search, state, tick
from playwright.sync_api import expect

# What Gradio's server threads and gradio_client warn of is none of this project's business.
pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore")]


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


def test_facets_filter_with_live_counts_and_keep_the_other_values_counts(visit: Open) -> None:
    page = visit()
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


def test_a_filter_that_leaves_nothing_offers_ways_out(visit: Open) -> None:
    page = visit("?domain=legal&tier=last-exam")
    page.get_by_role("link", name="Without Tier: last-exam").click()
    page.wait_for_url(lambda url: "tier=" not in url)
    ready(page)
    assert len(hits(page)) == 3


def test_a_filter_expression_is_applied_and_a_wrong_one_explained(visit: Open) -> None:
    page = visit()
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


def test_similar_starts_from_a_hit_and_can_be_steered(visit: Open) -> None:
    page = visit("?q=lease")
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


def test_a_pasted_text_finds_tasks_like_it(visit: Open) -> None:
    page = visit("?tab=similar")
    page.get_by_label("Your own task").fill("I must reconcile invoices of suppliers with payments")
    page.get_by_role("button", name="Find tasks like mine").click()
    page.wait_for_url("**text=**")
    ready(page)
    assert hits(page)[0] == "business_finance/invoice_matching"


def test_sorting_the_table_and_clicking_its_third_row_opens_the_task_shown_there(visit: Open) -> None:
    page = visit("?domain=other&view=table")
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


def test_pages_follow_each_other(visit: Open) -> None:
    page = visit()
    seen = hits(page)
    while page.get_by_role("link", name="Next").count():
        page.get_by_role("link", name="Next").click()
        number = len(seen) // 10 + 1
        page.wait_for_url(f"**page={number}*")
        ready(page)
        seen += hits(page)
    assert len(seen) == len(set(seen)) == 34
