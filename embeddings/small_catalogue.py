"""What is made of a catalogue small enough to compare each card with each: the map, and how related cards are."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ale_semantic.card_words import CardWords
from ale_semantic.types import TaskCard

from .atlas import Atlas, draw_atlas
from .bundle import RELATED
from .relatedness import card_relatedness
from .space import VectorSpace
from .vectors import mean_vectors


class SmallCatalogue:
    """Keeps a few words of each card until all are there."""

    def __init__(self) -> None:
        """Begin without cards."""
        self._about: list[str] = []
        self._domains: list[str] = []
        self._words: list[CardWords] = []

    def add(self, card: TaskCard, words: CardWords) -> None:
        """Add the next card."""
        self._about.append(f"{card.title}. {card.subdomain or ''}")
        self._domains.append(card.domain)
        self._words.append(words)

    def write(self, root: Path, space: VectorSpace, earlier: Atlas | None) -> None:
        """Write both into a generation; cards that an earlier map holds keep their places."""
        means = mean_vectors(space.backend.vectors, space.starts)
        draw_atlas(means, self._about, earlier=earlier).write(root)
        related = card_relatedness(self._domains, self._words, space)
        np.save(root / RELATED, related, allow_pickle=False)
