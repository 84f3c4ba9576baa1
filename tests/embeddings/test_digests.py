"""Digests of model files: read once, and again whenever the file system says anything else of them."""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path

import pytest

from ale_semantic.embeddings import digests
from ale_semantic.embeddings.digests import RECORD, known_digest
from ale_semantic.errors import EncoderError


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Path]:
    """Return the files that were read, as they are read."""
    seen: list[Path] = []
    original = digests.file_digest

    def digest(path: Path) -> str:
        seen.append(path)
        return str(original(path))

    monkeypatch.setattr(digests, "file_digest", digest)
    monkeypatch.setattr(digests, "SETTLED", -(10**18))  # a new file counts as an old one
    monkeypatch.setenv("ALE_CACHE", str(tmp_path / "cache"))
    return seen


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 35])
def test_a_file_of_any_number_of_parts_is_read_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(digests, "_PART", 10)
    path = tmp_path / "file"
    path.write_bytes(bytes(range(size)))
    assert digests.file_digest(path) == sha256(path)


def test_a_file_that_is_as_it_was_is_read_once(reads: list[Path], tmp_path: Path) -> None:
    path, other = tmp_path / "weights", tmp_path / "others"
    path.write_bytes(b"12345")
    other.write_bytes(b"54321")
    for _ in range(3):
        assert (known_digest(path), known_digest(other)) == (sha256(path), sha256(other))
    assert reads == [path, other]


def test_a_changed_file_is_read_again(reads: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"12345")
    before = known_digest(path)
    times = path.stat().st_atime_ns, path.stat().st_mtime_ns
    path.write_bytes(b"12346")
    os.utime(path, ns=times)  # who hides a change can't set the time of change of the inode
    assert known_digest(path) == sha256(path) != before


def test_a_file_just_written_is_not_taken_on_trust(
    reads: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digests, "SETTLED", 10**18)
    path = tmp_path / "weights"
    path.write_bytes(b"12345")
    assert known_digest(path) == known_digest(path) == sha256(path)
    assert reads == [path, path]


def test_an_old_record_is_not_taken_on_trust(
    reads: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"12345")
    known_digest(path)
    later = time.time_ns() + digests.TRUSTED + 1
    monkeypatch.setattr(time, "time_ns", lambda: later)
    assert known_digest(path) == sha256(path)
    assert reads == [path, path]


@pytest.mark.parametrize("record", ["", "[]", "{", json.dumps({"x": 1}), "null"])
def test_a_damaged_record_is_made_anew(reads: list[Path], tmp_path: Path, record: str) -> None:
    path = tmp_path / "weights"
    path.write_bytes(b"12345")
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / RECORD).write_text(record, encoding="utf-8")
    assert known_digest(path) == known_digest(path) == sha256(path)
    assert reads == [path]


def test_without_a_folder_to_write_to_it_reads_each_time(
    reads: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    barred = tmp_path / "file"
    barred.write_text("", encoding="utf-8")
    monkeypatch.setenv("ALE_CACHE", str(barred / "cache"))
    assert known_digest(barred) == known_digest(barred) == sha256(barred)
    assert reads == [barred, barred]


def test_a_missing_file_is_named(reads: list[Path], tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="gone: can't be read"):
        known_digest(tmp_path / "gone")
