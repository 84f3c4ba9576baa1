"""A real, tiny cross-encoder as the second stage."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ale_semantic.embeddings.reranker import CrossEncoderReranker
from ale_semantic.errors import EncoderError

pytestmark = pytest.mark.filterwarnings("ignore")


def save_tiny(folder: Path, labels: int) -> Path:
    """Save a cross-encoder of one layer with random weights."""
    import torch

    transformers: Any = import_module("transformers")
    folder.mkdir()
    letters = [f"{mark}{letter}" for letter in "abcdefghijklmnopqrstuvwxyz" for mark in ("", "##")]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]
    (folder / "vocab.txt").write_text("\n".join(pieces), encoding="utf-8")
    torch.manual_seed(3)
    config = transformers.BertConfig(
        vocab_size=len(pieces),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
        num_labels=labels,
    )
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    transformers.BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=64).save_pretrained(folder)
    return folder


def test_a_local_cross_encoder_scores_each_text(tmp_path: Path) -> None:
    reranker = CrossEncoderReranker.load(str(save_tiny(tmp_path / "one", 1)), device="cpu")
    texts = ["fit an orbit", "review a lease", "fit an orbit"]
    found = reranker.scores("comet", texts)
    assert found.shape == (3,)
    assert found.dtype == np.float32
    assert found[0] == pytest.approx(found[2], abs=1e-6)
    assert found[0] != pytest.approx(found[1], abs=1e-6)
    assert reranker.scores("comet", []).shape == (0,)


def test_what_is_no_reranker_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="gives 3 labels"):
        CrossEncoderReranker.load(str(save_tiny(tmp_path / "three", 3)), device="cpu")
    (tmp_path / "empty").mkdir()
    with pytest.raises(EncoderError, match="can't be loaded as a cross-encoder"):
        CrossEncoderReranker.load(str(tmp_path / "empty"))
    with pytest.raises(EncoderError, match="local folder or a Hub name"):
        CrossEncoderReranker.load("no such thing")
