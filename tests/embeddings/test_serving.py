"""Which encoder embeds and which answers: on a GPU, after a refused export, in the space of other languages."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from toy import toy_cards, toy_catalogue

from ale_semantic import Engine, build_index
from ale_semantic.cli.catalogues import info
from ale_semantic.embeddings import bundle, export
from ale_semantic.embeddings.build_report import unchanged
from ale_semantic.embeddings.bundle import ENCODER, MANIFEST, open_generation
from ale_semantic.embeddings.earlier import EarlierIndex
from ale_semantic.embeddings.encoder import SentenceTransformerEncoder
from ale_semantic.embeddings.onnx_encoder import EXPORT_VERSION, OnnxEncoder
from ale_semantic.embeddings.serving import EarlierExport, Exports, Serving, is_served, serving_encoder
from ale_semantic.errors import BundleMismatchError, EncoderError

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("quick_export")]
NOT_TO_ANSWER = set(
    "bm25s faiss gradio pandas pyarrow pydantic requests scipy sentence_transformers sklearn torch transformers".split()
)
QUERY, SPANISH = "fit a comet's orbit", "ajustar la órbita de un cometa a las observaciones"
SHORT = toy_cards()[:3]


@pytest.fixture
def own_model(model: Path, tmp_path: Path) -> Path:
    """Return a copy of the tiny model, with a name of its own."""
    return shutil.copytree(model, tmp_path / "models" / "own")


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "TOLERANCE", -1.0)


def exports_of(folder: Path) -> Exports:
    return Exports(lambda identity: folder / "own", kept=folder / "kept")


def texts() -> Sequence[str]:
    return [QUERY, "lease"]


def entries_of(index: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = open_generation(index)[1]["spaces"]
    return found


def edit_entry(index: Path, **fields: Any) -> None:
    """Change the manifest's first space, a field given as None left out, and seal it again."""
    file = open_generation(index)[0].root / MANIFEST
    manifest = json.loads(file.read_text())
    entry = manifest["spaces"][0] | fields
    manifest["spaces"][0] = {name: value for name, value in entry.items() if value is not None}
    manifest["seal"] = bundle._seal_of(manifest)
    file.write_text(json.dumps(manifest))


