"""Exports that are kept for other indexes: taken if they are whole and of the model, else made anew."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from toy import toy_cards, toy_catalogue

from ale_semantic import Engine, build_index
from ale_semantic.embeddings import build
from ale_semantic.embeddings.bundle import open_generation
from ale_semantic.embeddings.digests import RECORD as DIGESTS
from ale_semantic.embeddings.encoder import SentenceTransformerEncoder
from ale_semantic.embeddings.kept_exports import kept_exports
from ale_semantic.embeddings.onnx_encoder import (
    EXPORT_RECORD,
    EXPORT_VERSION,
    IDENTITY_FILE,
    MODEL_FILE,
    WEIGHTS_FILE,
    OnnxEncoder,
)
from ale_semantic.embeddings.serving import Exports, Serving, serving_encoder
from ale_semantic.settings import encoders_folder

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("quick_export")]
SHORT = toy_cards()[:2]


@pytest.fixture
def kept(exported: OnnxEncoder, tmp_path: Path) -> Path:
    """Return a folder that keeps a copy of the tiny model's export."""
    shutil.copytree(exported.folder, tmp_path / "kept" / exported.folder.name)
    return tmp_path / "kept"


def serve(model: Path, kept: Path) -> Serving:
    return serving_encoder(str(model), Exports(lambda identity: kept.parent / "own", kept=kept), lambda: ["a lease"])


