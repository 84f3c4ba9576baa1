"""What a visitor of the page does, for the browser tests."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page

Open = Callable[..., Page]
# One address of each view.
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

LEAD = """query => {
  history.pushState({}, "", query || location.pathname);
  dispatchEvent(new PopStateEvent("popstate"));
}"""


def serious_faults(page: Page, within: str | None = None) -> list[str]:
    """Return the serious faults of accessibility of what the page, or a part of it, shows."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright", reason="axe is not installed: pip install '.[dev]'"
    )
    return [
        f"{fault['id']}: {node['html'][:160]}"
        for fault in axe.Axe().run(page, context=within).response["violations"]
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]


def ready(page: Page) -> None:
    """Wait until the page shows what its address says."""
    page.wait_for_selector("#ale-main[aria-busy=false]", state="attached")


def lead(page: Page, query: str) -> None:
    """Lead a page to another address without loading it again, as the buttons of a browser do."""
    page.evaluate(LEAD, query)
    ready(page)


def state(page: Page) -> dict[str, list[str]]:
    """Return the parameters of the address."""
    return parse_qs(urlsplit(page.url).query)


def hits(page: Page) -> list[str]:
    """Return the ids of the hits that are shown, in their order."""
    found: list[str] = page.eval_on_selector_all(".hits .hit", "nodes => nodes.map(node => node.dataset.task)")
    return found


def search(page: Page, text: str) -> None:
    """Type a query and press Enter."""
    page.get_by_label("Search tasks by meaning").fill(text)
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: parse_qs(urlsplit(url).query).get("q", [""])[0] == text)
    ready(page)


def tick(page: Page, facet: str, label: str) -> None:
    """Tick a value of a facet."""
    page.locator(f'[data-box="{facet}"] .option', has_text=label).first.click()
    page.wait_for_url(re.compile(re.escape(facet) + "="))
    ready(page)


def count(page: Page, facet: str, label: str) -> int:
    """Return the number beside a value of a facet."""
    box = page.locator(f'[data-box="{facet}"] .option', has=page.get_by_text(label, exact=True))
    return int(re.sub(r"\D", "", box.locator(".count").inner_text()))
