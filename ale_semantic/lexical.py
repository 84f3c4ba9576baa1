"""The lexical leg: BM25 over weighted, stemmed fields of whole cards."""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ale_semantic.arrays import mapped
from ale_semantic.card_words import SHORTEST_SPELLED as SHORTEST_SPELLED
from ale_semantic.card_words import CardWords
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
K1, B = 1.5, 0.75  # how soon a term's repeats stop counting, and how much long cards are held back: the usual values
WeightedTerms = Sequence[tuple[str, float]]  # index terms of a query, each with how much it counts
_ARRAYS = ("data", "indices", "indptr")
_VOCABULARY = "vocabulary.json"


@dataclass(frozen=True, slots=True)
class LexicalIndex:
    """A BM25 weight for each (term, card), stored by term.

    `data[indptr[t]:indptr[t+1]]` are the weights of term t in the cards `indices[indptr[t]:indptr[t+1]]`.
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
        return np.sort(self.indices[int(self.indptr[position]) : int(self.indptr[position + 1])])


class LexicalBuilder:
    """Indexes cards that come one after the other: of each it keeps the numbers and counts of its terms alone."""

    def __init__(self) -> None:
        """Begin an index."""
        self._vocabulary: dict[str, int] = {}
        self._words: set[str] = set()
        self._terms, self._counts = array("i"), array("i")  # of all cards, each term once a card
        self._ends = array("q", [0])
        self._lengths = array("q")

    def add(self, card: CardWords) -> None:
        """Add the next card."""
        counts: dict[str, int] = {}
        length = 0
        for field, weight in FIELD_WEIGHTS.items():
            own = card.terms[field]
            length += weight * len(own)
            for term in own:
                counts[term] = counts.get(term, 0) + weight
        numbers = self._vocabulary
        self._terms.extend([numbers.setdefault(term, len(numbers)) for term in counts])
        self._counts.extend(counts.values())
        self._ends.append(len(self._terms))
        self._lengths.append(length)
        self._words.update(card.spelled)

    def finish(self) -> LexicalIndex:
        """Weigh all terms by BM25, as Lucene does (Kamphuis et al., ECIR 2020)."""
        terms, counts = np.frombuffer(self._terms, np.int32), np.frombuffer(self._counts, np.int32)
        lengths = np.array(self._lengths, dtype=np.float64)
        cards = np.repeat(np.arange(len(lengths), dtype=np.int32), np.diff(self._ends))
        holders = np.bincount(terms, minlength=len(self._vocabulary))
        idf = np.log(1 + (len(lengths) - holders + 0.5) / (holders + 0.5)).astype(np.float32)
        damped = K1 * (1 - B + B * lengths / max(float(lengths.sum()) / max(len(lengths), 1), 1e-9))
        weights = np.asarray(idf[terms] * (counts / (damped[cards] + counts)), dtype=np.float32)
        order = np.argsort(terms, kind="stable")  # by term, and of a term by card
        return LexicalIndex(
            vocabulary=self._vocabulary,
            data=weights[order],
            indices=cards[order],
            indptr=np.concatenate([[0], np.cumsum(holders)]).astype(np.int64),
            cards=len(lengths),
            words=sorted(self._words),
        )
