"""A real, tiny sentence-transformers model: loaded, exported, compared, and refused where it isn't the same."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy import toy_cards, toy_catalogue

from ale_semantic import Engine, build_index
from ale_semantic.embeddings import encoder as encoder_module
from ale_semantic.embeddings.batches import LEAST_ROWS
from ale_semantic.embeddings.bundle import open_generation
from ale_semantic.embeddings.encoder import SentenceTransformerEncoder, TextKind, checked_device
from ale_semantic.embeddings.onnx_encoder import OnnxEncoder
from ale_semantic.errors import BundleError, EncoderError

# The exporter and the model library beneath warn of their own future.
pytestmark = pytest.mark.filterwarnings("ignore")
DIMENSION, LONGEST = 32, 24  # of the model in conftest
TEXTS = ["fit a comet's orbit", "lease", "", "word " * 60, "年报 ünïcode", "reconcile supplier invoices"]


@pytest.fixture(scope="module")
def encoder(model: Path) -> SentenceTransformerEncoder:
    return SentenceTransformerEncoder.load(str(model), device="cpu")


@pytest.fixture(autouse=True)
def own_cache(shared_exports: None) -> None:
    """Let all builds here find the export."""


def test_vectors_are_unit_rows_and_the_same_alone_or_among_others(encoder: SentenceTransformerEncoder) -> None:
    together = encoder.encode(TEXTS, TextKind.DOCUMENT)
    assert (together.shape, together.dtype) == ((len(TEXTS), DIMENSION), np.float32)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    for row, text in enumerate(TEXTS):
        np.testing.assert_allclose(encoder.encode([text], TextKind.DOCUMENT)[0], together[row], atol=1e-5)
    assert encoder.encode([], TextKind.QUERY).shape == (0, DIMENSION)


def test_a_model_that_would_cut_its_vectors_gives_whole_ones(
    encoder: SentenceTransformerEncoder, model: Path, tmp_path: Path
) -> None:
    """Words in context have as many dimensions as the whole vectors, and both stand in one space."""
    cutting = tmp_path / "cutting"
    shutil.copytree(model, cutting)
    settings = cutting / "config_sentence_transformers.json"
    settings.write_text(json.dumps({**json.loads(settings.read_text()), "truncate_dim": DIMENSION // 2}))
    found = SentenceTransformerEncoder.load(str(cutting), device="cpu")
    assert found.identity.dimension == DIMENSION
    np.testing.assert_array_equal(found.encode(TEXTS, TextKind.QUERY), encoder.encode(TEXTS, TextKind.QUERY))


@pytest.mark.parametrize("kind", TextKind)
def test_texts_are_the_same_alone_or_padded_among_others(exported: OnnxEncoder, kind: TextKind) -> None:
    padding = OnnxEncoder.open(exported.folder, padded=True)
    texts = ["orbit", "fit the orbit of a comet", "orbit fit", "lease", "a lease of the land", "fit a lease"]
    together, words = padding.encode_tokens(texts, kind)
    kept = exported.encode(texts, kind)
    for row, text in enumerate(texts):
        alone, (own,) = padding.encode_tokens([text], kind)
        np.testing.assert_allclose(alone[0], together[row], atol=1e-6)
        np.testing.assert_allclose(own.vectors, words[row].vectors, atol=1e-6)
        assert np.array_equal(own.ids, words[row].ids)
        # What an index keeps doesn't depend on what else was embedded, down to the last bit.
        assert np.array_equal(exported.encode([text] * LEAST_ROWS, kind)[0], kept[row])


def test_the_identity_is_of_the_weights(encoder: SentenceTransformerEncoder) -> None:
    identity = encoder.identity
    assert (identity.name, identity.revision) == ("tiny", "local")
    assert (identity.dimension, identity.max_tokens, len(identity.digest)) == (DIMENSION, LONGEST, 64)


def test_spans_cut_nothing_off(encoder: SentenceTransformerEncoder) -> None:
    text = "orbit " * 100
    (spans,) = encoder.token_spans([text])
    assert len(spans) >= 100
    assert text[slice(*spans[-1])] in "orbit"


def test_the_exported_encoder_gives_the_same_vectors(
    encoder: SentenceTransformerEncoder, exported: OnnxEncoder
) -> None:
    assert exported.identity == encoder.identity
    vectors, tokens = encoder.encode_tokens(TEXTS, TextKind.QUERY)
    copies, copied = exported.encode_tokens(TEXTS, TextKind.QUERY)
    np.testing.assert_allclose(copies, vectors, atol=1e-5)
    for one, other in zip(tokens, copied, strict=True):
        assert np.array_equal(one.ids, other.ids)
        np.testing.assert_allclose(one.vectors, other.vectors, atol=1e-4)
    assert exported.token_spans(TEXTS) == encoder.token_spans(TEXTS)


def test_an_index_with_its_own_encoder_is_built_and_asked(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    report = build_index(toy_catalogue(), folder, model=str(model), multilingual=False)
    assert (report.exported, report.tokens_dropped, report.embedded) == (True, 0, len(toy_cards()))
    engine = Engine.open(folder)
    assert engine.search("fit a comet's orbit", mode="dense").hits[0].task_id == "science/orbit_fit"
    assert isinstance(engine.ranker.space.load_encoder(), OnnxEncoder)
    again = build_index(toy_catalogue(), folder, model=str(model), multilingual=False)
    assert again.embedded == 0


def test_what_an_edit_left_is_not_embedded_again_and_the_index_is_the_same(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded: list[str] = []
    own = OnnxEncoder.encode_tokens

    def noting(encoder: OnnxEncoder, texts: Sequence[str], kind: TextKind, **options: bool) -> Any:
        embedded.extend(texts)
        return own(encoder, texts, kind, **options)

    first, *others = toy_cards()
    edited = [replace(first, prompt=f"{first.prompt} Then bring the poster to the printer."), *others]
    monkeypatch.setenv("ALE_CACHE", str(tmp_path / "one"))
    build_index(toy_catalogue(), tmp_path / "index", model=str(model), multilingual=False)
    monkeypatch.setattr(OnnxEncoder, "encode_tokens", noting)
    build_index(toy_catalogue(edited), tmp_path / "index", model=str(model), multilingual=False, redraw=True)
    again = {text for text in embedded if text in edited[0].prompt}
    assert any("printer" in text for text in again)
    monkeypatch.setenv("ALE_CACHE", str(tmp_path / "two"))
    build_index(toy_catalogue(edited), tmp_path / "fresh", model=str(model), multilingual=False)
    assert again < {text for text in embedded if text in edited[0].prompt}
    roots = [open_generation(tmp_path / name)[0].root for name in ("index", "fresh")]
    rebuilt, fresh = (
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()} for root in roots
    )
    assert fresh.keys() == rebuilt.keys()
    # The manifest tells when it was made.
    assert {str(name) for name, content in fresh.items() if rebuilt[name] != content} <= {"manifest.json"}


@pytest.mark.parametrize("device", ["cuda", "cuda:3", "mps"])
def test_a_device_that_isnt_there_is_one_clear_error(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    cure = rf"device '{device}' is asked for, but torch .* finds none here: leave --device out .*install a driver"
    with pytest.raises(EncoderError, match=cure):
        SentenceTransformerEncoder.load(str(model), device=device)
    with pytest.raises(EncoderError, match=cure):
        build_index(toy_catalogue(), tmp_path / "index", model=str(model), device=device, multilingual=False)
    assert not (tmp_path / "index").exists()


def test_what_is_no_device_is_one_clear_error() -> None:
    with pytest.raises(EncoderError, match="unknown device 'toaster': give cpu, cuda"):
        checked_device("toaster")
    assert checked_device("cpu") == checked_device("cpu:0") == "cpu"
    assert checked_device(None) is None


def test_a_gpu_beyond_the_last_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert checked_device("cuda:1") == "cuda:1"
    with pytest.raises(EncoderError, match="the last one here is cuda:1"):
        checked_device("cuda:2")


def test_a_gpu_gets_half_precision(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No GPU is needed to see it: the model is told that its device is one, but stays where it is."""
    monkeypatch.setattr(encoder_module, "is_gpu", lambda device: True)
    half = SentenceTransformerEncoder.load(str(model), device="cpu")
    assert half.precision == "float16"
    assert {str(weight.dtype) for weight in half.model.parameters()} == {"torch.float16"}
    vectors = half.encode(TEXTS, TextKind.DOCUMENT)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)


