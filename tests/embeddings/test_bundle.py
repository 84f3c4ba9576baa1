"""The index bundle's life: whole or refused, whoever kills, cuts, flips or races."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from ale_semantic.embeddings import bundle
from ale_semantic.embeddings.bundle import (
    CURRENT,
    MANIFEST,
    BundlePaths,
    checked_generation,
    has_index,
    library_versions,
    new_generation,
    open_generation,
    seal,
)
from ale_semantic.embeddings.digests import file_state
from ale_semantic.embeddings.sealing import Sealing
from ale_semantic.embeddings.verification import inode_of
from ale_semantic.errors import BundleError, BundleMismatchError


def fill(paths: BundlePaths, text: str) -> None:
    paths.cards.write_text(text)
    paths.space("k").mkdir(parents=True)
    (paths.space("k") / "vectors").write_text(text * 1000)


def build(folder: Path, text: str) -> None:
    with new_generation(folder) as paths:
        fill(paths, text)
        seal(paths, {"catalogue": {"name": text}, "spaces": []})


def content(folder: Path) -> str:
    paths, manifest = open_generation(folder)
    text: str = paths.cards.read_text()
    assert manifest["catalogue"]["name"] == text
    assert (paths.space("k") / "vectors").read_text() == text * 1000
    return text


def generations(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("g-*")}


@pytest.fixture
def index(tmp_path: Path) -> Path:
    build(tmp_path / "index", "old")
    return tmp_path / "index"


@contextmanager
def refused(*words: str) -> Iterator[None]:
    with pytest.raises(BundleError) as caught:
        yield
    for word in (*words, "ale-semantic build --index"):
        assert word in str(caught.value)


def test_a_new_index_takes_the_place_of_the_earlier_one(index: Path) -> None:
    assert content(index) == "old"
    build(index, "new")
    assert content(index) == "new"
    assert has_index(index)


def test_the_manifest_tells_sizes_and_digests_of_all_files(index: Path) -> None:
    paths, manifest = open_generation(index)
    assert set(manifest["files"]) == {"cards.jsonl", "spaces/k/vectors"}
    assert manifest["files"]["spaces/k/vectors"]["bytes"] == 3000
    assert {"format", "layout", "catalogue", "spaces"} <= set(manifest)
    assert paths.manifest.parent == paths.root


def test_files_that_are_sealed_early_stand_in_the_manifest_once(index: Path) -> None:
    with new_generation(index) as paths, closing(Sealing(paths.root)) as sealing:
        fill(paths, "new")
        sealing.begin(paths.space("k"))
        (paths.space("k") / "later").write_text("later")
        seal(paths, {"catalogue": {"name": "new"}, "spaces": []}, begun=sealing)
    assert content(index) == "new"
    assert set(open_generation(index)[1]["files"]) == {"cards.jsonl", "spaces/k/later", "spaces/k/vectors"}


def test_only_a_link_to_a_file_that_was_just_read_is_not_read_again(index: Path) -> None:
    earlier, before, hashed = checked_generation(index)
    names = {"cards.jsonl", "spaces/k/vectors"}
    assert set(hashed.values()) == {before["files"][name]["sha256"] for name in names}
    known = dict.fromkeys(hashed, "0" * 64)  # no file has that digest: where it stands, the file wasn't read
    with new_generation(index) as paths:
        os.link(earlier.cards, paths.root / "linked")
        shutil.copy2(earlier.cards, paths.cards)
        seal(paths, {"catalogue": {"name": "old"}, "spaces": []}, begun=Sealing(paths.root, known))
        manifest = json.loads(paths.manifest.read_text())
    assert manifest["files"]["linked"] == {"sha256": "0" * 64, "bytes": 3}
    assert manifest["files"]["cards.jsonl"] == before["files"]["cards.jsonl"]


def test_a_file_in_the_place_of_one_that_was_read_is_read(index: Path) -> None:
    """A file system gives the number of a file that is gone to the next one."""
    with new_generation(index) as paths:
        fill(paths, "new")
        sealing = Sealing(paths.root, {inode_of(file_state(paths.cards)): "0" * 64})
        seal(paths, {"catalogue": {"name": "new"}, "spaces": []}, begun=sealing)
    assert content(index) == "new"


def test_a_link_to_a_file_that_was_changed_since_it_was_read_is_read(index: Path) -> None:
    earlier, _, hashed = checked_generation(index)
    with new_generation(index) as paths:
        fill(paths, "new")
        os.link(earlier.cards, paths.root / "linked")
        earlier.cards.write_text("odd")
        seal(paths, {"catalogue": {"name": "new"}, "spaces": []}, begun=Sealing(paths.root, hashed))
    assert set(open_generation(index)[1]["files"]) >= {"linked"}


@pytest.mark.parametrize("place", ["", "gone", "file"])
def test_where_there_is_no_index_it_says_how_to_build_one(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("x")
    assert not has_index(tmp_path / place)
    with refused(f"no index in {tmp_path / place}"):
        open_generation(tmp_path / place)


@pytest.mark.parametrize(
    "name", ["..", ".", "", "g-0", "../other", "/", "g-000000000000/..", "g-00000000000\0", "x" * 9999]
)
def test_a_pointer_that_leads_elsewhere_is_refused(index: Path, name: str) -> None:
    build(index.parent / "other", "elsewhere")
    (index.parent / MANIFEST).write_text("{}")
    (index / CURRENT).write_text(name)
    with refused("CURRENT: names no generation"):
        open_generation(index)
    build(index, "mended")
    assert content(index) == "mended"


def test_a_pointer_of_garbage_is_refused(index: Path) -> None:
    (index / CURRENT).write_bytes(b"\xff\xfe")
    with refused("CURRENT: names no generation"):
        open_generation(index)


def test_a_pointer_to_a_generation_that_is_gone_is_refused(index: Path) -> None:
    (index / CURRENT).write_text("g-0123456789ab\n")
    with refused("g-0123456789ab", "missing or unreadable"):
        open_generation(index)


@pytest.mark.parametrize("name", ["cards.jsonl", "spaces/k/vectors"])
def test_a_file_that_is_cut_flipped_or_gone_is_named(index: Path, name: str) -> None:
    path = open_generation(index)[0].root / name
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with refused(str(path), f"{len(whole) - 1} bytes, the manifest says {len(whole)}"):
        open_generation(index)
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with refused(str(path), "damaged"):
        open_generation(index)
    path.unlink()
    with refused(str(path), "missing"):
        open_generation(index)
    path.mkdir()
    with refused(str(path)):
        open_generation(index)


def test_any_flipped_byte_or_cut_of_the_manifest_is_noticed(index: Path) -> None:
    paths, manifest = open_generation(index)
    whole = paths.manifest.read_bytes()
    for place in range(0, len(whole) - 1, 7):
        paths.manifest.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            same = open_generation(index)[1] == manifest  # blanks may change without harm
        except BundleError:
            same = True
        assert same, place
        paths.manifest.write_bytes(whole[:place])
        with refused(str(paths.manifest)):
            open_generation(index)


@pytest.mark.parametrize("field", ["catalogue", "spaces", "files", "seal"])
def test_a_field_missing_from_the_manifest_is_named(index: Path, field: str) -> None:
    edit(index, lambda manifest: manifest.pop(field))
    with refused(f"field '{field}' is missing"):
        open_generation(index)


@pytest.mark.parametrize("field", ["format", "layout"])
@pytest.mark.parametrize("version", [99, None, "1"])
def test_another_version_is_refused_and_both_are_named(index: Path, field: str, version: Any) -> None:
    ours = open_generation(index)[1][field]
    edit(index, lambda manifest: manifest.update({field: version}))
    problem = f"its {field} version is {version!r}, this program's is {ours}; rebuild"
    with pytest.raises(BundleMismatchError, match=problem):
        open_generation(index)


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "[" * 100_000])
def test_a_manifest_that_is_none_is_refused(index: Path, text: str) -> None:
    paths, _ = open_generation(index)
    paths.manifest.write_text(text)
    with refused(str(paths.manifest)):
        open_generation(index)


def edit(index: Path, change: Any) -> None:
    path = open_generation(index)[0].manifest
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


_BUILDER = """
import os, signal, sys
from pathlib import Path
from ale_semantic.embeddings import bundle

