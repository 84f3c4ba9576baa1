"""Late interaction: the words of a query against the words of a card, each in its context.

A cheap form of ColBERT's MaxSim (Khattab & Zaharia, SIGIR 2020): all occurrences of one token in one card are
averaged into one vector, and vectors are projected to a few dimensions by the singular vectors of them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ale_semantic.arrays import mapped

from .encoder import TokenVectors, Vectors

PROJECTED = 128  # dimensions; on the development queries they rank as well as all 384
STEPS_DISCOUNT = 0.05  # a word of the must-do steps counts this much less than one of title, summary and software
LEAST_IDF = 0.1  # word pieces that stand in nearly all cards are not looked up
_ARRAYS = ("starts", "tokens", "discount", "vectors", "projection", "idf")
_POOLED, _SEEN, _SEEN_STARTS = "pooled.npy", "seen.npy", "seen_starts.npy"


class TokenGroup(IntEnum):
    """Where in a card a token stands."""

    HEAD = 0  # title, summary, software, subdomain
    STEPS = 1  # what the agent must do


@dataclass(frozen=True, slots=True)
class CardTokens:
    """One card's tokens, each once a group: ids and groups, shape (t,), and their mean unit vectors, (t, dimension).

    `seen` are the ids of all tokens of all the card's passages, ascending; they give the document frequencies.
    """

    ids: NDArray[np.int64]
    groups: NDArray[np.int64]
    vectors: Vectors
    seen: NDArray[np.int64]

    @classmethod
    def pool(
        cls, occurrences: Sequence[tuple[TokenGroup, TokenVectors]], seen: Sequence[TokenVectors], dimension: int
    ) -> CardTokens:
        """Average all occurrences of each token in each group."""
        nothing = np.zeros(0, np.int64)
        every = np.unique(np.concatenate([nothing, *(one.ids for one in seen)]))
        if not sum(len(one.ids) for _, one in occurrences):
            return cls(nothing, nothing, np.zeros((0, dimension), np.float32), every)
        ids = np.concatenate([one.ids for _, one in occurrences])
        groups = np.concatenate([np.full(len(one.ids), int(group)) for group, one in occurrences])
        pairs, place = np.unique(np.stack([groups, ids]), axis=1, return_inverse=True)
        sums = np.zeros((pairs.shape[1], dimension), dtype=np.float32)
        np.add.at(sums, place.ravel(), np.concatenate([one.vectors for _, one in occurrences]))
        return cls(pairs[1], pairs[0], _unit(sums), every)


@dataclass(frozen=True, slots=True)
class LateIndex:
    """The pooled tokens of all cards.

    `starts` is the first row of each card and the end, shape (cards + 1,); `tokens` the token ids and `discount`
    what their group costs, (rows,); `vectors` the projected unit vectors, (rows, PROJECTED); `projection` the map
    from the encoder's space, (dimension, PROJECTED); `idf` the weight of each token id, (largest id + 1,).
    """

    starts: NDArray[np.int64]
    tokens: NDArray[np.int32]
    discount: NDArray[np.float32]
    vectors: Vectors
    projection: Vectors
    idf: NDArray[np.float32]

    @classmethod
    def build(cls, cards: Sequence[CardTokens], dimension: int) -> LateIndex:
        """Index the cards in their order."""
        starts = np.cumsum([0, *(len(card.ids) for card in cards)]).astype(np.int64)
        pooled = np.concatenate([np.zeros((0, dimension), np.float32), *(card.vectors for card in cards)])
        nothing = np.zeros(0, np.int64)
        tokens = np.concatenate([nothing, *(card.ids for card in cards)])
        groups = np.concatenate([nothing, *(card.groups for card in cards)])
        frequency = np.bincount(np.concatenate([nothing, *(card.seen for card in cards)]), minlength=1)
        projection = _leading_directions(pooled)
        return cls(
            starts=starts,
            tokens=tokens.astype(np.int32),
            discount=np.where(groups == TokenGroup.STEPS, STEPS_DISCOUNT, 0.0).astype(np.float32),
            vectors=_unit(pooled @ projection),
            projection=projection,
            idf=np.log((len(cards) + 1) / (frequency + 0.5)).astype(np.float32),
        )

    @classmethod
    def open(cls, folder: Path) -> LateIndex:
        """Read an index that `write` wrote."""
        arrays = {name: mapped(folder / f"{name}.npy") for name in _ARRAYS}
        return cls(**arrays)

    def write(self, folder: Path, cards: Sequence[CardTokens]) -> None:
        """Write the index, and what a rebuild needs to take unchanged cards: vectors before projection, tokens seen."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in _ARRAYS:
            np.save(folder / f"{name}.npy", getattr(self, name), allow_pickle=False)
        dimension = self.projection.shape[0]
        pooled = np.concatenate([np.zeros((0, dimension), np.float32), *(card.vectors for card in cards)])
        np.save(folder / _POOLED, pooled.astype(np.float16), allow_pickle=False)
        seen = np.concatenate([np.zeros(0, np.int64), *(card.seen for card in cards)])
        np.save(folder / _SEEN, seen.astype(np.int32), allow_pickle=False)
        np.save(folder / _SEEN_STARTS, np.cumsum([0, *(len(card.seen) for card in cards)]), allow_pickle=False)

    def pooled(self, folder: Path) -> list[CardTokens]:
        """Return the tokens of each card as `write` stored them, in half precision."""
        vectors, seen, seen_starts = (mapped(folder / name) for name in (_POOLED, _SEEN, _SEEN_STARTS))
        groups = np.where(self.discount > 0, int(TokenGroup.STEPS), int(TokenGroup.HEAD)).astype(np.int64)
        cards = []
        for card in range(len(self.starts) - 1):
            own = slice(int(self.starts[card]), int(self.starts[card + 1]))
            words = seen[seen_starts[card] : seen_starts[card + 1]].astype(np.int64)
            ids = np.asarray(self.tokens[own], np.int64)
            cards.append(CardTokens(ids, groups[own], vectors[own].astype(np.float32), words))
        return cards

    def scores(self, query: TokenVectors) -> NDArray[np.float32]:
        """Return, for each card, the mean over the query's tokens, weighted by idf, of the nearest card token's cosine.

        Shape (cards,); zeros where the query has no token that tells cards apart.
        """
        cards = len(self.starts) - 1
        scores = np.zeros(cards, dtype=np.float32)
        unseen = float(np.log((cards + 1) / 0.5))
        known = query.ids < len(self.idf)
        weights = np.where(known, self.idf[np.where(known, query.ids, 0)], unseen)
        telling = weights >= LEAST_IDF
        if not telling.any() or not len(self.vectors):
            return scores
        similar = _unit(query.vectors[telling] @ self.projection) @ self.vectors.T - self.discount
        filled = np.flatnonzero(np.diff(self.starts))  # reduceat can't take a card without tokens
        nearest = np.maximum.reduceat(similar, self.starts[filled], axis=1)
        scores[filled] = (weights[telling] @ nearest) / weights[telling].sum()
        return scores


def _leading_directions(vectors: Vectors) -> Vectors:
    """Return the leading right singular vectors of the rows, shape (dimension, PROJECTED or fewer)."""
    values, directions = np.linalg.eigh(vectors.T.astype(np.float64) @ vectors)
    leading = directions[:, np.argsort(-values, kind="stable")[:PROJECTED]]
    # A direction and its opposite are as good: the largest entry is made positive, so that builds agree.
    largest = leading[np.abs(leading).argmax(axis=0), np.arange(leading.shape[1])]
    return np.asarray(leading * np.where(largest < 0, -1.0, 1.0), dtype=np.float32)


def _unit(rows: Vectors) -> Vectors:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), 1e-9), dtype=np.float32)
