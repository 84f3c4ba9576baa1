"""What an index holds beside vectors and words: the cards, their facets and their names."""

from __future__ import annotations

from collections.abc import Iterable

from ale_semantic.card_store import CardWriter
from ale_semantic.facet_store import FacetCollector, write_columns
from ale_semantic.names import NameCollector
from ale_semantic.skills import SkillTable
from ale_semantic.types import TaskCard

from .bundle import FACETS, BundlePaths


class TableWriter:
    """Takes cards in their order, however many there are, and writes them with their facets and names."""

    def __init__(self, paths: BundlePaths) -> None:
        """Begin in a generation."""
        self._paths = paths
        self._cards = CardWriter(paths.cards)
        self._facets = FacetCollector()
        self._names = NameCollector()

    def add(self, cards: Iterable[TaskCard]) -> None:
        """Take the next cards."""
        for card in cards:
            self._cards.add(card)
            self._facets.add(card)
            self._names.add(card)

    def close(self) -> None:
        """Close the files, also of a build that failed."""
        self._cards.close()

    def finish(self, skills: SkillTable | None) -> None:
        """Write what is left to write; the skills of all cards are a facet too."""
        self._cards.close()
        self._names.write(self._paths.root)
        write_columns(self._facets.columns(skills.facet() if skills is not None else {}), self._paths.root / FACETS)
