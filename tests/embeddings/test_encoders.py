"""A real, tiny sentence-transformers model: loaded, exported, compared, and refused where it isn't the same."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy import toy_cards, toy_catalogue

from ale_semantic import Engine, build_index
from ale_semantic.cli.catalogues import info
from ale_semantic.embeddings import encoder as encoder_module
from ale_semantic.embeddings import export
from ale_semantic.embeddings.batches import LEAST_ROWS
from ale_semantic.embeddings.bundle import open_generation
from ale_semantic.embeddings.encoder import SentenceTransformerEncoder, TextKind, checked_device
from ale_semantic.embeddings.export import serving_encoder
from ale_semantic.embeddings.onnx_encoder import OnnxEncoder
from ale_semantic.errors import BundleError, EncoderError

# The exporter and the model library beneath warn of their own future.
pytestmark = pytest.mark.filterwarnings("ignore")
DIMENSION, LONGEST = 32, 24
NOT_TO_ANSWER = set(
    "bm25s faiss gradio pandas pyarrow pydantic requests scipy sentence_transformers sklearn torch transformers".split()
)
TEXTS = ["fit a comet's orbit", "lease", "", "word " * 60, "年报 ünïcode", "reconcile supplier invoices"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Save a BERT of two layers with random weights and a word-piece tokenizer of the toys' words."""
    import torch
    from sentence_transformers import SentenceTransformer

    # Looked up, not imported: where these classes live differs between versions of the libraries.
    modules: Any = import_module("sentence_transformers.models")
    transformers: Any = import_module("transformers")
    folder = tmp_path_factory.mktemp("model")
    words = sorted({word for card in toy_cards() for word in f"{card.title} {card.summary}".lower().split()})
    letters = [f"{mark}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz'.,-0123456789" for mark in ("", "##")]
    vocabulary = folder / "vocab.txt"
    pieces = dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *words])
    vocabulary.write_text("\n".join(pieces), encoding="utf-8")
    torch.manual_seed(7)
    config = transformers.BertConfig(
        vocab_size=len(pieces),
        hidden_size=DIMENSION,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=48,
        max_position_embeddings=64,
    )
    transformers.BertModel(config).save_pretrained(folder / "bert")
    transformers.BertTokenizerFast(str(vocabulary)).save_pretrained(folder / "bert")
    body = modules.Transformer(str(folder / "bert"), max_seq_length=LONGEST)
    SentenceTransformer(modules=[body, modules.Pooling(DIMENSION)], device="cpu").save(str(folder / "tiny"))
    return folder / "tiny"


@pytest.fixture(scope="module")
def encoder(model: Path) -> SentenceTransformerEncoder:
    return SentenceTransformerEncoder.load(str(model), device="cpu")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return one cache for all tests here: an export takes seconds."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    monkeypatch.setattr(export, "cache_folder", lambda: cache)


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
def test_texts_are_the_same_alone_or_padded_among_others(model: Path, kind: TextKind) -> None:
    exported, _ = serving_encoder(str(model), None, lambda: TEXTS, device="cpu")
    assert isinstance(exported, OnnxEncoder)
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


def test_the_exported_encoder_gives_the_same_vectors(encoder: SentenceTransformerEncoder, model: Path) -> None:
    exported, notices = serving_encoder(str(model), None, lambda: TEXTS, device="cpu")
    assert isinstance(exported, OnnxEncoder)
    assert (notices, exported.identity) == ((), encoder.identity)
    vectors, tokens = encoder.encode_tokens(TEXTS, TextKind.QUERY)
    copies, copied = exported.encode_tokens(TEXTS, TextKind.QUERY)
    np.testing.assert_allclose(copies, vectors, atol=1e-5)
    for one, other in zip(tokens, copied, strict=True):
        assert np.array_equal(one.ids, other.ids)
        np.testing.assert_allclose(one.vectors, other.vectors, atol=1e-4)
    assert exported.token_spans(TEXTS) == encoder.token_spans(TEXTS)
    # The next build takes it from the cache, without loading torch's model.
    again, _ = serving_encoder(str(model), None, lambda: TEXTS)
    assert isinstance(again, OnnxEncoder)
    assert again.folder == exported.folder


