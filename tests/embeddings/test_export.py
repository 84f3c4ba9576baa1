"""Comparing an exported encoder with its original: what is accepted, and on which texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from toy import toy_cards

from ale_semantic.embeddings import export
from ale_semantic.embeddings.encoder import SentenceTransformerEncoder, TextKind, TokenVectors, Vectors
from ale_semantic.embeddings.export import export_encoder
from ale_semantic.embeddings.onnx_encoder import OnnxEncoder
from ale_semantic.embeddings.samples import SAMPLES, sample_texts
from ale_semantic.errors import EncoderError

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.usefixtures("quick_export")]
TEXTS = ["fit a comet's orbit", "lease", "reconcile supplier invoices"]
Encoded = tuple[Vectors, list[TokenVectors]]


@pytest.fixture(scope="module")
def original(model: Path) -> SentenceTransformerEncoder:
    return SentenceTransformerEncoder.load(str(model))


def spoiling(monkeypatch: pytest.MonkeyPatch, spoil: Callable[[Encoded, TextKind], Encoded]) -> None:
    own = OnnxEncoder.encode_tokens

    def spoiled(encoder: OnnxEncoder, texts: Sequence[str], kind: TextKind, *, progress: bool = False) -> Encoded:
        return spoil(own(encoder, texts, kind), kind)

    monkeypatch.setattr(OnnxEncoder, "encode_tokens", spoiled)


def no_numbers(found: Encoded, kind: TextKind) -> Encoded:
    return np.full_like(found[0], np.nan), found[1]


def no_words(found: Encoded, kind: TextKind) -> Encoded:
    return found[0], [replace(one, vectors=np.zeros_like(one.vectors)) for one in found[1]]


def other_words(found: Encoded, kind: TextKind) -> Encoded:
    return found[0], [replace(one, ids=one.ids + 1) for one in found[1]]


def one_word_without_numbers(found: Encoded, kind: TextKind) -> Encoded:
    found[1][0].vectors[0, 0] = np.nan
    return found


def other_queries(found: Encoded, kind: TextKind) -> Encoded:
    return (found[0][::-1], found[1]) if kind is TextKind.QUERY else found


def test_what_agrees_is_exported(original: SentenceTransformerEncoder, tmp_path: Path) -> None:
    export_encoder(original, tmp_path / "made", TEXTS)
    assert OnnxEncoder.open(tmp_path / "made").identity == original.identity


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (no_numbers, "nan for a "),
        (no_words, r"1\.0e\+00 for a word of a "),
        (other_words, r"1\.0e\+00 for a word of a "),
        (one_word_without_numbers, "nan for a word of a "),
    ],
)
def test_what_differs_or_is_no_number_is_refused_and_removed(
    original: SentenceTransformerEncoder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    spoil: Callable[[Encoded, TextKind], Encoded],
    what: str,
) -> None:
    spoiling(monkeypatch, spoil)
    with pytest.raises(EncoderError, match=f"tiny: the exported encoder's vectors differ by {what}"):
        export_encoder(original, tmp_path / "made", TEXTS)
    assert not (tmp_path / "made").exists()


def test_queries_are_compared_with_their_own_prefix(
    original: SentenceTransformerEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prefixed = SentenceTransformerEncoder(
        original.model, replace(original.identity, query_prefix="query: "), original.folder, original.source
    )
    export_encoder(prefixed, tmp_path / "made", TEXTS)
    spoiling(monkeypatch, other_queries)
    with pytest.raises(EncoderError, match="for a query "):
        export_encoder(prefixed, tmp_path / "refused", TEXTS)


def test_all_texts_are_compared_some_at_a_time(
    original: SentenceTransformerEncoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def noting(found: Encoded, kind: TextKind) -> Encoded:
        seen.append(len(found[0]))
        return found

    spoiling(monkeypatch, noting)
    monkeypatch.setattr(export, "_COMPARED", 2)
    export_encoder(original, tmp_path / "made", TEXTS)
    assert seen == [2, 1]


@pytest.mark.parametrize("cards", [0, 1, 9])
def test_however_few_the_cards_there_are_enough_texts(cards: int) -> None:
    given = toy_cards()[:cards]
    texts = sample_texts(given)
    assert len(texts) == len(set(texts)) == SAMPLES == 500
    assert {card.title for card in given} <= set(texts)
    assert max(map(len, texts)) > 1000  # whole prompts are among them
    assert not any(re.fullmatch(r"\s*", text) for text in texts)
