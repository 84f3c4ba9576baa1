"""Typing errors: a word that neither the catalogue nor the model knows is read as the nearest word of the catalogue."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ale_semantic.analysis import STOP_WORDS, query_words, stem
from ale_semantic.kept import Kept
from ale_semantic.lexical import SHORTEST_SPELLED, LexicalIndex, WeightedTerms
from ale_semantic.query_vectors import QueryVectors

LEAST_SIMILARITY = 0.75  # of the optimal-string-alignment distance; below it, words of other meaning come in
_CANDIDATES = 6
_KEPT = 4096  # unknown words
_TIED = 0.02  # candidates so close to the best are all taken
_ENDINGS = ("s", "es", "ed", "d", "ing", "ly", "er", "ers", "r", "rs", "est")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Corrected:
    """A query with its typing errors mended: its terms with weights, its text, and what was replaced by what.

    `unknown`: not one of its words is known to the catalogue, corrected or not, or to the model.
    """

    terms: WeightedTerms
    text: str
    replaced: tuple[tuple[str, str], ...] = ()
    unknown: bool = False


@dataclass(frozen=True, slots=True)
class Speller:
    """Corrects queries against one catalogue's words."""

    lexical: LexicalIndex
    vectors: QueryVectors
    _found: Kept[str, Sequence[tuple[str, float]]] = field(default_factory=lambda: Kept(_KEPT), compare=False)

    def correct(self, query: str) -> Corrected:
        """Return the query's terms and text with unknown words read as the nearest known ones.

        A replaced word's terms weigh as much as it resembles them; a word that resembles none stays as it is.
        """
        terms: list[tuple[str, float]] = []
        replaced: dict[str, str] = {}
        unknown = True
        for word in query_words(query):
            if word in STOP_WORDS:
                continue
            nearest = self._nearest(word) if self._is_unknown(word) else []
            unknown = unknown and not nearest and word.isascii() and not any(map(self.knows, _simple_forms(word)))
            if nearest:
                replaced[word] = nearest[0][0]
                terms.extend((stem(found), nearest[0][1]) for found, _ in nearest)
            else:
                terms.append((stem(word), 1.0))
        text = query
        if replaced:
            text = _WORD.sub(lambda match: replaced.get(match.group().casefold(), match.group()), query)
        return Corrected(terms, text, tuple(replaced.items()), unknown and bool(terms))

    def knows(self, word: str) -> bool:
        """Tell whether a lower-case word stands in the catalogue, or is one of the model's."""
        return stem(word) in self.lexical.vocabulary or self.vectors.knows(word)

    def _is_unknown(self, word: str) -> bool:
        if (
            len(word) < SHORTEST_SPELLED
            or not word.isalpha()
            or not word.isascii()
            or stem(word) in self.lexical.vocabulary
        ):
            return False
        return not any(map(self.vectors.knows, _simple_forms(word)))

    def _nearest(self, word: str) -> Sequence[tuple[str, float]]:
        """Return the nearest words of the catalogue, which begin alike but for two swapped letters."""
        found = self._found.get(word)
        if found is None:
            found = self._searched(word)
            self._found.keep(word, found)
        return found

    def _searched(self, word: str) -> Sequence[tuple[str, float]]:
        from rapidfuzz import distance, process

        found = process.extract(
            word,
            self.lexical.words,
            scorer=distance.OSA.normalized_similarity,
            score_cutoff=LEAST_SIMILARITY,
            limit=_CANDIDATES,
        )
        alike = [(other, score) for other, score, _ in found if other[0] == word[0] or other[:2] == word[1::-1]]
        return [(other, score) for other, score in alike if score > alike[0][1] - _TIED]


def _simple_forms(word: str) -> Iterator[str]:
    """Yield a word and what common English endings may have been put on."""
    yield word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            root = word.removesuffix(ending)
            yield root
            yield root + "e"
            if len(root) > 3 and root[-1] == root[-2]:
                yield root[:-1]
            if root.endswith("i"):
                yield root[:-1] + "y"
