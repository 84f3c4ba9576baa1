"""The multilingual space of a bundle: short passages, reuse of known texts, and what a bundle without it does."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from toy import HashEncoder, toy_card, toy_cards, toy_catalogue

from ale_semantic import Engine, build_index
from ale_semantic.embeddings import build, multilingual, nano_e5
from ale_semantic.embeddings.bundle import open_generation
from ale_semantic.embeddings.encoder import Encoder, EncoderIdentity
from ale_semantic.embeddings.multilingual import (
    background_queries,
    chosen_model,
    open_multilingual,
    short_passages,
    speaks_many,
)
from ale_semantic.embeddings.nano_e5 import NANO_E5
from ale_semantic.embeddings.serving import Serving
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.errors import EncoderError, MissingExtraError
from ale_semantic.types import Field, SearchResult

MODEL = "many"
NOTICE = r"seems to be Spanish.*pip install 'ale-semantic\[multilingual\]'"
QUERY = "un cometa y su órbita con numpy"
MIXED = "comet orbit 用最小二乘"


@pytest.fixture
def second(monkeypatch: pytest.MonkeyPatch) -> HashEncoder:
    """Return the encoder that every second space gets."""
    encoder = HashEncoder(name=MODEL, dimension=32)

    def serve(name: str, **options: object) -> Serving:
        assert name == MODEL
        return Serving.given(encoder)

    monkeypatch.setattr(build, "serving_encoder", serve)
    monkeypatch.setattr(VectorSpace, "load_encoder", lambda self: encoder)
    return encoder


@pytest.fixture
def folder(tmp_path: Path, second: HashEncoder) -> Path:
    build_index(toy_catalogue(), tmp_path / "index", encoder=HashEncoder(), multilingual=MODEL)
    return tmp_path / "index"


def opened(folder: Path) -> Engine:
    return Engine.open(folder, encoder=HashEncoder())


def order(result: SearchResult) -> list[str]:
    return [hit.task_id for hit in result.hits]


def test_passages_are_short_ones_of_short_fields_and_hold_their_text() -> None:
    card = toy_card("legal/lease_review", agent_must_do=["Read all of the lease", "Write the final report"])
    passages = list(short_passages(3, card))
    assert {passage.card for passage in passages} == {3}
    assert Field.PROMPT not in {passage.field for passage in passages}
    assert {passage.text for passage in passages if passage.field is Field.TITLE} == {card.title}
    steps = [passage.text for passage in passages if passage.field is Field.MUST_DO]
    assert " ".join(steps).split() == "Read all of the lease Write the final report".split()


def test_the_bundle_lists_both_spaces_and_opens_them(folder: Path) -> None:
    paths, manifest = open_generation(folder)
    assert [entry["encoder"]["name"] for entry in manifest["spaces"]] == ["hash", MODEL]
    made = open_multilingual(paths, manifest)
    assert made is not None
    assert made.space.backend.vectors.shape == (len(made.space.passages), 32)
    assert made.background.shape == (32,)
    passages = [passage for row, card in enumerate(toy_cards()) for passage in short_passages(row, card)]
    assert made.space.passages.texts(toy_cards()) == [passage.text for passage in passages]


def test_only_new_texts_are_embedded_again(folder: Path, second: HashEncoder) -> None:
    paths, manifest = open_generation(folder)
    before = open_multilingual(paths, manifest)
    edited = toy_card("legal/lease_review", title="Review a lease", summary="An altogether different summary of it.")
    cards = [edited if card.task_id == edited.task_id else card for card in toy_cards()]
    second.encoded.clear()
    build_index(toy_catalogue(cards), folder, encoder=HashEncoder(), multilingual=MODEL)
    embedded = set(second.encoded) - set(background_queries())
    assert embedded
    assert embedded <= {passage.text for passage in short_passages(0, edited)}
    paths, manifest = open_generation(folder)
    after = open_multilingual(paths, manifest)
    assert before is not None
    assert after is not None
    vectors = dict(zip(before.space.passages.texts(toy_cards()), before.space.backend.vectors, strict=True))
    for text, vector in zip(after.space.passages.texts(cards), after.space.backend.vectors, strict=True):
        if text in vectors:
            np.testing.assert_array_equal(vector, vectors[text])


def test_a_query_in_another_language_is_ranked_there_with_no_notice(folder: Path, second: HashEncoder) -> None:
    second.encoded.clear()
    result = opened(folder).search(MIXED)
    assert second.encoded == [MIXED]
    assert result.notices == ()
    assert order(result)[0] == "science/orbit_fit"
    passage = result.hits[0].why.passage
    assert passage is not None
    assert passage.field is not Field.PROMPT  # it is one of the second space


def test_an_english_query_never_reaches_the_second_encoder(folder: Path, second: HashEncoder, tmp_path: Path) -> None:
    build_index(toy_catalogue(), tmp_path / "plain", encoder=HashEncoder())
    second.encoded.clear()
    english = "fit the orbit of a comet to its positions"
    with_space, without = opened(folder).search(english), opened(tmp_path / "plain").search(english)
    assert second.encoded == []
    assert [(hit.task_id, hit.score) for hit in with_space.hits] == [(hit.task_id, hit.score) for hit in without.hits]


def test_lexical_mode_needs_no_encoder(folder: Path, second: HashEncoder) -> None:
    second.encoded.clear()
    assert order(opened(folder).search(MIXED, mode="lexical"))[0] == "science/orbit_fit"
    assert second.encoded == []


def test_without_the_space_the_notice_says_what_to_install(tmp_path: Path) -> None:
    build_index(toy_catalogue(), tmp_path / "index", encoder=HashEncoder())
    result = opened(tmp_path / "index").search(QUERY)
    assert len(result.notices) == 1
    assert re.search(NOTICE, result.notices[0])
    assert "build the index again" in result.notices[0]
    assert len(result.hits) == 9  # the words that are shared still rank


def test_without_the_package_the_space_is_passed_over_and_the_notice_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(self: VectorSpace) -> Encoder:
        raise MissingExtraError("the encoder", "multilingual")

    monkeypatch.setattr(VectorSpace, "load_encoder", missing)
    result = opened(folder).search(QUERY)
    assert len(result.notices) == 1
    assert "pip install 'ale-semantic[multilingual]'" in result.notices[0]
    assert "build" not in result.notices[0]
    assert order(result)


def test_an_empty_mask_of_shared_words_still_ranks_every_card(folder: Path) -> None:
    result = opened(folder).search("zzz los de la unas", k=20)
    assert sorted(order(result)) == sorted(card.task_id for card in toy_cards())


def test_cards_without_any_subdomain_are_ranked(tmp_path: Path, second: HashEncoder) -> None:
    cards = [toy_card(f"legal/{name}", taxonomy={"domain_code": "legal"}) for name in ("lease", "patent")]
    build_index(toy_catalogue(cards), tmp_path / "index", encoder=HashEncoder(), multilingual=MODEL)
    scores = [hit.score for hit in opened(tmp_path / "index").search("el contrato de la casa").hits]
    assert len(scores) == 2
    assert np.isfinite(scores).all()


@pytest.mark.parametrize(
    ("wanted", "installed", "main", "model"),
    [
        (None, True, "minilm", NANO_E5),
        (None, False, "minilm", None),
        (False, True, "minilm", None),
        (True, False, "minilm", NANO_E5),  # loading it then says what to install
        ("e5-small", False, "minilm", "e5-small"),
        (None, True, "e5-small", None),  # speaks all languages itself
        (True, True, NANO_E5, None),
    ],
)
def test_the_model_of_the_second_space(
    wanted: bool | str | None, installed: bool, main: str, model: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nano_e5, "find_spec", lambda name: None)
    monkeypatch.setattr(multilingual, "nano_e5_is_there", lambda: installed)
    identity = EncoderIdentity(main, "1", "0" * 64, 4, 16)
    assert chosen_model(wanted, identity) == model
    assert speaks_many(identity) is (main != "minilm")


def test_asking_for_it_without_the_package_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nano_e5, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ale-semantic\[multilingual\]'"):
        build_index(toy_catalogue(), tmp_path / "index", encoder=HashEncoder(), multilingual=True)
    assert not (tmp_path / "index" / "CURRENT").exists()


def test_background_queries_are_many_and_of_many_languages() -> None:
    queries = background_queries()
    assert len(queries) == len(set(queries)) >= 40


def test_the_main_model_cant_be_the_second_one_too(tmp_path: Path, second: HashEncoder) -> None:
    same = HashEncoder(name=MODEL, dimension=32)
    with pytest.raises(EncoderError, match="many: embeds the main space already"):
        build_index(toy_catalogue(), tmp_path / "index", encoder=same, multilingual=MODEL)
    assert [path.name for path in (tmp_path / "index").iterdir()] == ["lock"]
