"""Fields of raw cards: the names they go by, the shapes they come in, the shapes that are refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ale_semantic.errors import CardError
from ale_semantic.fields import PUBLIC_FIELDS, FieldReader, RawCard, parse_json

ITEMS = ("a,b", "it's", 'say "x"', "表")


def reader(**data: Any) -> FieldReader:
    return FieldReader(RawCard(where="cards.jsonl:3", data=data))


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(list(ITEMS), id="nested list"),
        pytest.param(ITEMS, id="tuple"),
        pytest.param(json.dumps(ITEMS), id="JSON text"),
        pytest.param(json.dumps(ITEMS, indent=2), id="JSON text over several lines"),
        pytest.param(repr(list(ITEMS)), id="Python text"),
        pytest.param(np.array(ITEMS, dtype=object), id="NumPy array"),
        pytest.param(str(np.array(ITEMS, dtype=object)), id="NumPy text, without commas"),
        pytest.param("\n".join(ITEMS), id="one a line"),
        pytest.param([" a,b ", *ITEMS[1:], "", None], id="blanks around and between"),
    ],
)
def test_a_list_is_read_from_every_form_that_tables_give_it(value: Any) -> None:
    assert reader(software=value).texts("software") == ITEMS


def test_a_long_numpy_text_is_read_over_its_line_breaks() -> None:
    items = tuple(f"a rather long name of some software, number {number}" for number in range(40))
    text = str(np.array(items, dtype=object))
    assert "\n" in text
    assert reader(software=text).texts("software") == items


def test_objects_in_a_numpy_text_are_read() -> None:
    files = [{"name": "a", "format": None}, {"name": "b", "format": "csv"}]
    assert list(reader(input_files=str(np.array(files, dtype=object))).items("inputs")) == files


def test_prose_that_begins_with_a_bracket_stays_prose() -> None:
    assert reader(agentMustDo="[Optional] plot it\nsave it").texts("must_do") == ("[Optional] plot it", "save it")


@pytest.mark.parametrize("value", [None, "", "  \n", float("nan"), [], "[]"])
def test_a_left_out_list_is_empty(value: Any) -> None:
    assert reader(software=value).texts("software") == ()


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ('[{"name": "a",', "is not JSON"),
        ('["a", "b"', "is not JSON"),
        ("['a' + 'b']", "is not JSON"),
        ('[["' * 20_000, "is not JSON"),
        ('{"a": 1}', "must be a list, found dict"),
        (7, "must be a list, found int"),
        (b"a", "must be a list, found bytes"),
        ([1, 2], "must hold texts only, found int"),
        ("[1, 2]", "must hold texts only, found int"),
        ([["a"]], "must hold texts only, found list"),
    ],
)
def test_a_wrong_list_is_refused_by_place_and_field(value: Any, problem: str) -> None:
    with pytest.raises(CardError, match="'software'") as caught:
        reader(software=value).texts("software")
    assert caught.value.where == "cards.jsonl:3"
    assert caught.value.problem.startswith(problem)


@pytest.mark.parametrize("field", PUBLIC_FIELDS)
def test_every_name_of_a_field_is_found_and_reported(field: str) -> None:
    for name in PUBLIC_FIELDS[field]:
        found = reader(**{name: "value"})
        assert found.used_name(field) == name
        assert found.error(field, "is odd").field == name


def test_the_first_name_that_is_filled_wins() -> None:
    found = reader(title=" ", taskName="Plot", task_name="Other")
    assert (found.text("title"), found.used_name("title")) == ("Plot", "taskName")


def test_a_missing_text_says_which_names_were_looked_for() -> None:
    with pytest.raises(CardError, match="'taskPrompt' or 'task_prompt' or 'prompt'"):
        reader().required_text("prompt")


@pytest.mark.parametrize("value", [7, True, ["x"], {"x": 1}, b"x"])
def test_a_text_of_another_type_is_refused(value: Any) -> None:
    with pytest.raises(CardError, match="field 'taskName' must be text, found"):
        reader(taskName=value).text("title")


@pytest.mark.parametrize(("value", "number"), [(60, 60), ("60", 60), (60.0, 60), ("60.0", 60), (0, 0), (None, None)])
def test_whole_numbers(value: Any, number: int | None) -> None:
    assert reader(timeout=value).integer("timeout") == number


@pytest.mark.parametrize("value", ["soon", "nan ", "inf", -1, 1.5, True, [60], {}, 10**400])
def test_other_numbers_are_refused(value: Any) -> None:
    with pytest.raises(CardError, match="field 'timeout' must be a whole number"):
        reader(timeout=value).integer("timeout")


@pytest.mark.parametrize(
    ("value", "truth"), [(True, True), ("True", True), ("yes", True), (0, False), ("FALSE", False), ("", None)]
)
def test_truth_values(value: Any, truth: bool | None) -> None:
    assert reader(gpu=value).boolean("gpu") is truth


def test_another_truth_value_is_refused() -> None:
    with pytest.raises(CardError, match="field 'gpu' must be true or false, found 'maybe'"):
        reader(gpu="maybe").boolean("gpu")


@pytest.mark.parametrize("value", [{"a": "b"}, '{"a": "b"}', "{'a': 'b'}"])
def test_a_nested_field_is_read_nested_or_as_text(value: Any) -> None:
    assert reader(taxonomy=value).mapping("taxonomy") == {"a": "b"}


@pytest.mark.parametrize(
    ("value", "problem"), [("{broken", "is not JSON"), ("[]", "must be an object"), (3, "must be")]
)
def test_a_wrong_nested_field_is_refused(value: Any, problem: str) -> None:
    with pytest.raises(CardError, match=f"field 'taxonomy' {problem}"):
        reader(taxonomy=value).mapping("taxonomy")


@settings(max_examples=25)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_value_gives_a_value_or_a_card_error(value: Any) -> None:
    found = reader(software=value, taxonomy=value, timeout=value, gpu=value, title=value)
    for read, field in (
        (found.texts, "software"),
        (found.mapping, "taxonomy"),
        (found.integer, "timeout"),
        (found.boolean, "gpu"),
        (found.text, "title"),
    ):
        try:
            read(field)
        except CardError as fault:
            refused = fault.field
        else:
            refused = field
        assert refused == field


@settings(max_examples=40)
@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]))))
def test_a_python_list_in_a_cell_is_read_like_the_list_itself(items: list[str]) -> None:
    assert reader(software=repr(items)).texts("software") == reader(software=items).texts("software")


@pytest.mark.parametrize("text", ["{", "nope", "[" * 100_000, '{"a": ' + "9" * 5000 + "}"])
def test_what_is_no_json_is_one_kind_of_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"line 1|deeply|digits"):
        parse_json(text)
