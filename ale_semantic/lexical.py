"""The lexical leg: BM25 over weighted, stemmed fields of whole cards."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ale_semantic.analysis import terms, words
from ale_semantic.arrays import mapped
from ale_semantic.texts import field_text
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
SHORTEST_SPELLED = 4  # letters; a shorter word has too many neighbours to be corrected
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
        """Index the cards in their order."""
        import bm25s

        corpus = [_weighted_terms(card) for card in cards]
        model = bm25s.BM25(method="lucene")
        model.index(corpus, show_progress=False, create_empty_token=False)
        scores = model.scores
        return cls(
            vocabulary=dict(model.vocab_dict),
            data=np.asarray(scores["data"], dtype=np.float32),
            indices=np.asarray(scores["indices"], dtype=np.int32),
            indptr=np.asarray(scores["indptr"], dtype=np.int64),
            cards=len(cards),
            words=_plain_words(cards),
        )

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


def _weighted_terms(card: TaskCard) -> list[str]:
    found: list[str] = []
    for field, weight in FIELD_WEIGHTS.items():
        found.extend(terms(field_text(card, field)) * weight)
    return found


def _plain_words(cards: Sequence[TaskCard]) -> list[str]:
    """Return all words of letters in the cards that are long enough to be mended, sorted."""
    found = {word for card in cards for field in FIELD_WEIGHTS for word in words(field_text(card, field))}
    return sorted(word for word in found if len(word) >= SHORTEST_SPELLED and word.isalpha() and word.isascii())