folder, point = Path(sys.argv[1]), sys.argv[2]

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def dies_after(name):
    whole = getattr(bundle, name)
    def both(*given):
        whole(*given)
        die()
    setattr(bundle, name, both)

if point == "before the pointer":
    bundle._point_to = die
elif point == "before the pointer is swapped":
    Path.replace = die
elif point == "after the pointer":
    dies_after("_point_to")
elif point == "before the manifest":
    bundle._seal_of = die
with bundle.new_generation(folder) as paths:
    if point == "at the start":
        die()
    paths.cards.write_text("new")
    if point == "between the files":
        die()
    (paths.root / "spaces" / "k").mkdir(parents=True)
    (paths.root / "spaces" / "k" / "vectors").write_text("new" * 1000)
    bundle.seal(paths, {"catalogue": {"name": "new"}, "spaces": []})
    if point == "after the seal":
        die()
"""


@pytest.mark.skipif(os.name != "posix", reason="needs SIGKILL")
@pytest.mark.parametrize(
    ("point", "left"),
    [
        ("at the start", "old"),
        ("between the files", "old"),
        ("before the manifest", "old"),
        ("after the seal", "old"),
        ("before the pointer", "old"),
        ("before the pointer is swapped", "old"),
        ("after the pointer", "new"),
        ("never", "new"),
    ],
)
def test_a_killed_build_leaves_a_whole_index(index: Path, point: str, left: str) -> None:
    ended = subprocess.run([sys.executable, "-c", _BUILDER, str(index), point], check=False, timeout=60)
    assert ended.returncode == (0 if point == "never" else -9)
    assert content(index) == left
    for text in ("mended", "again"):  # what the dead writer left, its lock too, is no hindrance
        build(index, text)
        assert content(index) == text
    assert len(generations(index)) == 2
    assert sorted(path.name for path in index.iterdir() if not path.name.startswith("g-")) == [CURRENT, bundle.LOCK]


def test_an_error_in_a_build_leaves_the_earlier_index_and_no_rest(index: Path) -> None:
    before = generations(index)

    def fail() -> None:
        with new_generation(index) as paths:
            fill(paths, "new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert (content(index), generations(index)) == ("old", before)


def test_a_generation_that_wasnt_sealed_never_becomes_current(index: Path) -> None:
    with pytest.raises(BundleError, match="was not sealed"), new_generation(index) as paths:
        fill(paths, "new")
    assert content(index) == "old"


class FullDisk:
    """Makes one function of the bundle fail as it does when the disk is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, target: Any, name: str, *, calls: int = 0) -> None:
        self.real, self.left = getattr(target, name), calls
        monkeypatch.setattr(target, name, lambda *given, **named: self.call(*given, **named))

    def call(self, *given: Any, **named: Any) -> Any:
        if self.left == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.left -= 1
        return self.real(*given, **named)


