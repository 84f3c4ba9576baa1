"""The multilingual space: short passages of all cards, embedded by a multilingual model, beside the main space."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from ale_semantic.arrays import mapped
from ale_semantic.errors import EncoderError
from ale_semantic.texts import field_text, sentences
from ale_semantic.types import Field, TaskCard

from .bundle import BundlePaths
from .cached import CachedEncoder
from .card_records import EmbeddedCard
from .earlier import EarlierCards
from .encoder import EncoderIdentity, TextKind, Vectors
from .nano_e5 import NANO_E5, nano_e5_is_there
from .passages import Passage, PassageKind, passage_columns
from .registry import registry
from .space import VectorSpace
from .space_writer import SpaceWriter

if TYPE_CHECKING:
    from .serving import Serving

BACKGROUND = "background.npy"
ROLE, _MULTILINGUAL = "role", "multilingual"
_VERSION = "short 1"  # changed whenever the same card gives other passages
_VIEWS = (Field.OVERVIEW, Field.TITLE, Field.SOFTWARE, Field.SUBDOMAIN)
_SENTENCES = (Field.SUMMARY, Field.MUST_DO)


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


def require_other(second: EncoderIdentity, main: EncoderIdentity) -> None:
    """See that the model for queries in other languages isn't that of the main space, whose files it would overwrite.

    Raises:
        EncoderError: if it is.
    """
    if second.key == main.key:
        raise EncoderError(
            f"{second.name}: embeds the main space already, so it can't be the multilingual model too; name another "
            "--multilingual-model, or --no-multilingual to do without"
        )


class MultilingualWriter:
    """Embeds cards for queries in other languages, and writes the space; each text is embedded once."""

    def __init__(
        self, paths: BundlePaths, encoder: CachedEncoder, serving: Serving, *, earlier: EarlierCards | None = None
    ) -> None:
        """Begin the space in a generation, with an encoder that remembers what it embedded, and an earlier index."""
        self._encoder, self._serving, self._earlier = encoder, serving, earlier
        self._folder = paths.space(encoder.identity.key)
        self._writer = SpaceWriter(paths, encoder.identity)

    def add(self, cards: Sequence[TaskCard]) -> None:
        """Add the next cards."""
        keys = [self._key(card) for card in cards]
        found = self._earlier.unchanged(keys) if self._earlier is not None else {}
        new = {key: card for key, card in zip(keys, cards, strict=True) if key not in found}
        found |= self._embedded(new)
        self._writer.add([found[key] for key in keys])

    def _key(self, card: TaskCard) -> bytes:
        return self._encoder.key(_VERSION, *(field_text(card, field) for field in (*_VIEWS, *_SENTENCES)))

    def _embedded(self, cards: Mapping[bytes, TaskCard]) -> dict[bytes, EmbeddedCard]:
        split = {key: list(short_passages(0, card)) for key, card in cards.items()}
        texts = list(dict.fromkeys(passage.text for passages in split.values() for passage in passages))
        vectors = self._encoder.encode(texts, TextKind.DOCUMENT)
        place = {text: row for row, text in enumerate(texts)}
        return {
            key: EmbeddedCard.without_words(
                key, passage_columns(passages), vectors[[place[passage.text] for passage in passages]]
            )
            for key, passages in split.items()
        }

    def close(self) -> None:
        """Close the files, also of a build that failed."""
        self._writer.close()

    def finish(self) -> dict[str, Any]:
        """Write what is left to write, and return the space's manifest entry."""
        space = self._writer.finish()
        background = self._encoder.encode(background_queries(), TextKind.QUERY).mean(axis=0)
        np.save(self._folder / BACKGROUND, np.asarray(background, dtype=np.float32), allow_pickle=False)
        return {**space.entry(self._serving.exported), **self._serving.entry(), ROLE: _MULTILINGUAL}


def open_multilingual(paths: BundlePaths, manifest: dict[str, Any]) -> MultilingualSpace | None:
    """Open the multilingual space of a bundle; None if it has none.

    Raises:
        BundleError: if its files don't fit together.
    """
    for entry in manifest["spaces"]:
        if entry.get(ROLE) == _MULTILINGUAL:
            space = VectorSpace.open(paths, entry)
            background = mapped(paths.space(space.identity.key) / BACKGROUND)
            return MultilingualSpace(space, background)
    return None


@cache
def background_queries() -> tuple[str, ...]:
    """Return queries about everyday matters in many languages, from the table of languages."""
    table = tomllib.loads((files("ale_semantic") / "data" / "languages.toml").read_text(encoding="utf-8"))
    return tuple(table["background"]["queries"])
