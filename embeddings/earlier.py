"""Vectors of an earlier index: of a card that was edited, most passages are what they were."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ale_semantic.card_store import StoredCards
from ale_semantic.errors import BundleError

from .bundle import open_generation
from .encoder import EncoderIdentity, Vectors
from .space import VectorSpace


@dataclass(frozen=True, slots=True)
class EarlierVectors:
    """The cards of an index, in the order of their ids, and their main space."""

    cards: StoredCards
    space: VectorSpace

    @classmethod
    def open(cls, folder: Path, identity: EncoderIdentity, precision: str) -> EarlierVectors | None:
        """Open the index in a folder; None if there is none that is whole and of the same model and precision."""
        try:
            paths, manifest = open_generation(folder)
            entry = manifest["spaces"][0]
            if EncoderIdentity(**entry["encoder"]) != identity or entry["precision"] != precision:
                return None
            return cls(StoredCards.open(paths.cards), VectorSpace.open(paths, entry))
        except (BundleError, LookupError, TypeError):
            return None

    def of(self, task_id: str) -> Mapping[str, Vectors]:
        """Return the vector of each passage's text of the card with an id, of shape (dimension,); none if it is new."""
        row = bisect_left(self.cards, task_id, key=lambda card: card.task_id)
        if row == len(self.cards) or self.cards[row].task_id != task_id:
            return {}
        passages, vectors = self.space.passages, self.space.backend.vectors
        places = range(int(self.space.starts[row]), int(self.space.starts[row + 1]))
        return {passages.passage(place, self.cards).text: vectors[place] for place in places}
