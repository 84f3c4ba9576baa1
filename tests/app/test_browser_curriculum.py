"""The Curriculum tab in a real browser, headless: forms, sliders, files, the way to a task and back."""

from __future__ import annotations

import re

import pytest
from page_steps import TOO_WIDE, Open, ready, serious_faults, state
from playwright.sync_api import Page, expect

from ale_semantic import Engine
from ale_semantic.curriculum import Curriculum, check

# What Gradio's server threads and gradio_client warn of is none of this project's business.
pytestmark = [pytest.mark.browser, pytest.mark.filterwarnings("ignore")]

ANSWERS = (
    "curriculum.view=path",
    "curriculum.view=subset&curriculum.k=3&curriculum.quota=tier%3Dlast-exam:5..&curriculum.must=legal/hostile",
    "curriculum.view=split&curriculum.test=20",
    "curriculum.view=coverage",
    "curriculum.view=topics&curriculum.topics=supplier+invoices%0Axylophone+quarks",
    "curriculum.view=duplicates",
)
# Made of the same parts as those above.
MORE = (
    "curriculum.goal=legal/nowhere&curriculum.length=99&curriculum.exclude=legal/hostile",
    "curriculum.view=ladders",
    "curriculum.view=prerequisites&curriculum.task=legal/hostile",
)


def steps(page: Page) -> list[str]:
    found: list[str] = page.eval_on_selector_all(".route > li", "nodes => nodes.map(node => node.dataset.task)")
    return found


def test_a_path_is_asked_for_changed_and_kept(open_page: Open, page_engine: Engine) -> None:
    page = open_page("?tab=curriculum&domain=other")
    page.get_by_label("To", exact=True).fill("Chore x")
    page.get_by_text("Limits: length").click()
    page.get_by_label("Number of tasks").fill("3")
    page.get_by_role("button", name="Find a path").click()
    page.wait_for_url("**curriculum.length=3*")
    ready(page)
    first = steps(page)
    assert len(first) == 3
    assert first[-1] == "other/chore_02"
    assert state(page)["domain"] == ["other"]
    page.get_by_role("link", name=re.compile("^Leave out")).first.click()
    page.wait_for_url("**curriculum.exclude=**")
    ready(page)
    shown = steps(page)
    assert first[0] not in shown
    with page.expect_download() as waiting:
        page.get_by_text("Download", exact=True).click()
        page.get_by_role("button", name="Curriculum file (YAML)").click()
    saved = Curriculum.load(waiting.value.path())
    assert list(saved.task_ids) == shown
    assert check(page_engine, saved).is_kept
    page.get_by_role("button", name="Add all 3 to selection").click()
    assert state(page)["sel"] == shown
    page.locator(".route h3 a").first.click()
    page.wait_for_url("**task=**")
    ready(page)
    page.get_by_role("link", name="Back to the curriculum").click()
    page.wait_for_url(lambda url: "&task=" not in url)
    ready(page)
    assert steps(page) == shown


def test_a_slider_answers_to_the_keyboard_and_loses_nothing_that_was_typed(open_page: Open) -> None:
    page = open_page("?tab=curriculum&curriculum.view=duplicates")
    before = page.locator(".pairs > li").count()
    page.get_by_label("Also pairs worth a look").check()
    page.get_by_label("Your own tasks").fill("   ")
    slider = page.get_by_label("or closeness from")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**curriculum.closeness=0.6*")
    ready(page)
    expect(page.get_by_label("Also pairs worth a look")).to_be_checked()
    expect(page.get_by_label("or closeness from")).to_be_focused()
    expect(page.locator('output[data-of="ale-c-closeness"]')).to_have_text("0.60")
    assert page.locator(".pairs > li").count() > before
    page.get_by_label("Also pairs worth a look").uncheck()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url(lambda url: "weak" not in url)
    ready(page)


def test_every_view_fits_a_phone_and_is_sound_to_a_screen_reader(visit: Open) -> None:
    for number, query in enumerate((*ANSWERS, *MORE)):
        scheme = "dark" if number % 2 else "light"
        page = visit(f"?tab=curriculum&{query}", viewport={"width": 360, "height": 740}, color_scheme=scheme)
        assert page.evaluate(TOO_WIDE) == [], query
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        if query in ANSWERS:
            assert serious_faults(page, within=".builder, .results") == [], query
        assert page.evaluate("window.hacked") is None
