"""Safety of card text, keyboard, narrow screens, contrast and themes: in a real browser, headless."""

from __future__ import annotations

import re

import pytest
from page_steps import TOO_WIDE, VIEWS, Open, ready, serious_faults, state, tick
from playwright.sync_api import expect

# What Gradio's server threads and gradio_client warn of is none of this project's business.
pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore")]

HOSTILE_ID = "legal/hostile"


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
def test_hostile_text_does_nothing(open_page: Open, visit: Open, query: str) -> None:
    page = open_page(query) if "<" in query else visit(query)
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


@pytest.mark.parametrize("query", VIEWS)
def test_nothing_is_wider_than_a_small_phone(visit: Open, query: str) -> None:
    page = visit(query, viewport={"width": 360, "height": 740})
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
def test_no_serious_fault_of_accessibility(visit: Open, query: str, scheme: str) -> None:
    assert serious_faults(visit(query, color_scheme=scheme)) == []


def test_the_theme_follows_the_system_and_the_button_turns_it(open_page: Open) -> None:
    ground = "getComputedStyle(document.querySelector('.ale')).backgroundColor"
    dark, light = open_page(color_scheme="dark"), open_page(color_scheme="light")
    assert dark.evaluate(ground) != light.evaluate(ground)
    light.get_by_role("button", name="Dark theme").click()
    assert light.evaluate(ground) == dark.evaluate(ground)
    light.reload()
    ready(light)
    assert light.evaluate(ground) == dark.evaluate(ground)
