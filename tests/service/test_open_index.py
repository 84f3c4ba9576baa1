"""One generation of the index, open: what it keeps of a model whose encoder it takes over."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from toy import HashEncoder

from ale_semantic.embeddings.bundle import CURRENT, ENCODER
from ale_semantic.embeddings.encoder import Encoder
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.service.embedding_models import served_models
from ale_semantic.service.open_index import OpenIndex


def load(space: VectorSpace, *, workers: int = 1) -> Encoder:
    """Return the toys' encoder as one that stands in a generation's folder."""
    encoder = HashEncoder(digest=space.identity.digest)
    assert space.folder is not None
    encoder.folder = space.folder / ENCODER  # type: ignore[attr-defined]
    return encoder


@pytest.mark.parametrize(("settings", "fewest"), [('{"matryoshka_dimensions": [16, 64]}', 16), ("{}", 64)])
def test_an_encoder_taken_over_twice_still_says_how_far_its_vectors_may_be_cut(
    toy_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, fewest: int
) -> None:
    monkeypatch.setattr(VectorSpace, "load_encoder", load)
    built = (toy_index / CURRENT).read_text(encoding="utf-8").strip()
    head, last = built[:-1], int(built[-1], 16)
    names = [f"{head}{(last + step) % 16:x}" for step in range(3)]
    index, encoder = None, None
    for place, name in enumerate(names):
        shutil.copytree(toy_index / built, tmp_path / name)
        (space,) = (tmp_path / name / "spaces").iterdir()
        (space / ENCODER).mkdir()
        (space / ENCODER / "config.json").write_text(settings, encoding="utf-8")
        (tmp_path / CURRENT).write_text(name + "\n", encoding="utf-8")
        index = OpenIndex.open(tmp_path, vector_cache=8, earlier=index)
        encoder = encoder or index.encoder
        assert (index.generation, index.encoder is encoder) == (name, True)
        if place:
            shutil.rmtree(tmp_path / names[place - 1])  # as a build does with what is old
        assert served_models(index)[0].card.min_dimensions == fewest
    assert encoder is not None
    encoder.close()
