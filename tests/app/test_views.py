"""Views without a browser: what they show."""

from __future__ import annotations

import re

import pytest
from markupsafe import Markup

from ale_semantic.app.context import Site
from ale_semantic.app.facet_panel import panel
from ale_semantic.app.results import pager
from ale_semantic.app.router import screen
from ale_semantic.app.selection_tab import differences
from ale_semantic.app.state import State
from ale_semantic.app.view import SNIPPET, file_url, markdown, marked, snippet
from ale_semantic.types import Band, InputFile, Verdict


def text_of(html: str) -> str:
    return " ".join(Markup(html).striptags().split())


def test_markdown_is_laid_out_and_its_headings_stand_below_the_pages() -> None:
    html = markdown("# A\n\n- one\n- `two`\n\n[web](https://example.org/a)")
    assert "<h3>A</h3>" in html
    assert "<li>one</li>" in html
    assert 'rel="noopener noreferrer nofollow"' in html
    assert 'href="https://example.org/a"' in html


def test_matched_words_are_marked_by_stem_and_text_is_escaped() -> None:
    html = marked("Invoices <b> of 年报 an invoice", ["invoice", "年报"])
    assert html == ("<mark>Invoices</mark> &lt;b&gt; of <mark>年报</mark> an <mark>invoice</mark>")


def test_a_snippet_is_cut_around_the_first_matched_word() -> None:
    long = "filler " * 200 + "needle " + "filler " * 200
    html = snippet(long, ["needle"])
    assert "<mark>needle</mark>" in html
    assert html.startswith("… ")
    assert html.endswith(" …")
    assert len(html) < SNIPPET + 40


def test_browsing_shows_all_tasks_page_by_page_without_repeats(site: Site) -> None:
    seen: list[str] = []
    for page in (1, 2, 3, 4):
        seen += re.findall(r'<article class="hit" data-task="([^"]+)"', screen(site, f"page={page}").html)
    assert seen == [card.task_id for card in site.engine.catalogue]


def test_a_page_beyond_the_last_says_so(site: Site) -> None:
    assert "beyond the last" in screen(site, "page=99").html


def test_the_verdict_is_told_and_a_filter_that_leaves_nothing_shows_ways_out(site: Site) -> None:
    html = screen(site, "domain=legal&tier=last-exam&os=macos").html
    assert "The filter leaves no task" in html
    read = screen(site, "domain=legal&tier=last-exam").html
    assert "Without Tier: last-exam" in read
    assert "3 tasks" in read
    assert site.engine.search(where="domain = legal and tier = last-exam").verdict is Verdict.FILTERED_OUT


def test_an_unknown_field_or_value_names_the_nearest(site: Site) -> None:
    assert "domain" in text_of(screen(site, "domian=legal").html)
    told = text_of(screen(site, "domain=legall").html)
    assert "Not understood" in told
    assert "legal" in told


def test_a_wrong_expression_points_at_the_place_and_can_be_mended_there(site: Site) -> None:
    html = screen(site, "where=os+%3D+linux+annd+gpu+%3D+yes").html
    assert "^" in html
    assert 'value="os = linux annd gpu = yes"' in html


def test_the_panel_keeps_ticked_values_in_sight_and_counts_of_other_values(site: Site) -> None:
    state = State(chosen=(("domain", "science"),))
    result = site.engine.search(where="domain = science")
    box = next(box for box in panel(result.facets, state, result.counted).main if box.name == "domain")
    counts = {option.value: option.count for option in box.options}
    assert counts["legal"] == 3  # its own selection doesn't narrow a facet
    assert [option.value for option in box.options if option.ticked] == ["science"]
    counts |= {option.value: option.count for option in box.rest}
    assert sum(counts.values()) == len(site.engine.catalogue)


def test_another_spelling_in_the_address_ticks_the_value(site: Site) -> None:
    state = State(chosen=(("os", "Linux"),))
    result = site.engine.search(where="os = Linux")
    box = next(box for box in panel(result.facets, state, "").main if box.name == "os")
    assert [option.value for option in box.options if option.ticked] == ["linux"]


def test_the_pager_leads_to_the_ends_and_the_neighbours() -> None:
    pages = pager(State(page=5), 100)
    assert [number and number[0] for number in pages.numbers] == [1, None, 4, 5, 6, None, 10]
    assert (pages.first, pages.last) == (41, 50)
    assert pager(State(), 3).numbers == ((1, "?"),)


def test_sorting_lists_only_related_tasks_in_the_asked_order(site: Site) -> None:
    html = screen(site, "domain=other&sort=-title&view=table&size=50").html
    titles = re.findall(r'data-key="open:[^"]+">([^<]+)<', html)
    assert titles == sorted(titles, reverse=True)
    assert len(titles) == 24
    assert 'aria-sort="descending"' in html


