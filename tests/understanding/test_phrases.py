"""Phrases that name facet values: explicit ones are applied, others offered."""

from __future__ import annotations

import pytest

from ale_semantic.understanding.phrases import SoftwarePhrases, find_phrases, without_phrases

SOFTWARE = SoftwarePhrases.of(["Blender", "NumPy", "R", "Tool Shop"])


@pytest.mark.parametrize(
    ("query", "where", "applied"),
    [
        ("render a scene on Windows", "os = windows", True),
        ("windows of a house", "os = windows", False),
        ("compile under linux", "os = linux", True),
        ("train without a GPU", "gpu = no", True),
        ("needs a gpu", "gpu = yes", True),
        ("last-exam chemistry", "tier = last-exam", True),
        ("my last exam", "tier = last-exam", False),
        ("near-term tasks about maps", "tier = near-term", True),
        ("in Windows oder auf Linux", "os = linux", True),
        ("sans GPU", "gpu = no", True),
        ("不需要GPU 的任务", "gpu = no", True),
    ],
)
def test_fixed_phrases(query: str, where: str, applied: bool) -> None:
    found = {one.recognised.where: one.recognised for one in find_phrases(query, SOFTWARE)}
    assert found[where].applied is applied
    assert found[where].phrase in query


def test_software_is_offered_after_in_and_applied_after_only_in() -> None:
    (offered,) = find_phrases("model a chair in blender", SOFTWARE)
    (applied,) = find_phrases("model a chair only in blender", SOFTWARE)
    assert (offered.recognised.label, offered.recognised.applied) == ("Blender", False)
    assert applied.recognised.applied
    assert offered.recognised.key == applied.recognised.key == "software=Blender"
    assert offered.condition == applied.condition


def test_blanks_within_a_name_dont_matter() -> None:
    (found,) = find_phrases("plan a garden in tool  shop", SOFTWARE)
    assert found.recognised.key == "software=Tool Shop"


@pytest.mark.parametrize("query", ["", "blender", "in blenders", "a fit in R", "the sound of wind", "gpus"])
def test_other_words_name_no_facet(query: str) -> None:
    assert find_phrases(query, SOFTWARE) == []


def test_only_applied_phrases_leave_the_text() -> None:
    query = "map floods on Linux, in Blender"
    assert without_phrases(query, find_phrases(query, SOFTWARE)) == "map floods , in Blender"
    assert without_phrases("on windows", find_phrases("on windows", SOFTWARE)) == ""
