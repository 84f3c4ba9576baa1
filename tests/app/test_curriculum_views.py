"""The Curriculum tab without a browser: what each view shows, refuses, links to and writes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from itertools import pairwise
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from ale_semantic.app.context import Site
from ale_semantic.app.curriculum.asking import Ask, CurriculumView, changes_of_pool, pool_of
from ale_semantic.app.curriculum.parameters import NAMES, Parameters, fresh, link
from ale_semantic.app.curriculum.refusals import _LIMITS
from ale_semantic.app.exporting import download
from ale_semantic.app.router import screen
from ale_semantic.app.state import State, Tab
from ale_semantic.curriculum import Curriculum, PathRequest, Pool, check
from ale_semantic.curriculum.path_offers import _loosened
from ale_semantic.types import Tier

LIST = r'<li data-task="([^"]+)"'
PATH: dict[str, object] = {"start_tier": "near-term", "goal_tier": "last-exam"}
ASKED: dict[CurriculumView, dict[str, object]] = {
    CurriculumView.PATH: PATH,
    CurriculumView.LADDERS: {},
    CurriculumView.SUBSET: {"k": 5},
    CurriculumView.SPLIT: {"test": 20},
    CurriculumView.COVERAGE: {},
    CurriculumView.TOPICS: {"topics": "supplier invoices\nknitting for otters"},
    CurriculumView.DUPLICATES: {"weak": "yes"},
    CurriculumView.PREREQUISITES: {"task": "other/chore_02"},
}


def asked(view: str, parameters: Mapping[str, object], state: str = "") -> str:
    named = [(f"curriculum.{name}", str(value)) for name, value in {"view": view, **parameters}.items()]
    return f"tab=curriculum&{urlencode(named)}&{state}"


def address(view: str, state: str = "", **parameters: str | int) -> str:
    return asked(view, parameters, state)


def text_of(html: str) -> str:
    return " ".join(Markup(html).striptags().split())


def hrefs(html: str) -> list[str]:
    return [str(Markup(href).unescape()) for href in re.findall(r'href="(\?[^"]*)"', html)]


def content(site: Site, query: str, form: str, part: int = 0) -> bytes:
    file = download(site, query, form, f"curriculum:{part}")
    assert file.problem == ""
    assert file.name == f"ale-curriculum.{form}"
    return base64.b64decode(file.base64)


@pytest.mark.parametrize("view", CurriculumView)
def test_each_view_explains_itself_and_answers_when_asked(site: Site, view: CurriculumView) -> None:
    empty = screen(
        site, f"tab=curriculum&curriculum.view={view}" if view is not CurriculumView.PATH else "tab=curriculum"
    )
    assert re.search(rf'data-key="view:{view}" aria-current="page"', empty.html)
    assert "Only tasks that pass the filters" in empty.html or "among the tasks that pass" in empty.html
    assert 'role="alert"' not in empty.html
    if view is not CurriculumView.COVERAGE:
        assert 'aria-label="Examples"' in empty.html
    answer = screen(site, asked(view, ASKED[view]))
    assert 'role="alert"' not in answer.html
    assert answer.status
    assert "<h2>" in answer.html.split('aria-label="Answer"')[1]


@pytest.mark.parametrize("view", CurriculumView)
def test_every_example_has_an_answer(site: Site, view: CurriculumView) -> None:
    html = screen(
        site, f"tab=curriculum&curriculum.view={view}" if view is not CurriculumView.PATH else "tab=curriculum"
    ).html
    _, _, listed = html.partition('aria-label="Examples"')
    for href in hrefs(listed):
        assert 'role="alert"' not in screen(site, href).html, href


def test_a_path_shows_tier_score_and_reason_of_each_step_and_never_gets_easier(site: Site) -> None:
    html = screen(site, asked("path", PATH)).html
    steps = html.split('<ol class="route">')[1].split("<li ")[1:]
    tiers = [re.search(r'class="tag tier-([\w-]+)"', step) for step in steps]
    levels = [Tier(tier[1]).level for tier in tiers if tier]
    assert len(levels) == len(steps) >= 4
    assert all(first <= second for first, second in pairwise(levels))
    assert all("why-line" in step for step in steps)
    assert sum("to the task before" in step for step in steps) == len(steps) - 1
    assert "From anywhere to the hardest tasks" in text_of(html)
    uses = html.split("Skills by step</h2>")[1].split("</section>")[0]
    for row in re.findall(r"<tr>(.*?)</tr>", uses.split("<tbody>")[1], flags=re.DOTALL):
        found = re.findall(r'use-(new|again)"', row)
        assert found == ["new"] + ["again"] * (len(found) - 1)


def test_start_and_goal_are_told_as_they_were_understood(site: Site) -> None:
    told = text_of(screen(site, address("path", start="supplier invoices", goal="Chore x")).html)
    assert "From the topic “supplier invoices” to the task “Chore x”" in told


def test_the_facets_narrow_what_is_taken_and_exclusions_leave_out(site: Site) -> None:
    html = screen(site, address("subset", "domain=legal", k=2)).html
    chosen = re.findall(LIST, html)
    assert len(chosen) == 2
    assert all(task.startswith("legal/") for task in chosen)
    again = screen(site, address("subset", "domain=legal", k=2, exclude=chosen[0])).html
    assert chosen[0] not in re.findall(LIST, again)
    leave_out = next(href for href in hrefs(html) if "curriculum.exclude=" in href)
    assert 'role="alert"' not in screen(site, leave_out).html


def test_a_path_that_cannot_be_had_names_the_limit_and_links_to_the_nearest(site: Site) -> None:
    html = screen(site, address("path", start_tier="near-term", goal_tier="last-exam", length=2)).html
    assert "Not possible with these limits" in html
    assert "Number of tasks</b> 2" in html
    offered = re.search(r'<a class="primary" href="([^"]+)"', html)
    assert offered
    nearest = screen(site, str(Markup(offered[1]).unescape())).html
    assert 'role="alert"' not in nearest
    named = re.findall(r'<a href="[^"]*task=([^"&]+)"', html.split('<ol class="nearest">')[1].split("</ol>")[0])
    assert re.findall(LIST, nearest) == named


def test_a_choice_that_cannot_be_had_links_to_what_can(site: Site) -> None:
    html = screen(site, address("subset", k=3, quota="tier=last-exam:5..")).html
    assert "Quota</b> tier=last-exam:5.." in html
    offered = re.search(r'<a class="primary" href="([^"]+)"', html)
    assert offered
    assert "last-exam:3.." in offered[1]
    nearest = screen(site, str(Markup(offered[1]).unescape())).html
    assert 'role="alert"' not in nearest
    assert len(re.findall(LIST, nearest)) == 3


def test_a_filter_that_leaves_nothing_shows_ways_out(site: Site) -> None:
    html = screen(site, address("subset", "domain=legal&tier=last-exam", k=2)).html
    assert "The filters leave no task" in html
    assert "Without Tier: last-exam" in html


def test_every_limit_of_a_path_has_an_everyday_name() -> None:
    request = PathRequest(
        length=3,
        min_step=0.5,
        max_step=0.9,
        max_new_skills=0,
        start_tier=Tier.NEAR_TERM,
        goal_tier=Tier.LAST_EXAM,
        pool=Pool(where="gpu = no", domains=("a",), systems=("linux",), exclude=("a/b",)),
    )
    assert {limit for limit, _, _ in _loosened(request)} - _LIMITS.keys() == set()


@pytest.mark.parametrize(
    ("query", "told"),
    [
        (address("path", goal="legal/nowhere"), "legal/nowhere"),
        (address("path", goal="a lease", skill="Write reports and memos"), "not both"),
        (address("path", start_tier="last-exam", goal_tier="near-term"), "tiers never fall"),
        (address("ladders", task="nothing like it"), "nothing like it"),
        (address("ladders", task="other/chore_01"), "the nearest is"),
        (address("subset", k=3, quota="nonsense"), "write field=value:3"),
        (address("subset", k=1, must="legal/lease_review", exclude="legal/lease_review"), "left out"),
        (address("topics", topics="# none"), "one a line"),
        (address("topics", topics="\n".join(f"topic {number}" for number in range(101))), "at most 100"),
        (address("duplicates", own="{broken", kind="jsonl"), "Your tasks:1"),
        (address("duplicates", own="a b\n\n" * 101), "at most 100"),
        (address("prerequisites", task="legal/nowhere"), "legal/nowhere"),
        (address("path", exclude="legal/nowhere"), "legal/nowhere"),
    ],
)
def test_a_fault_is_one_message_in_place(site: Site, query: str, told: str) -> None:
    html = screen(site, query).html
    assert html.count('role="alert"') == 1
    assert told in text_of(html.split('role="alert"')[1].split("</div>")[0])
    assert "<h1" in html
    assert 'class="choose"' in html


def test_a_faulty_filter_can_be_mended_on_the_page(site: Site) -> None:
    assert 'value="domian = legal"' in screen(site, address("path", "where=domian+%3D+legal")).html


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"length": "99"}, "a whole number from 2 to 20"),
        ({"min_step": "near"}, "a number from -1 to 1"),
        ({"start_tier": "easy"}, "near-term, full-spectrum, last-exam"),
        ({"twins": "maybe"}, "yes or no"),
        ({"view": "nowhere"}, "path, ladders"),
        ({"colour": "red"}, "no parameter of this tab"),
    ],
)
def test_what_cannot_be_used_is_told(site: Site, parameters: dict[str, str], told: str) -> None:
    html = screen(site, asked("path", parameters)).html
    assert told in text_of(html.split('class="notice"')[1].split("</div>")[0])


def test_each_number_of_the_coverage_opens_just_those_tasks(site: Site) -> None:
    for extra in ("", "&curriculum.skill=Write+reports+and+memos", "&curriculum.domain=other"):
        html = screen(site, f"tab=curriculum&curriculum.view=coverage{extra}").html
        cells = re.findall(r'<a href="(\?[^"]+)" style="--shade[^>]+>(\d+)</a>', html)
        assert cells
        for href, count in cells:
            found = text_of(screen(site, str(Markup(href).unescape())).html)
            assert re.search(rf"of {count} tasks?\b", found), href


def test_topics_are_marked_in_words_and_missing_ones_are_no_part_of_the_list(site: Site) -> None:
    query = address("topics", topics="supplier invoices\nxylophone quarks\n\n# a remark")
    html = screen(site, query).html
    assert "1 of 2 topics covered" in html
    assert "Not covered" in html
    saved = Curriculum.parse(content(site, query, "yaml").decode())
    assert saved.task_ids == ("business_finance/invoice_matching",)


def test_a_slider_moves_the_thresholds_and_the_shared_text_is_text(site: Site) -> None:
    many = screen(site, address("duplicates", wording="0.2", closeness="0.2")).html
    few = screen(site, address("duplicates", wording="0.9", closeness="2")).html
    assert many.count("<li data-list") > few.count("<li data-list")
    assert 'value="0.9" data-default="0.25"' in few
    own = screen(site, address("duplicates", own="<b>Review</b> a lease <script>x</script>")).html
    assert "&lt;b&gt;Review&lt;/b&gt;" in own
    assert "the filters play no part" in own


def test_pasted_tasks_are_named_and_their_nearest_found(site: Site) -> None:
    card = site.engine.catalogue.get("business_finance/invoice_matching")
    pasted = json.dumps({"id": "mine", "prompt": f"{card.title} {card.prompt}"}) + '\n{"id": "other", "text": "zebra"}'
    html = screen(site, address("duplicates", own=pasted)).html
    assert "<h3>mine</h3>" in html
    assert re.findall(LIST, html)[0] == card.task_id
    assert "Near twins among your tasks: 1 of 2" in text_of(html)


def test_the_ladder_of_a_task_names_its_neighbours(site: Site) -> None:
    told = text_of(screen(site, address("ladders", task="other/chore_00")).html)
    assert "Next rung: Chore" in told
    assert "Rung before: none, it is the lowest" in told


@pytest.mark.parametrize("form", ["yaml", "txt", "md", "svg", "png", "json"])
def test_a_path_is_kept_in_each_form(site: Site, form: str) -> None:
    query = address("path", start_tier="near-term", goal_tier="last-exam")
    ids = re.findall(LIST, screen(site, query).html)
    data = content(site, query, form)
    if form == "yaml":
        saved = Curriculum.parse(data.decode())
        assert list(saved.task_ids) == ids
        assert check(site.engine, saved).is_kept
    elif form == "txt":
        assert [line for line in data.decode().splitlines() if not line.startswith("#")] == ids
    elif form == "md":
        assert all(task.rsplit("/", 1)[-1] in data.decode().replace("\\", "") for task in ids)
    elif form == "json":
        assert [step["task"]["task_id"] for step in json.loads(data)["steps"]] == ids
    else:
        assert data.startswith(b"<?xml" if form == "svg" else b"\x89PNG")


@pytest.mark.parametrize("view", [view for view in CurriculumView if view not in ("coverage", "duplicates")])
def test_what_is_kept_passes_its_own_check(site: Site, view: CurriculumView) -> None:
    query = asked(view, ASKED[view])
    saved = Curriculum.parse(content(site, query, "yaml").decode())
    assert check(site.engine, saved).problems == ()


def test_both_sides_of_a_split_are_kept_apart(site: Site) -> None:
    query = address("split", test=30)
    train, test = (Curriculum.parse(content(site, query, "yaml", part).decode()).task_ids for part in (0, 1))
    assert set(train) & set(test) == set()
    assert len(train) + len(test) == len(site.engine.catalogue)


@pytest.mark.parametrize(
    ("query", "form", "scope", "told"),
    [
        ("tab=curriculum", "yaml", "curriculum:0", "fill in the form"),
        (address("coverage"), "yaml", "curriculum:0", "no list of tasks"),
        (address("ladders"), "yaml", "curriculum:99", "no longer there"),
        (address("ladders"), "yaml", "curriculum:x", "no longer there"),
        (address("ladders"), "exe", "curriculum:0", "unknown form"),
        (address("path", goal="legal/nowhere"), "yaml", "curriculum:0", "legal/nowhere"),
    ],
)
def test_what_cannot_be_kept_is_told(site: Site, query: str, form: str, scope: str, told: str) -> None:
    assert told in download(site, query, form, scope).problem


def test_a_task_leads_on_to_its_curricula_and_back(site: Site) -> None:
    html = screen(site, "task=other/chore_00").html
    links = [href for href in hrefs(html) if "tab=curriculum" in href]
    assert len(links) == 4
    for href in links:
        assert "curriculum" in screen(site, href).title.lower()
    opened = screen(site, address("ladders", "task=other/chore_00")).html
    assert "Back to the curriculum" in opened
    assert re.search(r'href="\?tab=curriculum&amp;curriculum.view=ladders" data-key="back"', opened)


def test_the_pool_of_the_facets_is_the_filter_itself(site: Site) -> None:
    from ale_semantic.app.conditions import condition_of

    table = site.engine.facet_table
    for query in (
        "domain=legal&domain=other&os=linux&tier=near-term",
        "missing=os&os=linux",
        "where=inputs+>=+1&gpu=no",
    ):
        state = State.from_query(query)
        assert (pool_of(state).mask(site.engine.catalogue, table) == table.mask(condition_of(state))).all()
    state = State.from_query("domain=legal&os=linux&tier=near-term")
    assert changes_of_pool(state, Pool()) == {"chosen": (), "missing": (), "where": ""}
    kept = changes_of_pool(state, Pool(domains=("legal",), systems=("linux",)))
    assert kept["chosen"] == (("domain", "legal"), ("os", "linux"))


words = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12)


@given(
    st.dictionaries(st.sampled_from(sorted(NAMES)), st.lists(words.map(str.strip).filter(bool), min_size=1, max_size=2))
)
def test_parameters_read_back_from_a_link(parameters: dict[str, list[str]]) -> None:
    wanted = {name: tuple(dict.fromkeys(values)) for name, values in parameters.items()}
    state = State.from_query(link(State(chosen=(("os", "linux"),)), wanted))
    read = Parameters.of(state)
    assert state.tab is Tab.CURRICULUM
    assert state.chosen == (("os", "linux"),)
    assert {name: read.all(name) for name in NAMES if read.all(name)} == wanted
    assert State.from_query(state.to_query()) == state


values = st.one_of(
    words, st.sampled_from(["", "1", "-1", "nan", "1e9", "yes", "near-term", "legal/lease_review", "*", "a\nb"])
)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(CurriculumView),
    st.dictionaries(st.sampled_from(sorted(NAMES - {"view"})), values, max_size=5),
)
def test_no_parameters_break_a_view(site: Site, view: CurriculumView, parameters: dict[str, str]) -> None:
    shown = screen(site, fresh(State(), view, **parameters))
    assert 'class="choose"' in shown.html
    assert shown.status


def test_a_view_is_given_ids_for_titles(site: Site) -> None:
    ask = Ask.of(site, State.from_query(address("path", start="review a LEASE", goal="lease")))
    assert ask.end("start") == "legal/lease_review"
    assert ask.end("goal") == "lease"
    assert ask.reads("near legal/lease_review, not a/b") == "Near “Review a lease”, not a/b."