@pytest.fixture
def differing(model: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let an export, copied as it takes seconds, be found to differ; return the cache that it would be kept in."""
    ready, _ = serving_encoder(str(model), None, lambda: TEXTS, device="cpu")
    assert isinstance(ready, OnnxEncoder)

    def copied(encoder: SentenceTransformerEncoder, folder: Path) -> None:
        shutil.copytree(ready.folder, folder)

    monkeypatch.setattr(export, "cache_folder", lambda: tmp_path / "none")
    monkeypatch.setattr(export, "_export", copied)
    monkeypatch.setattr(export, "TOLERANCE", -1.0)
    return tmp_path / "none"


def test_an_export_whose_vectors_differ_is_refused(model: Path, differing: Path) -> None:
    served, (notice,) = serving_encoder(str(model), None, lambda: TEXTS, device="cpu")
    assert isinstance(served, SentenceTransformerEncoder)
    assert "the exported encoder's vectors differ by" in notice
    assert "sentence-transformers will embed" in notice
    assert not list((differing / "encoders").iterdir())  # nothing of it is kept


@pytest.fixture(scope="module")
def index(model: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build an index that holds its encoder."""
    folder = tmp_path_factory.mktemp("asked") / "index"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(export, "cache_folder", lambda: cache)
        build_index(toy_catalogue(), folder, model=str(model), multilingual=False)
    return folder


def test_answering_imports_no_heavy_library(index: Path) -> None:
    asked = [
        ["search", "fit a comet's orbit"],
        ["search", "a comet's orbitt", "--where", "domain = science and tier is present", "--json"],
        ["search", "ajustar la órbita de un cometa a las observaciones"],
        ["search", "彗星の軌道を観測に合わせる"],
        ["similar", "science/orbit_fit", "--text", "observations of a comet"],
        ["facets", "domain", "--query", "orbit"],
    ]
    script = (
        "import sys\nfrom ale_semantic.cli import main\n"
        f"for sys.argv[1:] in {[[*arguments, '--index', str(index)] for arguments in asked]!r}:\n"
        "    try:\n        main()\n    except SystemExit as end:\n        assert not end.code\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    loaded = set(done.stderr.split())
    assert {"onnxruntime", "fasttext", "rapidfuzz"} <= loaded  # so much was needed
    assert loaded & NOT_TO_ANSWER == set()


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
    model: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded: list[str] = []
    own = OnnxEncoder.encode_tokens

    def noting(encoder: OnnxEncoder, texts: Sequence[str], kind: TextKind, **options: bool) -> Any:
        embedded.extend(texts)
        return own(encoder, texts, kind, **options)

    monkeypatch.setattr(export, "cache_folder", lambda: cache)
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


def test_vectors_are_the_same_bits_whatever_is_embedded_with_them(model: Path) -> None:
    exported, _ = serving_encoder(str(model), None, lambda: TEXTS, device="cpu")
    texts = [text for card in toy_cards() for text in (card.title, card.summary, card.prompt)]
    together, words = exported.encode_tokens(texts, TextKind.DOCUMENT)
    for start in range(0, len(texts), 5):
        some, own = exported.encode_tokens(texts[start : start + 5], TextKind.DOCUMENT)
        np.testing.assert_array_equal(some, together[start : start + 5])
        for one, other in zip(own, words[start : start + 5], strict=True):
            np.testing.assert_array_equal(one.vectors, other.vectors)


@pytest.mark.usefixtures("differing")
def test_a_refused_export_is_said_in_the_index(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "index"
    report = build_index(toy_catalogue(toy_cards()[:2]), folder, model=str(model), multilingual=False)
    assert not report.exported
    info(folder)
    said = capsys.readouterr().out
    assert "queries    sentence-transformers" in said
    assert "the exported encoder's vectors differ by" in said


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
