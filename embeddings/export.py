"""Exporting a sentence-transformers model, with pooling and normalisation, to ONNX."""

from __future__ import annotations

import logging
import shutil
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ale_semantic.errors import EncoderError

from .encoder import SentenceTransformerEncoder, TextKind
from .onnx_encoder import INPUTS, OUTPUTS, OnnxEncoder, write_identity, write_optimised
from .tokens import TOKENIZER_FILE
from .truncation import CONFIG, config_file
from .vectors import TokenVectors, Vectors

# Largest cosine distance between an exported and an original vector, of a text or of a word in its context. Those of
# the default model differ by less than 1e-6.
TOLERANCE = 1e-4
_COMPARED = 100  # texts at a time: their words' vectors stand in memory
_PLAIN_GRAPH = "plain.onnx"
_EXAMPLE = ("an example of two texts", "whose lengths are not the same, so that both dimensions stay open")


def export_encoder(original: SentenceTransformerEncoder, folder: Path, samples: Sequence[str]) -> None:
    """Export a model that is on the CPU into a new folder, and compare the two; what differs is removed again.

    Args:
        original: the model.
        folder: where the exported encoder is to stand.
        samples: texts on which both must agree, as queries and as documents.

    Raises:
        EncoderError: if the model can't be exported, or the vectors differ.
        OSError: if the folder can't be written.
    """
    folder.mkdir(parents=True)
    try:
        _export(original, folder)
        _check(original, folder, samples)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _export(encoder: SentenceTransformerEncoder, folder: Path) -> None:
    import torch

    model = encoder.model

    class Pipeline(torch.nn.Module):
        """The whole sentence-transformers pipeline as one graph."""

        def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> tuple[Any, Any]:
            features = model({"input_ids": input_ids, "attention_mask": attention_mask})
            unit = torch.nn.functional.normalize(features["sentence_embedding"], dim=-1)
            return unit, features["token_embeddings"]

    plain = folder / _PLAIN_GRAPH
    example = model.tokenizer(list(_EXAMPLE), padding=True, return_tensors="pt")
    shape = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    level = logging.getLogger("torch.onnx").level
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                Pipeline().eval(),
                tuple(example[name] for name in INPUTS),
                str(plain),
                dynamo=True,
                input_names=list(INPUTS),
                output_names=list(OUTPUTS),
                dynamic_shapes=dict.fromkeys(INPUTS, shape),
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
    """Compare what search goes by: vectors of texts, and of their words.

    Raises:
        EncoderError: if any differ, or aren't numbers.
    """
    name = encoder.identity.name
    copy = OnnxEncoder.open(folder, padded=True)  # as queries are encoded: the mask must count
    for what, distances in _distances(encoder, copy, samples):
        worst = float(distances.max(initial=0.0))
        if not worst <= TOLERANCE:  # nor is any comparison true of what isn't a number
            raise EncoderError(
                f"{name}: the exported encoder's vectors differ by {worst:.1e} for {what} (allowed {TOLERANCE:.0e})"
            )


def _distances(
    original: SentenceTransformerEncoder, copy: OnnxEncoder, samples: Sequence[str]
) -> Iterator[tuple[str, Vectors]]:
    """Yield what is compared, and its cosine distances."""
    # Where queries and documents have the same prefix, they are the same texts.
    kinds = {original.identity.prefix(kind): kind for kind in TextKind}.values()
    for kind in kinds:
        for start in range(0, len(samples), _COMPARED):
            texts = samples[start : start + _COMPARED]
            vectors, words = original.encode_tokens(texts, kind)
            copies, copied = copy.encode_tokens(texts, kind)
            yield f"a {kind}", 1.0 - np.einsum("ij,ij->i", vectors, copies)
            yield f"a word of a {kind}", _word_distances(words, copied)


def _word_distances(words: Sequence[TokenVectors], copied: Sequence[TokenVectors]) -> Vectors:
    if any(not np.array_equal(one.ids, other.ids) for one, other in zip(words, copied, strict=True)):
        return np.ones(1, dtype=np.float32)
    rows = np.concatenate([one.vectors for one in words])
    distances: Vectors = 1.0 - np.einsum("ij,ij->i", rows, np.concatenate([one.vectors for one in copied]))
    return distances