def test_a_task_tells_why_it_matched(site: Site) -> None:
    html = screen(site, "task=business_finance/invoice_matching&q=supplier+invoices").html
    assert "Why it matched" in html
    assert "<mark>invoices</mark>" in html or "<mark>Invoices</mark>" in html


def test_a_task_shows_its_whole_card(site: Site) -> None:
    card = site.engine.catalogue.get("business_finance/invoice_matching")
    told = text_of(screen(site, f"task={card.task_id}").html)
    for part in (card.title, card.summary, *card.must_do, *card.software_names, "CSV", "XLSX", "PDF", "1 h"):
        assert part.lower() in told.lower()


def test_harder_and_easier_neighbours_stand_on_other_levels(site: Site) -> None:
    html = screen(site, "task=other/chore_01").html  # full-spectrum
    easier = html.split("<h2>Easier</h2>")[1].split("</section>")[0]
    harder = html.split("<h2>Harder</h2>")[1].split("</section>")[0]
    assert "near-term" in easier
    assert "last-exam" not in easier
    assert "last-exam" in harder


def test_input_files_link_to_the_public_data_unless_the_path_leads_elsewhere(site: Site) -> None:
    from dataclasses import replace

    card = replace(site.engine.catalogue.get("legal/lease_review"), variants=("base",))
    ok = InputFile("a", "input/a b.txt", "", "", ())
    assert file_url(card, ok) == (
        "https://huggingface.co/datasets/agents-last-exam/agents-last-exam-data/resolve/main/tasks/"
        "legal/lease_review/base/input/a%20b.txt"
    )
    for path in ("../../x", "https://evil.invalid/x", ""):
        assert file_url(card, InputFile("a", path, "", "", ())) is None


def test_similar_leaves_out_the_task_itself_and_takes_titles(site: Site) -> None:
    html = screen(site, "tab=similar&like=Review+a+lease").html
    assert 'class="hit" data-task="legal/lease_review"' not in html
    assert "34 tasks".replace("34", str(len(site.engine.catalogue) - 1)) in text_of(html)


def test_the_overview_adds_up_and_every_number_opens_just_those_tasks(site: Site) -> None:
    html = screen(site, "tab=overview").html
    cells = re.findall(r'<a href="(\?[^"]+)" style="--shade[^>]+>(\d+)</a>', html)
    assert len(cells) > 8
    for href, count in cells:
        found = text_of(screen(site, Markup(href).unescape()).html)
        assert re.search(rf"of {count} tasks?\b", found), href


def test_the_map_shows_every_task_once_and_highlights_hits(site: Site) -> None:
    html = screen(site, "tab=map&q=lease").html
    ids = re.findall(r'data-point="([^"]+)"', html)
    assert sorted(ids) == [card.task_id for card in site.engine.catalogue]
    hits = re.findall(r'class="point hit[^>]+data-point="([^"]+)"', html)
    assert "legal/lease_review" in hits
    assert len(hits) < len(ids)


def test_the_selection_compares_and_marks_what_differs(site: Site) -> None:
    html = screen(
        site, "tab=selection&sel=legal/lease_review&sel=legal/patent_claims&note=legal/lease_review:first"
    ).html
    assert 'value="first"' in html
    assert '<tr class="differs"><th scope="row">Tiers' in html
    assert '<tr><th scope="row">Domain' in html


def test_differences_are_told_word_by_word() -> None:
    assert differences("sort 3 boxes <b>", "sort 12 boxes <b>") == ("sort <del>3</del><ins>12</ins> boxes &lt;b&gt;")


def test_a_selected_task_of_another_catalogue_is_told(site: Site) -> None:
    assert "not in this catalogue" in screen(site, "tab=selection&sel=gone/task").html


def test_empty_views_say_what_to_do(site: Site) -> None:
    assert "Nothing selected yet" in screen(site, "tab=selection").html
    assert "paste a task of your own" in screen(site, "tab=similar").html


def test_bands_are_words_not_only_colours(site: Site) -> None:
    html = screen(site, "q=lease").html
    words = {"Strong match", "Related", "Far"}
    found = {word for word in words if word in html}
    assert found
    assert len(Band) == len(words)


def test_a_ticked_value_that_no_task_has_stays_in_sight(site: Site) -> None:
    state = State(chosen=(("os", "macos"),))
    result = site.engine.search(where="os = macos")
    box = next(box for box in panel(result.facets, state, "").main if box.name == "os")
    assert [(option.value, option.count) for option in box.options if option.ticked] == [("macos", 0)]


@pytest.mark.parametrize(
    "query",
    ["C++", "2d-drawings", "a'b", '"unclosed', "EPSG:2154", "OR", "*", "(", "🦜", "a\0b", "x" * 10_000, "年报", "   "],
)
def test_odd_queries_get_hits_or_one_clear_sentence(site: Site, query: str) -> None:
    shown = screen(site, State(query=query).to_query())
    assert 'class="hit"' in shown.html
    assert "Not understood" not in shown.html
