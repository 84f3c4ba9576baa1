"""Take the pictures of docs/page.md: python docs/images/take.py ADDRESS [NAME ...] (of a page of the demo cards)."""

from __future__ import annotations

import sys
from collections.abc import Collection
from pathlib import Path

from playwright.sync_api import sync_playwright

SEARCH = "?q=count+cells+in+microscope+pictures&os=linux"
LADDER = "agriculture_env/irrigation_flow_reconcile_small_demo", "agriculture_env/irrigation_flow_reconcile_large_demo"
PICTURES = {
    "search": (SEARCH, "light", 1280, 900),
    "search-narrow": (SEARCH, "light", 360, 740),
    "table-dark": ("?q=spreadsheet&view=table", "dark", 1280, 900),
    "task": (f"?q=irrigation&task={LADDER[0]}", "light", 1280, 900),
    "similar": (f"?tab=similar&like={LADDER[0]}", "light", 1280, 900),
    "map": ("?tab=map&q=medical+imaging", "light", 1280, 960),
    "curriculum": ("?tab=curriculum&curriculum.goal=statistics+of+an+experiment", "light", 1280, 1080),
    "overview": ("?tab=overview", "light", 1280, 960),
    "selection": (f"?tab=selection&sel={LADDER[0]}&sel={LADDER[1]}&note={LADDER[0]}:first", "light", 1280, 900),
}


def main(address: str, names: Collection[str]) -> None:
    """Take the named pictures, or all."""
    with sync_playwright() as driver:
        own = Path("/usr/bin/chromium")
        browser = driver.chromium.launch(executable_path=own if own.is_file() else None, args=["--no-sandbox"])
        for name, (query, scheme, width, height) in PICTURES.items():
            if names and name not in names:
                continue
            dark = scheme == "dark"
            page = browser.new_page(
                viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
            )
            page.goto(f"{address.rstrip('/')}/{query}")
            page.wait_for_selector("#ale-main[aria-busy=false]")
            page.wait_for_timeout(300)
            page.screenshot(path=Path(__file__).with_name(f"{name}.png"))
            page.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
