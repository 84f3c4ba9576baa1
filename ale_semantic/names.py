"""Finding tasks by name: their ids, the last part of their ids, and their titles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ale_semantic.analysis import fold_text
from ale_semantic.types import TaskCard

BY_ID = "its id is the query"
BY_TITLE = "its title is the query"


@dataclass(frozen=True, slots=True)
class TaskNames:
    """Rows of cards by folded id and by folded title."""

    ids: Mapping[str, tuple[int, ...]]
    titles: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, cards: Sequence[TaskCard]) -> TaskNames:
        """Collect the names of all cards."""
        ids: dict[str, tuple[int, ...]] = {}
        titles: dict[str, tuple[int, ...]] = {}
        for row, card in enumerate(cards):
            folded = fold_text(card.task_id)
            for name in {folded, folded.rsplit("/", 1)[-1]}:
                ids[name] = (*ids.get(name, ()), row)
            title = fold_text(" ".join(card.title.split()))
            titles[title] = (*titles.get(title, ()), row)
        return cls(ids, titles)

    def named(self, query: str) -> dict[int, str]:
        """Return the rows of the cards whose id or title is the query, and which of the two it is."""
        wanted = fold_text(" ".join(query.split()))
        by_title = dict.fromkeys(self.titles.get(wanted, ()), BY_TITLE)
        return by_title | dict.fromkeys(self.ids.get(wanted, ()), BY_ID)