def zero_the_weights(folder: Path) -> None:
    weights = folder / WEIGHTS_FILE
    size = weights.stat().st_size
    weights.write_bytes(weights.read_bytes()[: size // 2] + bytes(size - size // 2))


def cut(name: str) -> Callable[[Path], None]:
    def cutting(folder: Path) -> None:
        (folder / name).write_bytes((folder / name).read_bytes()[:-9])

    return cutting


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def another_version(folder: Path) -> None:
    record = json.loads((folder / EXPORT_RECORD).read_text())
    (folder / EXPORT_RECORD).write_text(json.dumps(record | {"version": EXPORT_VERSION - 1}))


def no_files(folder: Path) -> None:
    record = json.loads((folder / EXPORT_RECORD).read_text())
    (folder / EXPORT_RECORD).write_text(json.dumps(record | {"files": {}}))


def odd_record(folder: Path) -> None:
    (folder / EXPORT_RECORD).write_text('{"version": 4, "settings": "", "files": 3}')


def test_a_whole_one_is_taken(model: Path, kept: Path, quick_export: list[str]) -> None:
    served = serve(model, kept)
    assert served.exported is not None
    assert (served.exported.parent, served.notices, quick_export) == (kept, (), [])


@pytest.mark.parametrize(
    "damage",
    [
        zero_the_weights,
        cut(WEIGHTS_FILE),
        cut(MODEL_FILE),
        cut(IDENTITY_FILE),
        cut(EXPORT_RECORD),
        remove(WEIGHTS_FILE),
        remove(IDENTITY_FILE),
        remove(EXPORT_RECORD),
        another_version,
        no_files,
        odd_record,
    ],
)
def test_whatever_is_wrong_it_is_dropped_and_made_anew(
    model: Path, kept: Path, exported: OnnxEncoder, quick_export: list[str], damage: Callable[[Path], None]
) -> None:
    place = kept / exported.folder.name
    damage(place)
    served = serve(model, kept)
    assert (served.notices, quick_export) == ((), ["tiny"])
    assert served.exported == kept.parent / "own"
    (whole,) = kept_exports(kept)
    assert whole.is_whole()
    assert (place / WEIGHTS_FILE).read_bytes() == (exported.folder / WEIGHTS_FILE).read_bytes()
    assert list(kept.iterdir()) == [place]  # nothing temporary is left


def test_one_that_is_whole_but_cant_be_opened_is_made_anew(
    model: Path, kept: Path, exported: OnnxEncoder, quick_export: list[str]
) -> None:
    place = kept / exported.folder.name
    (place / MODEL_FILE).write_bytes(b"no graph")
    record = json.loads((place / EXPORT_RECORD).read_text())
    record["files"][MODEL_FILE] = hashlib.sha256(b"no graph").hexdigest()
    (place / EXPORT_RECORD).write_text(json.dumps(record))
    assert serve(model, kept).notices == ()
    assert quick_export == ["tiny"]
    assert next(kept_exports(kept)).is_whole()


def test_those_of_other_models_are_neither_opened_nor_read(
    model: Path, kept: Path, exported: OnnxEncoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = kept / f"{'0' * 16}-{EXPORT_VERSION}"  # before the other in their order
    shutil.copytree(exported.folder, other)
    identity = json.loads((other / IDENTITY_FILE).read_text())
    (other / IDENTITY_FILE).write_text(json.dumps(identity | {"name": "another"}))
    (other / MODEL_FILE).write_bytes(b"no graph")
    opened: list[Path] = []
    own = OnnxEncoder.open.__func__

    def opening(cls: type[OnnxEncoder], /, folder: Path, **options: bool) -> OnnxEncoder:
        opened.append(folder)
        found: OnnxEncoder = own(cls, folder, **options)
        return found

    monkeypatch.setattr(OnnxEncoder, "open", classmethod(opening))
    serve(model, kept)
    assert opened == [kept / exported.folder.name]
    assert other.is_dir()


def test_another_build_may_be_quicker_and_earlier_versions_and_leftovers_go(
    model: Path, kept: Path, exported: OnnxEncoder
) -> None:
    place = kept / exported.folder.name
    another_version(place)
    key = exported.identity.key
    leftover = kept / "tmp0a1b2c3d"
    for old in (kept / key, kept / f"{key}-2", kept / f"{key}-{EXPORT_VERSION - 1}", leftover):
        (old / "encoder").mkdir(parents=True)
    os.utime(leftover, (0, 0))
    other = kept / "notes"
    other.mkdir()
    serve(model, kept)
    assert sorted(kept.iterdir()) == sorted([place, other])


def test_what_cant_be_kept_goes_into_the_index_all_the_same(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    barred = tmp_path / "barred"
    barred.write_text("a file stands where the folder would be made")
    monkeypatch.setattr(build, "encoders_folder", lambda: barred / "encoders")
    report = build_index(toy_catalogue(SHORT), tmp_path / "index", model=str(model), multilingual=False)
    assert report.exported
    (notice,) = report.notices
    assert f"the exported encoder can't be kept in {barred / 'encoders'} (" in notice
    assert "it stands in the index alone" in notice
    assert open_generation(tmp_path / "index")[1]["spaces"][0]["serving"] == []  # it was not refused
    assert isinstance(Engine.open(tmp_path / "index").ranker.space.load_encoder(), OnnxEncoder)


@pytest.mark.parametrize("keeping", [True, False])
def test_exports_are_kept_with_the_embeddings_and_without_a_cache_nothing_is_kept(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keeping: bool
) -> None:
    folder = tmp_path / "cache"
    monkeypatch.setenv("ALE_CACHE", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    for path in model.rglob("*"):
        os.utime(path)
    monkeypatch.setattr("ale_semantic.embeddings.digests.is_settled", lambda *_: True)
    build_index(toy_catalogue(SHORT), tmp_path / "index", model=str(model), multilingual=False, cache=keeping)
    build_index(toy_catalogue(SHORT), tmp_path / "index", model=str(model), multilingual=False, cache=keeping)
    assert encoders_folder() == folder / "encoders"
    assert not (tmp_path / "user").exists()
    if not keeping:
        assert not folder.exists()
        return
    (kept,) = kept_exports(encoders_folder())
    assert kept.is_whole()
    assert kept.identity == SentenceTransformerEncoder.load(str(model)).identity
    assert (folder / DIGESTS).is_file()
    (own,) = (tmp_path / "index").glob("g-*/spaces/*/encoder")
    assert {path.name for path in own.iterdir()} == {path.name for path in kept.folder.iterdir()} - {EXPORT_RECORD}
