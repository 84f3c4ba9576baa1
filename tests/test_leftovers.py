"""Temporary folders of killed processes are removed, those of living ones are not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ale_semantic import leftovers
from ale_semantic.cli.options import spool_folder
from ale_semantic.leftovers import held_folder

PREFIX = ".index-cards-"
HOLD = """
import sys
from pathlib import Path
from ale_semantic.leftovers import held_folder
with held_folder(Path(sys.argv[1]), sys.argv[2]) as folder:
    (folder / "ordered.jsonl").write_text("cards")
    print(folder, flush=True)
    sys.stdin.read()
"""


def age(folder: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(folder, (then, then))


def test_a_folder_is_there_while_it_is_used(tmp_path: Path) -> None:
    with held_folder(tmp_path, PREFIX) as folder:
        assert folder.parent == tmp_path
        assert folder.name.startswith(PREFIX)
        (folder / "a file").write_text("cards")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(RuntimeError), held_folder(tmp_path, PREFIX):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
def test_what_a_killed_process_left_is_removed_and_what_a_living_one_uses_is_not(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path), PREFIX], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        used = Path(process.stdout.readline().strip())
        age(used, 3 * 24 * 3600)  # however long it takes
        with held_folder(tmp_path, PREFIX):
            assert (used / "ordered.jsonl").is_file()
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert used.is_dir()
    age(used, 10)
    with held_folder(tmp_path, PREFIX) as own:
        assert [path for path in tmp_path.iterdir() if path.is_dir()] == [own]


@pytest.mark.parametrize(
    ("name", "seconds", "gone"),
    [
        (PREFIX + "abc", 2 * 24 * 3600, True),  # of a version that took no lock
        (PREFIX + "abc", 3600, False),
        (".other-cards-abc", 2 * 24 * 3600, False),
    ],
    ids=["old", "young", "another's"],
)
def test_a_folder_without_a_lock_is_removed_by_its_age(tmp_path: Path, name: str, seconds: float, gone: bool) -> None:
    (tmp_path / name).mkdir()
    age(tmp_path / name, seconds)
    leftovers.remove_dead(tmp_path, PREFIX)
    assert (tmp_path / name).is_dir() != gone


def test_a_folder_just_made_isnt_taken_for_a_dead_ones(tmp_path: Path) -> None:
    folder = tmp_path / f"{PREFIX}abc"
    folder.mkdir()
    (folder / leftovers.LOCK).touch()  # not held yet
    leftovers.remove_dead(tmp_path, PREFIX)
    assert folder.is_dir()
    age(folder, 3600)
    leftovers.remove_dead(tmp_path, PREFIX)
    assert not folder.exists()


def test_a_build_removes_the_cards_that_a_killed_one_left_beside_the_index(tmp_path: Path) -> None:
    for name in (".index-cards-dead", ".other-cards-dead"):
        (tmp_path / name).mkdir()
        (tmp_path / name / leftovers.LOCK).touch()
        (tmp_path / name / "ordered.jsonl").write_text("cards")
        age(tmp_path / name, 3600)
    with spool_folder(tmp_path / "index") as folder:
        assert {path.name for path in tmp_path.iterdir()} == {folder.name, ".other-cards-dead"}
    assert [path.name for path in tmp_path.iterdir()] == [".other-cards-dead"]


def test_a_link_and_a_file_of_that_name_are_left(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / f"{PREFIX}file").write_text("no folder")
    os.utime(tmp_path / "elsewhere", (0, 0))
    leftovers.remove_dead(tmp_path, PREFIX)
    assert len(list(tmp_path.iterdir())) == 3
