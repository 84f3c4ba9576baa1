"""Cards: from every drifting shape to one record, and back without loss."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import toy_card, toy_cards, toy_raw

from ale_semantic.cards import card_from_raw, card_to_row
from ale_semantic.errors import CardError
from ale_semantic.fields import RawCard
from ale_semantic.types import OperatingSystem, TaskCard, Tier

SECRETS = ("evaluation", "referenceFiles", "evaluatorCredentials", "outputContracts")


def read(data: dict[str, Any], task_id: str | None = None) -> TaskCard:
    return card_from_raw(RawCard(where="here", data=data, task_id=task_id))


def codes(card: TaskCard) -> set[str]:
    return {finding.code for finding in card.findings}


def test_the_card_shape_of_a_checkout_and_of_the_table_give_one_card() -> None:
    table = toy_raw()
    checkout = {
        "taskId": table["task_id"],
        "title": table["title"],
        "summary": table["summary"],
        "taskPrompt": table["task_prompt"],
        "agentMustDo": table["agent_must_do"],
        "software": table["software"],
        "inputFiles": table["input_files"],
        "tiers": table["tiers"],
        "taxonomy": table["taxonomy"],
        "vm": table["vm"],
    }
    assert read(checkout) == read(table)


@pytest.mark.parametrize("name", ["title", "taskName", "task_name"])
def test_a_title_under_any_of_its_names(name: str) -> None:
    card = read({**toy_raw(title=None), name: "Plot it"})
    assert card.title == "Plot it"
    assert ("drifted-field" in codes(card)) == (name != "title")


def test_a_card_without_title_borrows_the_name_of_its_folder() -> None:
    card = read(toy_raw("legal/lease_review-2", title=None))
    assert card.title == "lease review 2"
    assert "missing-title" in codes(card)


def test_the_folder_is_the_id_and_the_domain() -> None:
    card = read(toy_raw("legal/other", taxonomy={"domain_code": "science"}), task_id="legal/lease")
    assert (card.task_id, card.domain, card.taxonomy_domain) == ("legal/lease", "legal", "science")
    assert {"id-mismatch", "domain-mismatch"} <= codes(card)


def test_an_id_without_a_domain_takes_the_category() -> None:
    assert read(toy_raw(task_id="lease", category="legal")).domain == "legal"
    with pytest.raises(CardError, match="field 'category' is missing or blank"):
        read(toy_raw(task_id="lease"))


@pytest.mark.parametrize("task_id", ["a b/c", "/", "a//b", "/a", "a/", "a/../b", ".", "a\n/b"])
def test_what_is_no_id_is_refused(task_id: str) -> None:
    with pytest.raises(CardError, match="field 'task_id' is not an id"):
        read(toy_raw() | {"task_id": task_id})
    with pytest.raises(CardError, match=r"field '\(folder\)' is not an id"):
        read(toy_raw(), task_id=task_id)


@pytest.mark.parametrize(
    ("given", "tiers"),
    [
        (None, ()),
        ([], ()),
        ("last-exam", (Tier.LAST_EXAM,)),
        ("last-exam, near-term", (Tier.NEAR_TERM, Tier.LAST_EXAM)),
        (["last-exam", "near-term", "near-term"], (Tier.NEAR_TERM, Tier.LAST_EXAM)),
        ('["full-spectrum"]', (Tier.FULL_SPECTRUM,)),
    ],
)
def test_tiers_are_a_sorted_set(given: Any, tiers: tuple[Tier, ...]) -> None:
    card = read(toy_raw(tiers=None, task_split=given))
    assert card.tiers == tiers
    assert ("several-tiers" in codes(card), "missing-tier" in codes(card)) == (len(tiers) > 1, not tiers)


def test_an_unknown_tier_names_the_field_and_the_valid_ones() -> None:
    with pytest.raises(CardError, match="field 'task_split' names an unknown tier 'easy'; valid are near-term"):
        read(toy_raw(tiers=None, task_split="easy"))


@pytest.mark.parametrize(
    ("vm", "system", "gpu", "licensed"),
    [
        ({"snapshot": "cpu-free-ubuntu"}, OperatingSystem.LINUX, False, False),
        ({"snapshot": "gpu-license"}, OperatingSystem.WINDOWS, True, True),
        ({"snapshot": "cpu-free", "os": "linux"}, OperatingSystem.LINUX, False, False),
        ({}, None, None, None),
    ],
)
def test_the_machine_tells_system_gpu_and_licence(
    vm: dict[str, str], system: OperatingSystem | None, gpu: bool | None, licensed: bool | None
) -> None:
    card = read(toy_raw(vm=vm))
    assert (card.os, card.gpu, card.licensed) == (system, gpu, licensed)


def test_a_system_that_contradicts_its_snapshot_is_a_finding() -> None:
    assert "os-conflict" in codes(read(toy_raw(vm={"snapshot": "cpu-free", "os": "linux"})))


@pytest.mark.parametrize(
    ("given", "names"), [(4, ()), ("4", ()), (["base", "hard"], ("base", "hard")), ('["base"]', ("base",)), (None, ())]
)
def test_variants_are_names_or_a_bare_number(given: Any, names: tuple[str, ...]) -> None:
    assert read(toy_raw(variants=given)).variants == names


def test_input_files_are_objects_text_or_bare_paths() -> None:
    files = [{"name": "a", "format": "`.csv`", "path": "in/a.csv", "description": " Rows "}]
    nested, text = read(toy_raw(input_files=files)), read(toy_raw(input_files=json.dumps(files)))
    (bare,) = read(toy_raw(input_files=["in/a.csv"])).inputs
    assert nested == text
    assert nested.inputs[0].formats == bare.formats == ("CSV",)
    assert (nested.inputs[0].description, nested.inputs[0].raw_format) == ("Rows", "`.csv`")
    assert (bare.name, bare.path, bare.raw_format) == ("a.csv", "in/a.csv", "")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"summary": None}, "summary"),
        ({"task_prompt": "  "}, "taskPrompt"),
        ({"software": 3}, "software"),
        ({"agent_must_do": [1]}, "agent_must_do"),
        ({"vm": "cpu-free"}, "vm"),
        ({"vm": {"snapshot": 3}}, "vm.snapshot"),
        ({"vm": {"timeout": "soon"}}, "vm.timeout"),
        ({"vm": {"timeout": True}}, "vm.timeout"),
        ({"taxonomy": {"domain_code": ["x"]}}, "taxonomy.domain_code"),
        ({"input_files": [3]}, "input_files"),
        ({"input_files": [{}]}, "input_files"),
        ({"input_files": [{"path": "a"}, {"path": "b", "format": ["csv"]}]}, "input_files[1].format"),
        ({"inputFiles": [{"path": 3}], "input_files": None}, "inputFiles[0].path"),
        ({"variants": True}, "variants"),
        ({"published": "perhaps"}, "published"),
        ({"findings": ["odd"]}, "findings"),
        ({"title": "half \ud800"}, "title"),
        ({"agent_must_do": '["half \\ud800"]'}, "agent_must_do"),
        ({"input_files": [{"path": "half \udfff"}]}, "input_files"),
    ],
)
def test_a_wrong_field_is_refused_by_name(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(CardError) as caught:
        read(toy_raw(**fields))
    assert (caught.value.where, caught.value.field) == ("here", field)
    assert f"here: field '{field}'" in str(caught.value)


def test_one_software_under_two_spellings_is_one_name_and_a_finding() -> None:
    card = read(toy_raw(software=["`numpy`", "NumPy", "NumPy"]))
    assert card.software_names == ("NumPy",)
    assert [finding.message for finding in card.findings if finding.code == "duplicate-software"] == [
        "NumPy is listed 3 times"
    ]


def test_gaps_are_findings() -> None:
    bare = read({"task_id": "legal/x", "summary": "A", "prompt": "B"})
    assert codes(bare) == {f"missing-{gap}" for gap in ("title", "tier", "must-do", "software", "inputs", "subdomain")}
    assert "missing-timeout" in codes(read(toy_raw(vm={"snapshot": "cpu-free"})))
    assert "unpublished" in codes(read(toy_raw(published=False)))


def test_how_a_task_is_graded_gets_past_nothing() -> None:
    secrets = {name: {"note": f"secret-{name}"} for name in SECRETS}
    nested = {"vm": {"snapshot": "cpu-free", **secrets}, "taxonomy": {"domain_code": "legal", **secrets}}
    files = [{"name": "a", "path": "b", **dict.fromkeys(SECRETS, "secret-file")}]
    card = read({**toy_raw(input_files=files), **secrets, **nested})
    assert "secret" not in repr(card)
    assert "secret" not in json.dumps(card_to_row(card))
    assert not set(SECRETS) & set(card_to_row(card))


@pytest.mark.parametrize("card", toy_cards(), ids=lambda card: card.task_id)
def test_a_row_gives_its_card_again(card: TaskCard) -> None:
    row = card_to_row(card)
    assert read(row) == card
    assert read(json.loads(json.dumps(row))) == card
    assert (
        read({name: json.dumps(value) if isinstance(value, (list, dict)) else value for name, value in row.items()})
        == card
    )


_TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30)
_LINE = _TEXT.filter(str.strip)
_CARDS = st.builds(
    toy_card,
    st.from_regex(r"[a-z_]{1,8}/[a-z_0-9.-]{1,8}[a-z]", fullmatch=True),
    title=st.none() | _LINE,
    summary=_LINE,
    task_prompt=_LINE,
    agent_must_do=st.lists(_TEXT, max_size=3),
    software=st.lists(st.sampled_from(["NumPy", "`numpy`", "Python 3.12", "A / B", "Word, Excel"]) | _TEXT, max_size=4),
    input_files=st.lists(
        st.fixed_dictionaries(
            {"name": _LINE, "format": st.sampled_from(["csv/json", ".md", ""]) | _TEXT, "path": _TEXT}
        ),
        max_size=3,
    ),
    tiers=st.lists(st.sampled_from([str(tier) for tier in Tier])),
    taxonomy=st.fixed_dictionaries({"domain_code": _TEXT, "subdomain_name": _TEXT}),
    vm=st.fixed_dictionaries({}, optional={"snapshot": _TEXT, "os": _TEXT, "timeout": st.integers(0, 10**6)}),
    variants=st.none() | st.integers(0, 5) | st.lists(_LINE, max_size=2),
    published=st.none() | st.booleans(),
)


@settings(max_examples=40)
@given(_CARDS)
def test_any_card_survives_its_row_and_json(card: TaskCard) -> None:
    assert read(json.loads(json.dumps(card_to_row(card)))) == card
