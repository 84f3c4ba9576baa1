"""Curriculum files as untrusted text: plain values or one clear refusal, and quickly."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ale_semantic.curriculum import Constraints, Curriculum, CurriculumTask
from ale_semantic.curriculum.yaml_text import read_yaml
from ale_semantic.errors import CurriculumError

HEAD = "format: ale-semantic curriculum 1\ntasks: [a/b]\n"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12:30:00", "12:30:00"),
        ("2020-13-45", "2020-13-45"),
        ("0777", "0777"),
        ("0x1F", "0x1F"),
        ("-3", -3),
        ("1.0e-05", 1e-05),
        ("yes", True),
        ("~", None),
        ("'1'", "1"),
        ("<<", "<<"),
    ],
)
def test_plain_values(text: str, value: object) -> None:
    assert read_yaml(f"a: {text}", name="x") == {"a": value}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: &x [1]\nb: [*x, *x]", "aliases aren't taken"),
        ("!!python/object:os.system {}", "tags aren't taken"),
        ("!!int x", "tags aren't taken"),
        ("[" * 5_000, "nested too deeply"),
        ("{" * 5_000, "nested too deeply"),
        ("- " * 5_000, "nested too deeply"),
        ("9" * 5_000, "can't be read"),
        ('"\\ud800"', "half a character"),
        ("a: b\x00", "is not YAML"),
        ("? {a: b}\n: c", "is not YAML"),
    ],
)
def test_what_is_refused(text: str, told: str) -> None:
    with pytest.raises(CurriculumError, match=told):
        read_yaml(text, name="x")


@pytest.mark.parametrize(
    "text", ["provenance: [1]", "provenance: abc", "constraints: {min_step: .nan}", "constraints: {min_step: .inf}"]
)
def test_values_of_the_wrong_kind_are_refused(text: str) -> None:
    with pytest.raises(CurriculumError, match=r"provenance|min_step"):
        Curriculum.parse(HEAD + text)


@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!?|>'\"#,%@ \n0.~\\"), max_size=60))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(CurriculumError):
        assert Curriculum.parse(HEAD + text).task_ids[:1] == ("a/b",)


# What a person may write, line breaks of all kinds included.
texts = st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n\t"), max_size=30)


@settings(max_examples=40)
@given(
    st.builds(
        Curriculum,
        title=texts,
        goal=texts,
        notes=texts,
        constraints=st.builds(
            Constraints,
            where=texts,
            exclude=st.lists(texts, max_size=3).map(tuple),
            length=st.none() | st.integers(0, 9),
            tiers_never_fall=st.booleans(),
            no_near_twins=st.booleans(),
            min_step=st.none() | st.floats(-1, 1),
        ),
        tasks=st.lists(st.builds(CurriculumTask, texts.filter(bool), texts, texts), min_size=1, max_size=3).map(tuple),
        provenance=st.dictionaries(texts, texts | st.integers(0, 10**6) | st.booleans(), max_size=3),
    )
)
def test_a_file_reads_back_as_it_was(made: Curriculum) -> None:
    again = Curriculum.parse(made.to_yaml())
    assert again.constraints.min_step == pytest.approx(made.constraints.min_step, abs=1e-6)
    assert again.to_yaml() == made.to_yaml()
    assert (again.title, again.goal, again.notes, again.task_ids) == (made.title, made.goal, made.notes, made.task_ids)
