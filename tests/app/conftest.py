"""One made-up catalogue for all tests of the page, with a task whose every text is hostile."""

from __future__ import annotations

from pathlib import Path

import pytest
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


@pytest.fixture(scope="session")
def assets() -> Path:
    """Return the folder of the page's assets."""
    return Path(__file__).resolve().parents[2] / "app" / "assets"
