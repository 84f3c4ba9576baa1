"""The model registry: names to folders, weights to digests, faults to one line."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest
from huggingface_hub import constants
from huggingface_hub.errors import LocalEntryNotFoundError

from ale_semantic.embeddings.digests import file_digest
from ale_semantic.embeddings.encoder import SentenceTransformerEncoder
from ale_semantic.embeddings.registry import WEIGHTS, ModelSpec, find_model, locate, registry
from ale_semantic.embeddings.tokens import TOKENIZER_FILE, TextTokenizer
from ale_semantic.errors import EncoderError

WANTED = {
    "sentence-transformers/all-MiniLM-L6-v2": 384,
    "BAAI/bge-small-en-v1.5": 384,
    "intfloat/multilingual-e5-small": 384,
    "sentence-transformers/all-mpnet-base-v2": 768,
}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "modules.json").write_text("[]")
    (folder / WEIGHTS).write_bytes(b"weights")
    return folder


def test_the_models_of_the_house_are_registered_with_all_that_is_known_of_them() -> None:
    known = {spec.hub: spec for spec in registry().values()}
    assert {hub: known[hub].dimension for hub in WANTED} == WANTED
    for name, spec in registry().items():
        assert spec.name == name
        assert spec.revision
        assert spec.max_tokens
        assert spec.licence
        assert not spec.sha256 or len(spec.sha256) == 64
    assert registry()["minilm"].sha256


@pytest.mark.parametrize("name", list(registry()))
def test_a_model_is_found_by_its_name_and_its_name_on_the_hub(name: str) -> None:
    assert all(find_model(known) is registry()[name] for known in (name, registry()[name].hub) if known)


def test_a_folder_is_a_model(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_model(str(model)) == ModelSpec("my-model", folder=str(model), revision="local")
    monkeypatch.chdir(model)
    assert find_model(".").name == "my-model"
    assert locate(find_model(".")) == model


def test_another_name_on_the_hub_is_taken_as_it_is() -> None:
    assert find_model("owner/some-model_v1.5") == ModelSpec("owner/some-model_v1.5", hub="owner/some-model_v1.5")


@pytest.mark.parametrize(
    "name",
    ["minlm", "", " ", "./gone", "/gone/x", "~nobody-of-this-name/x", "a/b/c", "a b/c", "x" * 5000, "a\0b", "../x"],
)
def test_an_unknown_model_names_the_known_ones(name: str) -> None:
    with pytest.raises(EncoderError, match=r"unknown model .*minilm, bge-small, e5-small, mpnet.*, a Hub name"):
        find_model(name)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match=r"is no sentence-transformers model: it has no modules\.json"):
        find_model(str(tmp_path))


def test_weights_with_another_digest_are_refused(model: Path) -> None:
    spec = ModelSpec("toy", folder=str(model), sha256=hashlib.sha256(b"weights").hexdigest())
    assert locate(spec) == model
    (model / WEIGHTS).write_bytes(b"weightz")
    with pytest.raises(
        EncoderError, match=rf"{WEIGHTS}: its SHA-256 is {file_digest(model / WEIGHTS)}, the registered"
    ):
        locate(spec)
    (model / WEIGHTS).unlink()
    with pytest.raises(EncoderError, match=rf"{WEIGHTS}: can't be read: No such file"):
        locate(spec)


def test_a_model_is_taken_from_its_package_first(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = model.parent / "toy_model_package"
    package.mkdir()
    (package / "__init__.py").write_text("raise AssertionError('it must not be imported')")
    model.rename(package / "model")
    monkeypatch.syspath_prepend(str(model.parent))
    spec = ModelSpec("toy", hub="own/toy", package="toy_model_package", package_folder="model")
    assert locate(spec) == package / "model"
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda hub, **kwargs: f"/from/{hub}")
    assert locate(replace(spec, package_folder="gone")) == Path("/from/own/toy")
    assert locate(replace(spec, package="no_such_package")) == Path("/from/own/toy")


@pytest.mark.parametrize(
    ("fault", "problem"),
    [
        (
            LocalEntryNotFoundError("gone"),
            "the Hub can't be reached and model own/toy@main isn't in its cache: go online",
        ),
        (OSError(28, "No space left on device"), "model own/toy@main can't be fetched from the Hub: .*No space left"),
        (KeyError("x"), "model own/toy@main can't be fetched from the Hub: 'x'"),
        (RuntimeError(""), "model own/toy@main can't be fetched from the Hub: RuntimeError"),
    ],
)
def test_a_model_that_cant_be_fetched_is_one_line(
    monkeypatch: pytest.MonkeyPatch, fault: Exception, problem: str
) -> None:
    def download(*args: object, **kwargs: object) -> str:
        raise fault

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    with pytest.raises(EncoderError, match=problem):
        locate(find_model("own/toy"))


def test_with_the_hub_set_offline_the_real_client_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(EncoderError, match=r"isn't in its cache: go online, or name a local folder"):
        locate(find_model("own/toy"))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff"])
def test_a_broken_tokenizer_is_named(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(EncoderError, match=r"has no tokenizer\.json"):
        TextTokenizer.open(tmp_path)
    (tmp_path / TOKENIZER_FILE).write_bytes(content)
    with pytest.raises(EncoderError, match=r"tokenizer\.json: can't be read as a tokenizer"):
        TextTokenizer.open(tmp_path)


def test_a_model_that_cant_be_loaded_is_one_line(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Unloadable:
        def __init__(self, folder: str, **options: object) -> None:
            raise TypeError(f"header of {folder} is odd\nsecond line")

    # In the place of the real module, which takes seconds to import.
    monkeypatch.setitem(sys.modules, "sentence_transformers", SimpleNamespace(SentenceTransformer=Unloadable))
    with pytest.raises(EncoderError, match=r"can't be loaded as a sentence-transformers model: header of .* is odd$"):
        SentenceTransformerEncoder.load(str(model))
