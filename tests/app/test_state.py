"""The address: it holds the whole state, reads back to it, and tells what it can't use."""

from __future__ import annotations

from urllib.parse import parse_qsl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ale_semantic.app.conditions import chips, condition_of
from ale_semantic.app.state import MAX_ADDRESS, Sort, State, Tab, View
from ale_semantic.errors import FilterError
from ale_semantic.types import Band, Mode

text = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20).map(str.strip)
name = text.filter(bool)
ids = st.lists(name, max_size=3, unique=True).map(tuple)
fields = st.sampled_from(["domain", "tier", "os", "software"])
states = st.builds(
    State,
    tab=st.sampled_from(Tab),
    query=text,
    ignore=ids,
    mode=st.sampled_from(Mode),
    band=st.sampled_from([None, *Band]),
    chosen=st.lists(st.tuples(fields, name), max_size=4, unique=True).map(tuple),
    missing=st.lists(fields, max_size=2, unique=True).map(tuple),
    where=text,
    sort=st.sampled_from(Sort),
    page=st.integers(1, 999),
    size=st.sampled_from([10, 25, 50]),
    view=st.sampled_from(View),
    task=text,
    like=ids,
    unlike=ids,
    text=text,
    selection=ids,
    extra=st.lists(st.tuples(st.just("curriculum.hours"), name), max_size=2).map(tuple),
)


@given(states)
def test_an_address_reads_back_to_the_same_state(state: State) -> None:
    assert State.from_query(state.to_query()) == state
    assert State.from_query("?" + state.to_query()) == state


def test_an_address_is_readable() -> None:
    state = State(
        query="lease & more",
        chosen=(("os", "linux"), ("tier", "near-term"), ("software", "a,b")),
        selection=("legal/lease_review",),
        notes=(("legal/lease_review", "check: scope"),),
    )
    assert state.to_query() == (
        "q=lease+%26+more&os=linux&tier=near-term&software=a,b&sel=legal/lease_review&note=legal/lease_review:check:+scope"
    )


def test_defaults_are_left_out() -> None:
    assert State().to_query() == ""
    assert State().link() == "?"


def test_a_link_leaves_the_basket_to_the_browser_and_starts_at_the_first_page() -> None:
    state = State(query="a", page=3, task="x/y", selection=("x/y",))
    assert state.link(sort=Sort.TITLE) == "?q=a&sort=title"
    assert state.link(task="b/c") == "?q=a&page=3&task=b/c"
    assert state.link(page=4) == "?q=a&page=4&task=x/y"


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("page=0", "page=0"),
        ("page=-1", "page=-1"),
        ("page=abc", "page=abc"),
        ("page=99999999999", "page=99999999999"),
        ("page=²", "page=²"),
        ("size=11", "size=11"),
        ("mode=magic", "hybrid, dense, lexical"),
        ("tab=nowhere", "search, similar"),
        ("sort=-nothing", "relevance, title"),
        ("band=great", "strong, weak, none"),
    ],
)
def test_what_cannot_be_used_is_told(query: str, told: str) -> None:
    state = State.from_query(query)
    assert len(state.problems) == 1
    assert told in state.problems[0]


def test_an_endless_address_is_refused_with_a_sentence() -> None:
    state = State.from_query("q=" + "x" * MAX_ADDRESS)
    assert state.query == ""
    assert "60,000" in state.problems[0]


def test_parameters_of_gradio_are_none_of_ours() -> None:
    assert State.from_query("__theme=dark&q=a") == State(query="a")


def test_notes_are_kept_by_task_and_may_hold_colons() -> None:
    assert dict(State.from_query("note=a/b:one: two&note=c/d:&note=nothing").notes) == {"a/b": "one: two"}


def test_values_of_a_facet_are_alternatives_and_facets_narrow_each_other() -> None:
    state = State.from_query("os=linux&os=windows&tier=near-term&missing=tier&where=inputs+>=+3")
    assert str(condition_of(state)) == (
        "os in (linux, windows) and (tier = near-term or tier is missing) and inputs >= 3"
    )


def test_a_value_is_never_a_condition() -> None:
    value = 'x" or tier = "last-exam'
    state = State(chosen=(("software", value),))
    assert str(condition_of(State.from_query(state.to_query()))) == 'software = "x\\" or tier = \\"last-exam"'


def test_no_filter_is_no_condition() -> None:
    assert condition_of(State()) is None


def test_a_faulty_expression_is_an_error() -> None:
    with pytest.raises(FilterError):
        condition_of(State(where="os ="))


def test_each_part_of_the_filter_has_a_chip_that_removes_just_it() -> None:
    state = State.from_query("q=a&os=linux&tier=near-term&missing=gpu&where=inputs+>=+3&band=weak")
    labels = [(chip.label, chip.value) for chip in chips(state)]
    assert labels == [
        ("System", "Linux"),
        ("Tier", "near-term"),
        ("GPU", "not given"),
        ("Filter", "inputs >= 3"),
        ("Match", "weak or better"),
    ]
    for chip in chips(state):
        before, after = parse_qsl(state.link()[1:]), parse_qsl(chip.href[1:])
        assert len(after) == len(before) - 1
        assert set(after) < set(before)


def test_many_chosen_tasks_share_one_chip() -> None:
    state = State(chosen=tuple(("task_id", f"a/{number}") for number in range(9)))
    assert [(chip.label, chip.value, chip.href) for chip in chips(state)] == [("Only", "9 chosen tasks", "?")]


def test_ticking_twice_changes_nothing() -> None:
    state = State(chosen=(("os", "linux"),))
    ticked = State.from_query(state.toggled("os", "windows"))
    assert ticked.values("os") == ("linux", "windows")
    assert State.from_query(ticked.toggled("os", "windows")) == state
    assert State.from_query(State.from_query(state.toggled_missing("gpu")).toggled_missing("gpu")) == state
