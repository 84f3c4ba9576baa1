"""Exporting a sentence-transformers model, with pooling and normalisation, to ONNX."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ale_semantic.embeddings.encoder import SentenceTransformerEncoder, TextKind
from ale_semantic.embeddings.onnx_encoder import MODEL_FILE, OnnxEncoder, write_identity
from ale_semantic.embeddings.tokens import TOKENIZER_FILE
from ale_semantic.errors import EncoderError

TOLERANCE = 1e-4  # largest cosine distance between an exported and an original vector
_EXPORT_VERSION = 2  # raised whenever the graph's inputs or outputs change: cached exports are then made anew
_EXAMPLE = ("an example of two texts", "whose lengths are not the same, so that both dimensions stay open")


def exported(encoder: SentenceTransformerEncoder, cache: Path, samples: Sequence[str]) -> Path:
    """Return a folder with the exported encoder, exporting and checking it unless the cache holds it.

    Args:
        encoder: the original.
        cache: folder of exported encoders, one a model identity.
        samples: texts on which both must agree.

    Raises:
        EncoderError: if the model can't be exported or its vectors differ by more than TOLERANCE.
    """
    folder = cache / f"{encoder.identity.key}-{_EXPORT_VERSION}"
    if not (folder / MODEL_FILE).is_file():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as temporary:
            made = Path(temporary) / "encoder"
            _export(encoder, made)
            _check(encoder, made, samples)
            try:
                os.rename(made, folder)
            except OSError:
                if not (folder / MODEL_FILE).is_file():  # else another build was quicker, with the same result
                    raise
    else:
        _check(encoder, folder, samples)
    return folder


def _export(encoder: SentenceTransformerEncoder, folder: Path) -> None:
    import torch

    model = encoder.model

    class Pipeline(torch.nn.Module):  # type: ignore[misc]
        """The whole sentence-transformers pipeline as one graph."""

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> tuple[Any, Any]:
            features = model({"input_ids": input_ids, "attention_mask": attention_mask})
            unit = torch.nn.functional.normalize(features["sentence_embedding"], dim=-1)
            return unit, features["token_embeddings"]

    folder.mkdir(parents=True)
    example = model.tokenizer(list(_EXAMPLE), padding=True, return_tensors="pt")
    names = ("input_ids", "attention_mask")
    shape = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    level = logging.getLogger("torch.onnx").level
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                Pipeline().eval(),
                tuple(example[name].to("cpu") for name in names),
                str(folder / MODEL_FILE),
                dynamo=True,
                input_names=list(names),
                output_names=["sentence_embedding", "token_embeddings"],
                dynamic_shapes={name: shape for name in names},
                external_data=False,
                verbose=False,
            )
    except Exception as fault:  # the exporter raises many kinds; each means that torch must serve
        reason = (str(fault).strip() or type(fault).__name__).splitlines()[0]
        raise EncoderError(f"{encoder.identity.name}: can't be exported to ONNX: {reason}") from fault
    finally:
        logging.getLogger("torch.onnx").setLevel(level)
    shutil.copy(encoder.folder / TOKENIZER_FILE, folder / TOKENIZER_FILE)
    write_identity(folder, encoder.identity)


def _check(encoder: SentenceTransformerEncoder, folder: Path, samples: Sequence[str]) -> None:
    copy = OnnxEncoder.open(folder)
    original = encoder.encode(samples, TextKind.DOCUMENT)
    distance = 1.0 - np.einsum("ij,ij->i", original, copy.encode(samples, TextKind.DOCUMENT))
    worst = float(distance.max(initial=0.0))
    if worst > TOLERANCE:
        raise EncoderError(
            f"{encoder.identity.name}: the exported encoder's vectors differ by {worst:.1e} (allowed {TOLERANCE:.0e})"
        )