@pytest.mark.usefixtures("refusing")
def test_an_index_whose_model_was_not_exported_is_searched_with_the_model_from_its_folder(
    own_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(own_model.parent)
    index = tmp_path / "index"
    report = build_index(toy_catalogue(SHORT), index, model="own", multilingual=False)  # relative to here
    assert not report.exported
    monkeypatch.chdir(tmp_path)
    engine = Engine.open(index)
    assert isinstance(engine.ranker.space.load_encoder(), SentenceTransformerEncoder)
    assert engine.search(QUERY, mode="dense").hits
    info(index)
    said = capsys.readouterr().out
    assert f"queries    sentence-transformers, the model in {own_model}\n" in said
    assert "the exported encoder's vectors differ by" in said
    assert [notice for notice in report.notices if "sentence-transformers will embed the queries" in notice]
    # Once the model is gone, moved or changed the message says so, and the cure helps.
    own_model.rename(tmp_path / "own")
    told = rf"its folder {own_model} is gone: .*ale-semantic build --index {index} --model FOLDER"
    with pytest.raises(EncoderError, match=told):
        Engine.open(index).search(QUERY, mode="dense")
    catalogue = toy_catalogue(SHORT)
    assert unchanged(catalogue, EarlierIndex.open(index), str(tmp_path / "own"), False) is None
    again = build_index(catalogue, index, model=str(tmp_path / "own"), multilingual=False)
    assert not again.unchanged
    assert Engine.open(index).search(QUERY, mode="dense").hits
    assert unchanged(catalogue, EarlierIndex.open(index), str(tmp_path / "own"), False) is not None
    settings = tmp_path / "own" / "config_sentence_transformers.json"
    settings.write_text(json.dumps(json.loads(settings.read_text()) | {"prompts": {"query": "ask: "}}))
    with pytest.raises(BundleMismatchError, match=r"its query_prefix is 'ask: ', then ''; put the earlier one back"):
        Engine.open(index).search(QUERY, mode="dense")
    config = tmp_path / "own" / "config.json"
    config.write_text(config.read_text() + "\n")
    with pytest.raises(BundleMismatchError, match=rf"its weights have the digest .* --model {tmp_path / 'own'}"):
        Engine.open(index).search(QUERY, mode="dense")


def test_an_index_of_before_that_doesnt_say_where_its_model_is_says_that(own_model: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    original = SentenceTransformerEncoder.load(str(own_model))
    build_index(toy_catalogue(SHORT), index, encoder=original)
    assert Engine.open(index).search(QUERY, mode="dense").hits  # the encoder that was given tells too
    edit_entry(index, source=None, settings=None)
    with pytest.raises(EncoderError, match=r"the index doesn't say in which folder its model 'own' stands; .*--model"):
        Engine.open(index).search(QUERY, mode="dense")
    assert not is_served(str(own_model), entries_of(index)[0])  # a rebuild mends it


@pytest.mark.usefixtures("shared_exports")
def test_a_gpu_embeds_only_if_asked_and_queries_get_the_exported_encoder(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No GPU is needed to see it: the model is told to be on one, but stays where it is."""
    import torch

    asked: list[str] = []
    load = SentenceTransformerEncoder.load.__func__

    def loading(
        cls: type[SentenceTransformerEncoder], name: str, *, device: str | None = None
    ) -> SentenceTransformerEncoder:
        asked.append(device or "cpu")
        found: SentenceTransformerEncoder = load(cls, name)
        if device == "cuda":
            monkeypatch.setattr(SentenceTransformerEncoder, "device", property(lambda self: "cuda"))
        return found

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(SentenceTransformerEncoder, "load", classmethod(loading))
    by_default = serving_encoder(str(model), exports_of(tmp_path), texts)
    assert (asked, by_default.notices, by_default.refused) == (["cpu"], (), "")
    assert isinstance(by_default.encoder, OnnxEncoder)
    asked.clear()
    on_gpu = serving_encoder(str(model), exports_of(tmp_path), texts, device="cuda")
    assert asked == ["cuda"]  # the export was ready
    assert (on_gpu.precision, on_gpu.notices) == ("float16", ())
    assert on_gpu.exported is not None
    assert by_default.exported is not None
    assert on_gpu.exported.parent == tmp_path / "kept"
    asked.clear()
    fresh = serving_encoder(str(model), exports_of(tmp_path / "other"), texts, device="cuda")
    assert (asked, fresh.exported is not None) == (["cpu", "cuda"], True)
    report = build_index(toy_catalogue(SHORT), tmp_path / "index", model=str(model), device="cuda", multilingual=False)
    assert (report.exported, report.notices) == (True, ())
    assert entries_of(tmp_path / "index")[0]["precision"] == "float16"
    space = Engine.open(tmp_path / "index").ranker.space
    assert isinstance(space.load_encoder(), OnnxEncoder)


@pytest.mark.usefixtures("shared_exports")
def test_an_index_without_an_export_for_no_reason_is_built_again(model: Path, tmp_path: Path) -> None:
    """So were all indexes that were built where there was a GPU."""
    build_index(toy_catalogue(SHORT), tmp_path / "index", model=str(model), multilingual=False)
    (entry,) = entries_of(tmp_path / "index")
    assert is_served(str(model), entry)
    without = {name: value for name, value in entry.items() if name != "export"} | {"exported": False}
    assert not is_served(str(model), without)
    assert is_served(str(model), without | {"serving": ["it can't be exported"]})
    assert not is_served(str(model), without | {"serving": ["it can't be exported"], "source": "/elsewhere"})
    assert not is_served(str(model), entry | {"export": EXPORT_VERSION + 1})


@pytest.fixture(scope="module")
def both(model: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return folders for an index of two spaces and for the model of the second."""
    folder = tmp_path_factory.mktemp("both")
    return folder / "index", shutil.copytree(model, folder / "many")


@pytest.mark.usefixtures("shared_exports")
def test_the_space_of_other_languages_gets_an_exported_encoder_and_answering_imports_no_heavy_library(
    model: Path, both: tuple[Path, Path], quick_export: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    index, many = both
    build_index(toy_catalogue(), index, model=str(model), multilingual=str(many))
    assert quick_export == ["many"]
    assert [entry["exported"] for entry in entries_of(index)] == [True, True]
    assert unchanged(toy_catalogue(), EarlierIndex.open(index), str(model), str(many)) is not None
    info(index)
    said = capsys.readouterr().out
    assert len(re.findall(r"^queries    exported encoder \(ONNX Runtime\)$", said, re.MULTILINE)) == 2
    assert re.search(r"^languages  many@local, 32 dimensions, \d+ passages$", said, re.MULTILINE)
    shutil.rmtree(many)  # the index needs it no more
    asked = [
        ["search", QUERY],
        ["search", "a comet's orbitt", "--where", "domain = science and tier is present", "--json"],
        ["search", SPANISH],
        ["search", "彗星の軌道を観測に合わせる"],
        ["similar", "science/orbit_fit", "--text", "observations of a comet"],
        ["facets", "domain", "--query", "orbit"],
    ]
    script = (
        "import sys\nfrom ale_semantic.cli import main\n"
        "from ale_semantic.embeddings.onnx_encoder import OnnxEncoder\n"
        "opened, own = [], OnnxEncoder.open.__func__\n"
        "OnnxEncoder.open = classmethod(lambda cls, folder, **o: opened.append(folder.parent.name) or "
        "own(cls, folder, **o))\n"
        f"for sys.argv[1:] in {[[*arguments, '--index', str(index)] for arguments in asked]!r}:\n"
        "    try:\n        main()\n    except SystemExit as end:\n        assert not end.code\n"
        "print(len(set(opened)), file=sys.stderr)\nprint(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    *_, spaces, loaded = done.stderr.splitlines()
    assert spaces == "2"  # both encoders were asked
    assert {"onnxruntime", "fasttext", "rapidfuzz"} <= set(loaded.split())  # so much was needed
    assert set(loaded.split()) & NOT_TO_ANSWER == set()
    # The next build takes both from the index.
    quick_export.clear()
    again = {export.identity.name: export.folder for export in EarlierExport.of(EarlierIndex.open(index))}
    assert set(again) == {"tiny", "many"}


@pytest.mark.usefixtures("refusing")
def test_other_languages_are_asked_of_the_original_where_it_stands_if_it_was_not_exported(
    model: Path, own_model: Path, tmp_path: Path
) -> None:
    index = tmp_path / "index"
    report = build_index(toy_catalogue(SHORT), index, model=str(model), multilingual=str(own_model))
    assert len([notice for notice in report.notices if "sentence-transformers will embed" in notice]) == 2
    assert [entry["source"] for entry in entries_of(index)] == [str(model), str(own_model)]
    assert Engine.open(index).search(SPANISH).notices == ()
    shutil.rmtree(own_model)
    with pytest.raises(EncoderError, match=f"its folder {own_model} is gone"):
        Engine.open(index).search(SPANISH)


@pytest.mark.usefixtures("shared_exports")
def test_the_encoder_of_an_earlier_index_is_taken_if_it_is_of_the_present_version(model: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    build_index(toy_catalogue(SHORT), index, model=str(model), multilingual=False)
    taken = Exports(lambda identity: tmp_path / "own", EarlierExport.of(EarlierIndex.open(index))).ready(str(model))
    assert taken is not None
    assert taken.folder.is_relative_to(index)
    assert taken.folder.name == ENCODER
    edit_entry(index, export=EXPORT_VERSION - 1)
    assert EarlierExport.of(EarlierIndex.open(index)) == ()
    with pytest.raises(BundleMismatchError, match=f"of version {EXPORT_VERSION - 1}, this program's is .*rebuild it"):
        Engine.open(index).search(QUERY, mode="dense")
    edit_entry(index, export=None)  # indexes of before don't say
    assert len(EarlierExport.of(EarlierIndex.open(index))) == 1
    assert Engine.open(index).search(QUERY, mode="dense").hits
    (settings,) = index.glob("g-*/spaces/*/encoder/config.json")
    file = open_generation(index)[0].root / MANIFEST
    manifest = json.loads(file.read_text())
    del manifest["files"][settings.relative_to(file.parent).as_posix()]
    manifest["seal"] = bundle._seal_of(manifest)
    file.write_text(json.dumps(manifest))
    settings.unlink()  # as they were exported before the present version
    assert EarlierExport.of(EarlierIndex.open(index)) == ()


def test_an_encoder_that_is_given_is_served_as_it_is(exported: OnnxEncoder) -> None:
    serving = Serving.given(exported)
    assert (serving.encoder, serving.exported, serving.refused) == (exported, exported.folder, "")