@pytest.mark.parametrize("calls", range(6))
@pytest.mark.parametrize(("target", "name"), [(Path, "write_text"), (os, "fsync"), (Path, "mkdir"), (Path, "replace")])
def test_a_full_disk_leaves_the_earlier_index_and_says_so(
    index: Path, monkeypatch: pytest.MonkeyPatch, target: Any, name: str, calls: int
) -> None:
    expected, told = "new", ""
    with monkeypatch.context() as patched:
        FullDisk(patched, target, name, calls=calls)
        try:
            build(index, "new")
        except BundleError as fault:
            expected, told = "old", str(fault)
    assert content(index) == expected
    assert expected == "new" or "No space left on device" in told
    assert calls or expected == "old"
    build(index, "later")
    assert content(index) == "later"


def test_a_file_system_that_doesnt_sync_is_no_fault(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(descriptor: int) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))

    monkeypatch.setattr(os, "fsync", unsupported)
    build(index, "new")
    assert content(index) == "new"


def test_what_cant_be_tidied_up_doesnt_fail_a_finished_build(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def barred(folder: Path) -> None:
        calls.append(folder)
        if len(calls) == 2:
            raise PermissionError(errno.EACCES, "barred")

    monkeypatch.setattr(bundle, "_remove_leftovers", barred)
    build(index, "new")
    assert content(index) == "new"
    assert len(calls) == 2


def test_an_index_folder_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(BundleError, match="file: can't be written: File exists"):
        build(tmp_path / "file", "new")


def test_a_second_writer_is_told_or_waits(index: Path) -> None:
    entered, leave, done = threading.Event(), threading.Event(), []

    def slow() -> None:
        with new_generation(index) as paths:
            entered.set()
            leave.wait(30)
            fill(paths, "first")
            seal(paths, {"catalogue": {"name": "first"}, "spaces": []})

    def patient() -> None:
        with new_generation(index, wait=30) as paths:
            done.append(content(index))
            fill(paths, "second")
            seal(paths, {"catalogue": {"name": "second"}, "spaces": []})

    threads = [threading.Thread(target=slow), threading.Thread(target=patient)]
    threads[0].start()
    assert entered.wait(30)
    with pytest.raises(BundleError, match=r"another build is writing .*index; wait for it to end"):
        build(index, "never")
    assert content(index) == "old"
    threads[1].start()
    leave.set()
    for thread in threads:
        thread.join(30)
    assert (done, content(index)) == (["first"], "second")


def test_rests_of_dead_builds_go_and_one_earlier_generation_stays(index: Path) -> None:
    (index / "g-dead00000000").mkdir()
    (index / "g-dead00000000" / "cards.jsonl").write_text("half")
    (index / f"{CURRENT}.g-dead00000000").write_text("g-dead00000000")
    (index / "notes.txt").write_text("the user's own")
    before = open_generation(index)[0].root.name
    build(index, "new")
    assert generations(index) == {before, open_generation(index)[0].root.name}
    assert (index / "notes.txt").is_file()
    assert not list(index.glob(f"{CURRENT}.*"))


def test_a_reader_keeps_its_generation_through_the_next_build(index: Path) -> None:
    paths, _ = open_generation(index)
    vectors = (paths.space("k") / "vectors").open()
    build(index, "new")
    assert paths.cards.read_text() == "old"
    build(index, "newer")
    with vectors:
        assert vectors.read() == "old" * 1000  # even one whose folder has gone meanwhile


def test_readers_never_see_a_mixture(index: Path) -> None:
    stop, faults, seen = threading.Event(), [], set()

    def read() -> None:
        while not stop.is_set():
            try:
                paths, manifest = open_generation(index)
                seen.add(manifest["catalogue"]["name"])
                text = paths.cards.read_text()
                assert text == manifest["catalogue"]["name"]
            except FileNotFoundError:
                continue  # two builds went by between opening and reading
            except Exception as fault:
                faults.append(fault)
                return

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for number in range(12):
        build(index, f"build {number}")
    stop.set()
    for reader in readers:
        reader.join(30)
    assert faults == []
    assert seen <= {"old", *(f"build {number}" for number in range(12))}
    assert seen


def test_a_reader_that_meets_a_removed_generation_takes_the_current_one(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = iter(["g-000000000000"])
    real = bundle._current_or_none
    monkeypatch.setattr(bundle, "_current_or_none", lambda folder: next(names, None) or real(folder))
    assert content(index) == "old"


def test_the_versions_of_the_libraries_are_told() -> None:
    assert {"python", "numpy", "faiss-cpu", "onnxruntime"} <= set(library_versions())
    assert library_versions()["numpy"] != "absent"


@pytest.mark.parametrize("name", ["g-old", "g-000000000000"])
def test_what_a_link_points_to_is_never_emptied(index: Path, tmp_path: Path, name: str) -> None:
    own = tmp_path / "own" / "deep"
    own.mkdir(parents=True)
    (own / "thesis.txt").write_text("mine")
    (index / name).symlink_to(own.parent)
    for text in ("new", "newer", "newest"):
        build(index, text)
    assert content(index) == "newest"
    assert (own / "thesis.txt").read_text() == "mine"
