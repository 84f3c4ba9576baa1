"""A space of an index: the encoder that stands beside its vectors."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from toy import HashEncoder, toy_catalogue

from ale_semantic.embeddings.build import build_index
from ale_semantic.embeddings.bundle import ENCODER, open_generation
from ale_semantic.embeddings.space import VectorSpace

WEIGHTS = "model.onnx"


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> VectorSpace:
    folder = tmp_path_factory.mktemp("made") / "index"
    build_index(toy_catalogue(), folder, encoder=HashEncoder())
    paths, manifest = open_generation(folder)
    return VectorSpace.open(paths, manifest["spaces"][0])


def exported(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / WEIGHTS).write_bytes(b"weights")
    return folder


@pytest.mark.parametrize("links", [True, False])
def test_an_encoder_is_shared_with_the_generation_before_and_with_nothing_else(
    space: VectorSpace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    def no_links(*_: object) -> None:
        raise OSError("the file system knows no links")

    if not links:
        monkeypatch.setattr(os, "link", no_links)
    index = tmp_path / "index"
    earlier = exported(index / "g-1" / "spaces" / "a" / ENCODER)
    elsewhere = exported(tmp_path / "cache" / "a-1")
    for source, shared in ((earlier, links), (elsewhere, False)):
        folder = index / f"g-{source.name}" / "spaces" / "a"
        folder.mkdir(parents=True)
        assert replace(space, folder=folder).entry(source)["exported"]
        own = folder / ENCODER / WEIGHTS
        assert own.samefile(source / WEIGHTS) is shared
        (source / WEIGHTS).unlink()  # an earlier generation is removed one day
        assert own.read_bytes() == b"weights"
