"""Cards from a checkout: where they stand, the lists beside them, files that can't be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from toy import toy_raw

from ale_semantic.cards import card_from_raw
from ale_semantic.errors import CardError, SourceError
from ale_semantic.fields import RawCard
from ale_semantic.sources.checkout import CheckoutSource, read_task_list

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def write(root: Path, task_id: str, content: str | bytes | dict[str, Any] | None = None) -> Path:
    path = root / "tasks" / task_id / "task_card.json"
    path.parent.mkdir(parents=True)
    given = json.dumps(toy_raw(task_id)) if content is None else content
    given = json.dumps(given) if isinstance(given, dict) else given
    path.write_bytes(given if isinstance(given, bytes) else given.encode())
    return path


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    root = tmp_path / "ale"
    write(root, "legal/lease")
    write(root, "art/poster")
    write(root, "demo/smoke")
    lists = root / "selected_tasks" / "full"
    lists.mkdir(parents=True)
    (lists / "near-term.txt").write_bytes("\ufeff# easy\nlegal/lease\n".encode())
    (lists / "last-exam.txt").write_text("legal/lease  # twice\nlegal/gone\n")
    (root / "tasks" / "published_tasks.json").write_text('{"published": {"legal/lease": {"variants": ["base", 2]}}}')
    return root


def raws(root: Path, *, include_smoke_tests: bool = False) -> dict[str | None, RawCard]:
    found = list(CheckoutSource.find(root, include_smoke_tests=include_smoke_tests).raw_cards())
    return {raw.task_id: raw for raw in found if isinstance(raw, RawCard)}


def test_cards_come_with_tiers_and_variants_and_without_smoke_tests(checkout: Path) -> None:
    found = raws(checkout)
    assert list(found) == ["art/poster", "legal/lease"]
    lease = found["legal/lease"]
    assert lease.where == "tasks/legal/lease/task_card.json"
    assert (lease.data["tiers"], lease.data["variants"]) == (["near-term", "last-exam"], ["base", "2"])
    assert (lease.data["published"], found["art/poster"].data["published"]) == (True, False)
    assert found["art/poster"].data["tiers"] == []


def test_smoke_tests_come_when_asked_for_though_they_have_no_prompt(checkout: Path) -> None:
    write(checkout, "demo/bare", toy_raw("demo/bare", task_prompt=None, summary="Say hello."))
    found = raws(checkout, include_smoke_tests=True)
    assert {task_id for task_id in found if str(task_id).startswith("demo/")} == {"demo/bare", "demo/smoke"}
    assert card_from_raw(found["demo/bare"]).prompt == "Say hello."
    assert card_from_raw(found["demo/smoke"]).prompt == toy_raw("demo/smoke")["task_prompt"]


@pytest.mark.parametrize("place", [".", "tasks"])
def test_a_checkout_is_found_by_its_root_its_tasks_or_from_inside(
    checkout: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(raws(checkout / place)) == 2
    monkeypatch.chdir(checkout / place)
    source = CheckoutSource.find(Path())
    assert source.origin.name == "ale"


def test_a_folder_without_cards_is_no_checkout(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"is no ALE checkout: it has no tasks/<domain>/<task>/task_card\.json"):
        CheckoutSource.find(tmp_path)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{\n  oops}", "is not JSON: Expecting property name enclosed in double quotes at line 2, character 3"),
        ("", "is not JSON: Expecting value at line 1, character 1"),
        ("[" * 100_000, "is not JSON: too deeply nested"),
        (b'{"title": "\xff"}', "is not UTF-8 at byte 11"),
        ("[]", "must hold one object, found list"),
    ],
)
def test_a_card_that_cant_be_read_is_an_error_of_its_file(tmp_path: Path, content: str | bytes, problem: str) -> None:
    write(tmp_path, "legal/bad", content)
    write(tmp_path, "legal/good")
    fault, good = CheckoutSource.find(tmp_path).raw_cards()
    assert isinstance(fault, CardError)
    assert isinstance(good, RawCard)
    assert (fault.where, fault.problem) == ("tasks/legal/bad/task_card.json", problem)


def test_a_byte_order_mark_is_no_fault(tmp_path: Path) -> None:
    write(tmp_path, "legal/lease", "\ufeff" + json.dumps(toy_raw()))
    assert list(raws(tmp_path)) == ["legal/lease"]


@pytest.mark.parametrize("content", ["[]", "{}", '{"published": ["a"]}', '{"published": {"a": 3}}', "{"])
def test_a_broken_list_of_published_tasks_is_named(checkout: Path, content: str) -> None:
    (checkout / "tasks" / "published_tasks.json").write_text(content)
    with pytest.raises(SourceError, match=r"published_tasks\.json"):
        raws(checkout)


def test_without_a_list_of_published_tasks_nothing_is_said_of_it(checkout: Path) -> None:
    (checkout / "tasks" / "published_tasks.json").unlink()
    assert "published" not in raws(checkout)["legal/lease"].data


def test_a_tier_list_that_is_no_text_is_named(checkout: Path) -> None:
    (checkout / "selected_tasks" / "full" / "near-term.txt").write_bytes(b"legal/lease\n\xff\n")
    with pytest.raises(SourceError, match=r"near-term\.txt: is not UTF-8 at byte 12"):
        raws(checkout)


def test_a_task_list_knows_comments_blanks_repeats_and_ids_with_a_hash(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("# all\n\n  a/b \na/b\ncode/c#_port # a comment\n\t# another\n")
    assert read_task_list(path) == ("a/b", "code/c#_port")


@pytest.mark.parametrize(
    ("files", "revision"),
    [
        ({"HEAD": COMMIT}, COMMIT),
        ({"HEAD": "ref: refs/heads/main\n", "refs/heads/main": COMMIT + "\n"}, COMMIT),
        ({"HEAD": "ref: refs/heads/main", "packed-refs": f"# pack\n{COMMIT} refs/heads/main\n"}, COMMIT),
        ({"HEAD": "ref: refs/heads/main", "packed-refs": f"{COMMIT} refs/heads/other\n"}, None),
        ({"HEAD": "ref: refs/heads/main"}, None),
        ({"HEAD": "ref: ../../secret.txt"}, None),
        ({"HEAD": "nonsense"}, None),
        ({}, None),
    ],
)
def test_the_revision_is_the_commit(checkout: Path, files: dict[str, str], revision: str | None) -> None:
    (checkout.parent / "secret.txt").write_text("password")
    for name, content in files.items():
        path = checkout / ".git" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    assert CheckoutSource.find(checkout).origin.revision == revision
