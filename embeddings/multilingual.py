"""The multilingual space: short passages of all cards, embedded by a multilingual model, beside the main space."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from ale_semantic.arrays import mapped
from ale_semantic.errors import AleSemanticError
from ale_semantic.texts import field_text, sentences
from ale_semantic.types import Field, TaskCard

from .backend import FaissBackend
from .bundle import BundlePaths, open_generation
from .encoder import Encoder, EncoderIdentity, TextKind, Vectors
from .late import CardTokens, LateIndex
from .nano_e5 import NANO_E5, load_encoder, nano_e5_is_there
from .passages import Passage, PassageKind
from .registry import registry
from .space import PassageTable, VectorSpace, read_cards

BACKGROUND = "background.npy"
_ROLE, _MULTILINGUAL = "role", "multilingual"
_VIEWS = (Field.OVERVIEW, Field.TITLE, Field.SOFTWARE, Field.SUBDOMAIN)
_SENTENCES = (Field.SUMMARY, Field.MUST_DO)
_BLOCK = 64  # texts between two steps of the progress bar


@dataclass(frozen=True, slots=True)
class MultilingualSpace:
    """A vector space with the mean vector of queries about nothing in the catalogue, shape (dimension,).

    Some passages are near to any query. How near a passage is to the background tells by how much.
    """

    space: VectorSpace
    background: Vectors


def short_passages(row: int, card: TaskCard) -> Iterator[Passage]:
    """Yield a card's short passages: its short fields whole, its summary and steps sentence by sentence.

    The model is slow on long texts, and prompts would add little that the steps don't say.
    """
    for field in _VIEWS:
        text = field_text(card, field)
        if text:
            yield Passage(row, field, PassageKind.VIEW, 0, len(text), text)
    for field in _SENTENCES:
        text = field_text(card, field)
        for start, end in sentences(text):
            yield Passage(row, field, PassageKind.SENTENCE, start, end, text[start:end])


def chosen_model(wanted: bool | str | None, main: EncoderIdentity) -> str | None:
    """Return the name of the model for queries in other languages, or None for no second space.

    Args:
        wanted: a model's name, yes, no, or None: yes if the package is installed.
        main: the main space's encoder; one that speaks many languages needs no second space.

    Raises:
        MissingExtraError: if it is wanted and the package isn't installed; on loading it.
    """
    if wanted is False or speaks_many(main):
        return None
    if isinstance(wanted, str):
        return wanted
    return NANO_E5 if wanted or nano_e5_is_there() else None


def speaks_many(identity: EncoderIdentity) -> bool:
    """Tell whether a model is registered as one of many languages."""
    spec = registry().get(identity.name)
    return spec is not None and spec.languages == _MULTILINGUAL


def add_multilingual(
    paths: BundlePaths,
    folder: Path,
    cards: Sequence[TaskCard],
    model: str,
    *,
    device: str | None = None,
    progress: bool = False,
) -> dict[str, Any]:
    """Embed the cards for queries in other languages, write the space, and return its manifest entry.

    Args:
        paths: the generation to write into.
        folder: the index folder; vectors of texts that an index already there holds are taken over.
        cards: all cards.
        model: registry name, Hub name or local folder.
        device: `cpu`, `cuda` ...; by default what is there.
        progress: show a progress bar.

    Raises:
        EncoderError: if the model can't be loaded.
        MissingExtraError: if it needs a package that isn't installed.
    """
    encoder = load_encoder(model, device=device)
    made = build_space(cards, encoder, known=earlier_vectors(folder, encoder.identity), progress=progress)
    entry = made.space.write(paths, None)
    np.save(paths.space(encoder.identity.key) / BACKGROUND, made.background, allow_pickle=False)
    return {**entry, _ROLE: _MULTILINGUAL}


def build_space(
    cards: Sequence[TaskCard], encoder: Encoder, *, known: Mapping[str, Vectors], progress: bool = False
) -> MultilingualSpace:
    """Embed the cards' short passages, each text once, but those whose vectors are known."""
    from tqdm.auto import tqdm

    passages = [passage for row, card in enumerate(cards) for passage in short_passages(row, card)]
    vectors = dict(known)
    new = [text for text in dict.fromkeys(passage.text for passage in passages) if text not in vectors]
    with tqdm(total=len(new), unit="passage", desc="other languages", disable=not progress) as bar:
        for start in range(0, len(new), _BLOCK):
            block = new[start : start + _BLOCK]
            vectors |= dict(zip(block, encoder.encode(block, TextKind.DOCUMENT), strict=True))
            bar.update(len(block))
    dimension = encoder.identity.dimension
    none = tuple(CardTokens.pool([], [], dimension) for _ in cards)
    space = VectorSpace.of(
        encoder.identity,
        PassageTable.of(passages),
        FaissBackend.of(np.stack([vectors[passage.text] for passage in passages])),
        LateIndex.build(none, dimension),
        cards=len(cards),
        tokens=none,
    )
    background = encoder.encode(background_queries(), TextKind.QUERY).mean(axis=0)
    return MultilingualSpace(space, np.asarray(background, dtype=np.float32))


def open_multilingual(paths: BundlePaths, manifest: dict[str, Any]) -> MultilingualSpace | None:
    """Open the multilingual space of a bundle; None if it has none.

    Raises:
        BundleError: if its files don't fit together.
    """
    for entry in manifest["spaces"]:
        if entry.get(_ROLE) == _MULTILINGUAL:
            space = VectorSpace.open(paths, entry)
            background = mapped(paths.space(space.identity.key) / BACKGROUND)
            return MultilingualSpace(space, background)
    return None


def earlier_vectors(folder: Path, identity: EncoderIdentity) -> Mapping[str, Vectors]:
    """Return the vector of each text that an earlier index embedded with the same model; none if it can't be read."""
    try:
        paths, manifest = open_generation(folder)
        earlier = open_multilingual(paths, manifest)
        if earlier is None or earlier.space.identity != identity:
            return {}
        texts = earlier.space.passages.texts(read_cards(paths.cards))
    except (AleSemanticError, OSError, ValueError):
        return {}
    return dict(zip(texts, earlier.space.backend.vectors.copy(), strict=True))


@cache
def background_queries() -> tuple[str, ...]:
    """Return queries about everyday matters in many languages, from the table of languages."""
    table = tomllib.loads((files("ale_semantic") / "data" / "languages.toml").read_text(encoding="utf-8"))
    return tuple(table["background"]["queries"])
