"""How alike tasks are: in meaning (vectors of the index) and in wording (shared runs of words)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ale_semantic.analysis import words
from ale_semantic.embeddings.vectors import Vectors, mean_vectors, unit
from ale_semantic.texts import field_text, sentences
from ale_semantic.types import Field, TaskCard

if TYPE_CHECKING:
    from ale_semantic.engine import Engine

Matrix = NDArray[np.float32]

WORDED_FIELDS = (Field.TITLE, Field.SUMMARY, Field.PROMPT, Field.MUST_DO)
_PIECE = 700  # characters: about 200 tokens, fewer than any model takes
RUN = 3  # words in a run: two runs alike are hardly ever chance, and a changed word breaks only three
CHANCE_QUANTILE = 0.975  # of pairs from different domains, one in forty is more alike than this


def card_similarity(engine: Engine) -> Matrix:
    """Return how alike each two cards are in meaning, shape (cards, cards), at most 1, symmetric.

    The mean of all cards is taken out first: it is what every task description shares ("read the input, write
    the output"), and it would make general cards look near to everything (Mu and Viswanath 2018).
    """
    vectors = _card_vectors(engine)
    centred = unit(vectors - vectors.mean(axis=0))
    return np.asarray(np.clip(centred @ centred.T, -1.0, 1.0), dtype=np.float32)


def text_similarity(engine: Engine, texts: Sequence[str]) -> Matrix:
    """Return how alike texts and cards are in meaning, on the scale of `card_similarity`, shape (texts, cards)."""
    vectors = _card_vectors(engine)
    mean = vectors.mean(axis=0)
    pieces = [list(_pieces(text)) for text in texts]
    made = engine.vectors.of([piece for each in pieces for piece in each])
    starts = np.cumsum([0, *map(len, pieces)])[:-1]
    sums = np.add.reduceat(np.stack([query.vector for query in made]), starts, axis=0)
    return np.asarray(np.clip(unit(unit(sums) - mean) @ unit(vectors - mean).T, -1.0, 1.0), dtype=np.float32)


def chance_level(similarity: Matrix, domains: Sequence[str]) -> float:
    """Return the similarity that only one in forty pairs from different domains exceeds."""
    first, second = np.triu_indices(len(similarity), k=1)
    if not len(first):
        return 0.0
    names = np.asarray(domains)
    apart = names[first] != names[second]
    values = similarity[first, second]
    return float(np.quantile(values[apart] if apart.any() else values, CHANCE_QUANTILE))


def closeness_of(similarity: Matrix, chance: float) -> Matrix:
    """Return similarity in excess of chance: 0 is no more alike than unrelated tasks, 1 is the same meaning."""
    return np.asarray((similarity - chance) / max(1.0 - chance, 1e-6), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class Wording:
    """The runs of words of all cards, weighted by rarity: what two texts share is told by their cosine."""

    columns: dict[tuple[str, ...], int]
    weights: NDArray[np.float32]
    rows: Any  # scipy.sparse.csr_array of shape (cards, runs), unit rows

    @classmethod
    def of(cls, cards: Sequence[TaskCard]) -> Wording:
        """Take the runs of the cards' texts."""
        counted = [Counter(_runs(worded_text(card))) for card in cards]
        frequency = Counter(run for counts in counted for run in counts)
        columns = {run: place for place, run in enumerate(frequency)}
        total = np.fromiter(frequency.values(), dtype=np.float32, count=len(frequency))
        weights = np.asarray(np.log((1 + len(cards)) / (1 + total)) + 1, dtype=np.float32)
        return cls(columns, weights, _matrix(counted, columns, weights))

    def between_cards(self) -> Matrix:
        """Return the share of wording that each two cards have in common, 0 to 1, shape (cards, cards)."""
        return np.asarray((self.rows @ self.rows.T).toarray(), dtype=np.float32).clip(0, 1)

    def with_texts(self, texts: Sequence[str]) -> Matrix:
        """Return the share of wording that texts and cards have in common, shape (texts, cards)."""
        counted = [Counter(_runs(text)) for text in texts]
        own = _matrix(counted, self.columns, self.weights)
        return np.asarray((own @ self.rows.T).toarray(), dtype=np.float32).clip(0, 1)


def worded_text(card: TaskCard) -> str:
    """Return the text of a card whose wording is compared."""
    return "\n".join(text for text in (field_text(card, field) for field in WORDED_FIELDS) if text)


def _runs(text: str) -> Iterator[tuple[str, ...]]:
    found = words(text)
    return zip(*(found[start:] for start in range(RUN)), strict=False)


def _matrix(
    counted: Sequence[Counter[tuple[str, ...]]], columns: dict[tuple[str, ...], int], weights: NDArray[np.float32]
) -> Any:
    """Return unit rows of log count times rarity; runs that no card has only lengthen a row."""
    from scipy.sparse import csr_array

    rarest = float(weights.max(initial=1.0))
    places, values, ends = [], [], [0]
    for counts in counted:
        known = [
            (columns[run], (1 + np.log(count)) * weights[columns[run]])
            for run, count in counts.items()
            if run in columns
        ]
        foreign = sum(((1 + np.log(count)) * rarest) ** 2 for run, count in counts.items() if run not in columns)
        length = np.sqrt(sum(value**2 for _, value in known) + foreign) or 1.0
        places += [place for place, _ in known]
        values += [value / length for _, value in known]
        ends.append(len(places))
    shape = (len(counted), max(1, len(columns)))
    return csr_array((np.asarray(values, dtype=np.float32), np.asarray(places, dtype=np.int64), ends), shape=shape)


def _pieces(text: str) -> Iterator[str]:
    """Yield stretches of whole sentences that fit into what a model takes at once."""
    start = end = 0
    for first, last in sentences(text):
        if last - start > _PIECE and end > start:
            yield text[start:end]
            start = first
        end = last
    yield text[start:end] or text


def _card_vectors(engine: Engine) -> Vectors:
    """Return the unit mean vector of each card's passages, shape (cards, dimension)."""
    space = engine.ranker.space
    return mean_vectors(space.backend.vectors, space.starts)
