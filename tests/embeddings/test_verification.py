"""Files that are as they were when they were hashed aren't hashed again; all others are."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from threading import Event

import pytest

from ale_semantic.embeddings import verification
from ale_semantic.embeddings.bundle import BundlePaths, checked_generation, new_generation, open_generation, seal
from ale_semantic.errors import BundleError

DAY = 86_400 * 1_000_000_000


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an index whose files count as written long enough ago to be trusted once they are hashed."""
    folder = tmp_path / "index"
    with new_generation(folder) as paths:
        for name in ("one", "two"):
            (paths.root / name).write_text(name * 1000)
        seal(paths, {"catalogue": {}, "spaces": []})
    later(monkeypatch, 10_000_000_000)
    return folder


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the files that are hashed, as they are."""
    names: list[str] = []

    def digest(path: Path) -> str:
        names.append(path.name)
        found: str = original(path)
        return found

    original = verification.file_digest
    monkeypatch.setattr(verification, "file_digest", digest)
    return names


def test_who_gives_up_waits_for_one_file_at_most(index: Path, hashed: list[str]) -> None:
    given_up = Event()
    given_up.set()
    with pytest.raises(BundleError, match="nobody asks any more"):
        checked_generation(index, given_up=given_up)
    assert hashed == []


def later(monkeypatch: pytest.MonkeyPatch, nanoseconds: int) -> None:
    now = time.time_ns
    monkeypatch.setattr(verification.time, "time_ns", lambda: now() + nanoseconds)


def root(index: Path) -> Path:
    paths: BundlePaths = open_generation(index)[0]
    return Path(paths.root)


def record(index: Path) -> Path:
    (found,) = index.glob("checked-*.json")
    return found


def test_the_second_opening_hashes_nothing(index: Path, hashed: list[str]) -> None:
    root(index)
    assert sorted(hashed) == ["one", "two"]
    root(index)
    assert sorted(hashed) == ["one", "two"]


def test_a_thorough_check_hashes_all(index: Path, hashed: list[str]) -> None:
    root(index)
    open_generation(index, thorough=True)
    assert sorted(hashed) == ["one", "one", "two", "two"]


def test_a_byte_flipped_under_the_old_times_is_found(index: Path) -> None:
    path = root(index) / "one"
    times = path.stat()
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert path.stat().st_mtime_ns == times.st_mtime_ns
    with pytest.raises(BundleError, match="damaged"):
        root(index)


def test_a_file_replaced_by_one_of_its_size_is_found(index: Path, tmp_path: Path) -> None:
    path = root(index) / "one"
    other = tmp_path / "other"
    other.write_text("eno" * 1000)
    shutil.copystat(path, other)
    other.replace(path)
    with pytest.raises(BundleError, match="damaged"):
        root(index)


def test_only_what_changed_is_hashed_again(index: Path, hashed: list[str]) -> None:
    path = root(index) / "one"
    path.touch()
    hashed.clear()
    root(index)
    assert hashed == ["one"]


def test_a_fresh_file_is_hashed_again(tmp_path: Path, hashed: list[str]) -> None:
    with new_generation(tmp_path) as paths:
        (paths.root / "one").write_text("one")
        seal(paths, {"catalogue": {}, "spaces": []})
    root(tmp_path)
    root(tmp_path)
    assert hashed == ["one", "one"]


@pytest.mark.parametrize("days", [8, -1])
def test_a_record_that_is_old_or_of_the_future_is_not_trusted(
    index: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    root(index)
    hashed.clear()
    later(monkeypatch, days * DAY)
    root(index)
    assert sorted(hashed) == ["one", "two"]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"seal": 1', "[" * 5000])
def test_a_damaged_record_is_not_trusted(index: Path, hashed: list[str], text: str) -> None:
    root(index)
    record(index).write_text(text)
    hashed.clear()
    root(index)
    assert sorted(hashed) == ["one", "two"]


def test_the_record_of_another_generation_is_not_trusted(index: Path, hashed: list[str]) -> None:
    root(index)
    stored = json.loads(record(index).read_text())
    record(index).write_text(json.dumps(stored | {"seal": "other"}))
    hashed.clear()
    root(index)
    assert sorted(hashed) == ["one", "two"]


def test_a_folder_that_cant_be_written_is_hashed_each_time(
    index: Path, hashed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "write_text", refuse)
    root(index)
    root(index)
    assert len(hashed) == 4


def test_records_of_removed_generations_go(index: Path) -> None:
    first = root(index).name
    assert record(index).name == f"checked-{first}.json"
    for _ in range(3):
        with new_generation(index) as paths:
            (paths.root / "one").write_text("new")
            seal(paths, {"catalogue": {}, "spaces": []})
        root(index)
    assert not (index / f"checked-{first}.json").exists()