def test_vectors_are_the_same_bits_whatever_is_embedded_with_them(exported: OnnxEncoder) -> None:
    texts = [text for card in toy_cards() for text in (card.title, card.summary, card.prompt)]
    together, words = exported.encode_tokens(texts, TextKind.DOCUMENT)
    for start in range(0, len(texts), 5):
        some, own = exported.encode_tokens(texts[start : start + 5], TextKind.DOCUMENT)
        np.testing.assert_array_equal(some, together[start : start + 5])
        for one, other in zip(own, words[start : start + 5], strict=True):
            np.testing.assert_array_equal(one.vectors, other.vectors)


def test_a_folder_that_is_no_model_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "modules.json").write_text("[{}]")
    with pytest.raises(EncoderError, match="can't be loaded as a sentence-transformers model"):
        SentenceTransformerEncoder.load(str(tmp_path))
    with pytest.raises(EncoderError, match="no exported encoder"):
        OnnxEncoder.open(tmp_path)


def test_a_damaged_encoder_in_the_index_is_noticed(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    build_index(toy_catalogue(toy_cards()[:2]), folder, model=str(model), multilingual=False)
    (weights,) = folder.rglob("model.onnx")
    weights.write_bytes(weights.read_bytes()[:-9])
    with pytest.raises(BundleError, match=r"model\.onnx: .* bytes, the manifest says"):
        Engine.open(folder)
