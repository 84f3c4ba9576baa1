"""The evidence that a catalogue answers a query, worked out by hand over nine cards."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from toy import HashEncoder, toy_cards, toy_catalogue

from ale_semantic.bands import Background, Spread
from ale_semantic.embeddings.build import build_index
from ale_semantic.embeddings.bundle import open_generation
from ale_semantic.embeddings.encoder import TextKind
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.evidence import background_rows, gather_evidence, measure_background
from ale_semantic.lexical import LexicalIndex
from ale_semantic.types import Field

TOYS = toy_cards()
INDEX = LexicalIndex.build(TOYS)
COMET = next(row for row, card in enumerate(TOYS) if card.task_id == "science/orbit_fit")
OTHER = (COMET + 1) % len(TOYS)
BACKGROUND = Background(Spread(0.2, 0.1), Spread(0.3, 0.1), Spread(0.1, 0.2))


def idf(cards: int) -> float:
    return math.log((len(TOYS) + 1) / (cards + 0.5))


def test_coverage_is_the_share_of_rare_words_that_the_best_card_holds() -> None:
    terms = [("comet", 1.0), ("zzyzx", 1.0)]
    found = gather_evidence(terms, False, INDEX, COMET, cosines=None, background=BACKGROUND)
    assert found.coverage == pytest.approx(idf(1) / (idf(1) + idf(0)))
    assert (found.exact, found.unknown) == (False, False)
    assert gather_evidence(terms, False, INDEX, OTHER, cosines=None, background=BACKGROUND).coverage == 0


def test_all_words_in_the_best_card_and_one_of_them_rare_is_exact() -> None:
    assert gather_evidence([("comet", 1.0)], False, INDEX, COMET, cosines=None, background=BACKGROUND).exact
    python = INDEX.cards_with("python")
    assert len(python) > 2
    common = gather_evidence([("python", 1.0)], False, INDEX, int(python[0]), cosines=None, background=BACKGROUND)
    assert common.coverage == pytest.approx(1.0)
    assert not common.exact
    assert not gather_evidence([], False, INDEX, COMET, cosines=None, background=BACKGROUND).exact


def test_words_that_no_card_holds_are_unknown_where_there_is_no_encoder() -> None:
    assert gather_evidence([("zzyzx", 1.0)], False, INDEX, COMET, cosines=None, background=BACKGROUND).unknown


def test_cosines_are_measured_against_unrelated_texts() -> None:
    best, late, overview = (np.zeros(len(TOYS), dtype=np.float32) for _ in range(3))
    best[OTHER], late[OTHER], overview[OTHER], overview[COMET] = 0.5, 0.8, 0.9, 0.3
    found = gather_evidence([("comet", 1.0)], True, INDEX, COMET, cosines=(best, late, overview), background=BACKGROUND)
    # The nearest of all cards, but the overview of the best card.
    assert (found.best, found.late, found.overview) == pytest.approx((3.0, 5.0, 1.0), rel=1e-5)
    assert found.unknown


@pytest.mark.parametrize("together", [1, 4, 1000])
def test_the_background_is_what_titles_say_of_the_other_cards(
    together: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ale_semantic.evidence._TOGETHER", together)
    encoder = HashEncoder()
    build_index(toy_catalogue(), tmp_path, encoder=encoder)
    paths, manifest = open_generation(tmp_path)
    space = VectorSpace.open(paths, manifest["spaces"][0])
    vectors, tokens = encoder.encode_tokens([card.title for card in TOYS], TextKind.QUERY)
    wanted: dict[str, list[float]] = {"best": [], "late": [], "overview": []}
    for row, (vector, words) in enumerate(zip(vectors, tokens, strict=True)):
        by_word = space.late.scores(words)
        for other in set(range(len(TOYS))) - {row}:
            passages = np.flatnonzero(space.passages.cards == other)
            cosines = space.backend.vectors[passages] @ vector
            wanted["best"].append(float(cosines.max()))
            wanted["late"].append(float(by_word[other]))
            overview = np.isin(passages, space.passages.rows_of(Field.OVERVIEW))
            wanted["overview"] += cosines[overview].tolist()
    found = measure_background(background_rows(len(TOYS)), (vectors, tokens), space)
    for name, values in wanted.items():
        spread = getattr(found, name)
        assert (spread.mean, spread.deviation) == pytest.approx((np.mean(values), np.std(values)), abs=1e-6)
    assert manifest["spaces"][0]["background"]["late"]["mean"] == pytest.approx(found.late.mean, abs=1e-6)


def test_a_large_catalogue_asks_titles_that_are_evenly_spread() -> None:
    assert background_rows(5).tolist() == [0, 1, 2, 3, 4]
    rows = background_rows(1000)
    assert len(set(rows.tolist())) == len(rows) < 1000
    assert (rows[0], rows[-1]) == (0, 999)
    assert background_rows(0).tolist() == []
