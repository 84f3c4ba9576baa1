"""A real, tiny sentence-transformers model, made once, and its export, made once: the latter takes seconds."""

from __future__ import annotations

import shutil
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from toy import toy_cards

from ale_semantic.embeddings import build, export
from ale_semantic.embeddings.encoder import SentenceTransformerEncoder
from ale_semantic.embeddings.onnx_encoder import EXPORT_RECORD, OnnxEncoder, write_identity
from ale_semantic.embeddings.serving import Exports, serving_encoder

DIMENSION, LONGEST = 32, 24
TEXTS = ["fit a comet's orbit", "lease", "", "word " * 60, "年报 ünïcode", "reconcile supplier invoices"]


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return one folder of kept exports for all tests that don't look into it."""
    return tmp_path_factory.mktemp("cache") / "encoders"


@pytest.fixture(scope="session")
def exported(model: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> OnnxEncoder:
    """Return the tiny model's exported encoder, as it is kept."""
    exports = Exports(lambda identity: tmp_path_factory.mktemp("own") / "encoder", kept=cache)
    serving_encoder(str(model), exports, lambda: TEXTS)
    (kept,) = cache.iterdir()
    return OnnxEncoder.open(kept, workers=2)


@pytest.fixture
def shared_exports(exported: OnnxEncoder, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let builds find the tiny model's export."""
    monkeypatch.setattr(build, "encoders_folder", lambda: cache)


@pytest.fixture
def quick_export(exported: OnnxEncoder, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let each export of a tiny model be a copy of the one that was made, compared on a few texts.

    Returns the names of the models that were exported.
    """
    names: list[str] = []

    def copied(encoder: SentenceTransformerEncoder, folder: Path) -> None:
        names.append(encoder.identity.name)
        shutil.copytree(exported.folder, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(EXPORT_RECORD))
        write_identity(folder, encoder.identity)

    monkeypatch.setattr(export, "_export", copied)
    monkeypatch.setattr(build, "sample_texts", lambda cards: TEXTS)
    return names
