"""The lexical leg: BM25 over weighted, stemmed fields of whole cards."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ale_semantic.arrays import mapped
from ale_semantic.card_words import SHORTEST_SPELLED as SHORTEST_SPELLED
from ale_semantic.card_words import CardWords
from ale_semantic.quick_import import own_copy
from ale_semantic.types import Field, TaskCard

# How often a field's words count: a word in the title says more than one deep in the prompt.
FIELD_WEIGHTS: Mapping[Field, int] = {
    Field.TITLE: 3,
    Field.SUMMARY: 2,
    Field.SOFTWARE: 2,
    Field.SUBDOMAIN: 1,
    Field.MUST_DO: 1,
    Field.PROMPT: 1,
    Field.INPUTS: 1,
}
WeightedTerms = Sequence[tuple[str, float]]  # index terms of a query, each with how much it counts
_ARRAYS = ("data", "indices", "indptr")
_VOCABULARY = "vocabulary.json"


@dataclass(frozen=True, slots=True)
class LexicalIndex:
    """A BM25 weight for each (term, card), stored by term.

    `data[indptr[t]:indptr[t+1]]` are the weights of term t in the cards `indices[indptr[t]:indptr[t+1]]`, ascending.
    `words` are the catalogue's words before stemming, for spelling.
    """

    vocabulary: Mapping[str, int]
    data: NDArray[np.float32]
    indices: NDArray[np.int32]
    indptr: NDArray[np.int64]
    cards: int
    words: Sequence[str]

    @classmethod
    def build(cls, cards: Sequence[TaskCard]) -> LexicalIndex:
        """Index cards in memory, in their order."""
        builder = LexicalBuilder()
        for card in cards:
            builder.add(CardWords.of(card))
        return builder.finish()

    @classmethod
    def open(cls, folder: Path) -> LexicalIndex:
        """Read an index that `write` wrote."""
        arrays = {name: mapped(folder / f"{name}.npy") for name in _ARRAYS}
        stored = json.loads((folder / _VOCABULARY).read_text(encoding="utf-8"))
        return cls(
            vocabulary={term: position for position, term in enumerate(stored["terms"])},
            cards=stored["cards"],
            words=stored["words"],
            **arrays,
        )

    def write(self, folder: Path) -> None:
        """Write the index into a folder."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in _ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name), allow_pickle=False)
        ordered = sorted(self.vocabulary, key=self.vocabulary.__getitem__)
        (folder / _VOCABULARY).write_text(
            json.dumps({"cards": self.cards, "terms": ordered, "words": list(self.words)}, ensure_ascii=False),
            encoding="utf-8",
        )

    def scores(self, query: WeightedTerms) -> NDArray[np.float32]:
        """Return the BM25 score of each card, shape (cards,); 0 where no term matches."""
        total = np.zeros(self.cards, dtype=np.float32)
        for term, weight in query:
            position = self.vocabulary.get(term)
            if position is not None:
                span = slice(int(self.indptr[position]), int(self.indptr[position + 1]))
                total[self.indices[span]] += np.float32(weight) * self.data[span]
        return total

    def cards_with(self, term: str) -> NDArray[np.int32]:
        """Return the rows of the cards that hold a term, ascending."""
        position = self.vocabulary.get(term)
        if position is None:
            return np.zeros(0, dtype=np.int32)
        return self.indices[int(self.indptr[position]) : int(self.indptr[position + 1])]


class LexicalBuilder:
    """Indexes cards that come one after the other: of each it keeps the numbers of its terms alone."""

    def __init__(self) -> None:
        """Begin an index."""
        self._vocabulary: dict[str, int] = {}
        self._words: set[str] = set()
        self._corpus = _Corpus()

    def add(self, card: CardWords) -> None:
        """Add the next card."""
        known = self._vocabulary
        for field, weight in FIELD_WEIGHTS.items():
            self._corpus.terms.extend([known.setdefault(term, len(known)) for term in card.terms[field]] * weight)
        self._corpus.ends.append(len(self._corpus.terms))
        self._words.update(card.spelled)

    def finish(self) -> LexicalIndex:
        """Weigh all terms."""
        if not self._vocabulary:  # which bm25s can't take
            nothing = np.zeros(0, np.float32), np.zeros(0, np.int32), np.zeros(1, np.int64)
            return LexicalIndex({}, *nothing, len(self._corpus), words=[])
        model = _bm25s().BM25(method="lucene")
        found = model.build_index_from_ids(range(len(self._vocabulary)), self._corpus, show_progress=False)
        return LexicalIndex(
            vocabulary=self._vocabulary,
            data=np.asarray(found["data"], dtype=np.float32),
            indices=np.asarray(found["indices"], dtype=np.int32),
            indptr=np.asarray(found["indptr"], dtype=np.int64),
            cards=len(self._corpus),
            words=sorted(self._words),
        )


@cache
def _bm25s() -> Any:
    """Import bm25s without what it takes if it is there, and weighs without: a fifth of the time."""
    return own_copy("bm25s", leave_out=("scipy", "tqdm"))


class _Corpus:
    """The terms of all cards by number, 4 bytes each; a card's are made a list, as bm25s wants them, when it asks."""

    def __init__(self) -> None:
        self.terms, self.ends = array("i"), array("q")

    def __len__(self) -> int:
        return len(self.ends)

    def __iter__(self) -> Iterator[list[int]]:
        start = 0
        for end in self.ends:
            yield self.terms[start:end].tolist()
            start = end
