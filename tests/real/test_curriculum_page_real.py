"""The page's Curriculum tab over the real cards."""

from __future__ import annotations

import re

import pytest

from ale_semantic import Engine
from ale_semantic.app.context import Site
from ale_semantic.app.router import screen

pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def site(real_engine: Engine) -> Site:
    """Return what the views are given."""
    return Site(real_engine)


@pytest.mark.parametrize(
    "query",
    [
        "start=spreadsheets&curriculum.goal=full+accounting+audit",
        "view=ladders",
        "view=subset&curriculum.k=20",
        "view=split&curriculum.test=20",
        "view=coverage",
        "view=topics&curriculum.topics=medical+imaging%0Ainvoices",
        "view=duplicates",
        "view=prerequisites&curriculum.task=business_finance/ar_full_1500",
    ],
)
def test_each_view_answers(site: Site, query: str) -> None:
    html = screen(site, f"tab=curriculum&curriculum.{query}").html
    assert 'role="alert"' not in html
    assert "<h2>" in html.split("data-answer")[1]


def test_the_next_rung_and_the_twins_are_shown(site: Site) -> None:
    ladder = screen(site, "tab=curriculum&curriculum.view=ladders&curriculum.task=ar_full_300").html
    assert re.findall(r'<li data-task="([^"]+)"', ladder)[-2:] == [
        "business_finance/ar_full_300",
        "business_finance/ar_full_1500",
    ]
    twins = screen(site, "tab=curriculum&curriculum.view=duplicates").html
    first = re.findall(r'<div data-task="([^"]+)"', twins)[:2]
    assert set(first) == {"business_finance/ar_full_300", "business_finance/ar_full_1500"}
    assert "Near twins" in twins
