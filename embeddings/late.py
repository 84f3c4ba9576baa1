"""Late interaction: the words of a query against the words of a card, each in its context.

A cheap form of ColBERT's MaxSim (Khattab & Zaharia, SIGIR 2020): all occurrences of one token in one card are
averaged into one vector, and vectors are projected to a few dimensions by the singular vectors of them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ale_semantic.arrays import mapped
from ale_semantic.products import ManyRows, product

from .vectors import TokenVectors, Vectors, unit

LEAST_IDF = 0.1  # word pieces that stand in nearly all cards are not looked up
_ARRAYS = ("starts", "tokens", "discount", "vectors", "projection", "idf")
_TOGETHER = 8_000_000  # similarities of tokens of many queries to rows that stand in memory at once


class TokenGroup(IntEnum):
    """Where in a card a token stands."""

    HEAD = 0  # title, summary, software, subdomain
    STEPS = 1  # what the agent must do


@dataclass(frozen=True, slots=True)
class CardTokens:
    """One card's tokens, each once a group: ids and groups, shape (t,), and their mean unit vectors, (t, dimension).

    `seen` are the ids of all tokens of all the card's passages, ascending; they give the document frequencies.
    """

    ids: NDArray[np.integer[Any]]
    groups: NDArray[np.integer[Any]]
    vectors: NDArray[np.floating[Any]]
    seen: NDArray[np.integer[Any]]

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
        return cls(pairs[1], pairs[0], unit(sums), every)

    @classmethod
    def joined(cls, groups: Sequence[CardTokens], seen: NDArray[np.integer[Any]]) -> CardTokens:
        """Return the tokens of several groups, given in the order of the groups, as those of one card."""
        ids, numbers, vectors = zip(*((one.ids, one.groups, one.vectors) for one in groups), strict=True)
        return cls(np.concatenate(ids), np.concatenate(numbers), np.concatenate(vectors), seen)

    def of_group(self, group: TokenGroup) -> CardTokens:
        """Return the tokens of one group alone, without those that were seen."""
        own = self.groups == group
        return CardTokens(self.ids[own], self.groups[own], self.vectors[own], np.zeros(0, np.int64))

    def halved(self) -> CardTokens:
        """Return the tokens with vectors rounded to half precision, in which they are kept."""
        return replace(self, vectors=self.vectors.astype(np.float16))


@dataclass(frozen=True, slots=True)
class _Groups:
    """Runs of rows of one card and one discount.

    `cards` are those that have a row, ascending; `begins` and `discount` the first row of each run and what its rows
    cost, shape (runs,); `firsts` the first run of each of the cards.
    """

    cards: NDArray[np.int64]
    begins: NDArray[np.int64]
    discount: NDArray[np.float32]
    firsts: NDArray[np.int64]

    @classmethod
    def of(cls, starts: NDArray[np.int64], discount: NDArray[np.float32]) -> _Groups:
        """Find the runs."""
        cards = np.flatnonzero(np.diff(starts))  # reduceat can't take a card without rows
        begun = np.zeros(len(discount), dtype=bool)  # a set of rows; np.union1d would import numpy.ma
        begun[1:] = discount[1:] != discount[:-1]
        begun[starts[cards]] = True
        begins = np.flatnonzero(begun)
        return cls(cards, begins, discount[begins], np.searchsorted(begins, starts[cards]))

    def nearest(self, similar: Vectors) -> Vectors:
        """Return, of the similarities to each row, shape (n, rows), the best of each card, discounted, (n, cards)."""
        # The rows of a run cost the same: what is the nearest of them is so before they are discounted, too.
        nearest = np.maximum.reduceat(similar, self.begins, axis=1) - self.discount
        return np.asarray(np.maximum.reduceat(nearest, self.firsts, axis=1), dtype=np.float32)


class _Prepared:
    """What the queries of one index share, made when it is asked for; two threads may make it twice."""

    __slots__ = ("_groups", "_rows")

    def __init__(self) -> None:
        self._groups: _Groups | None = None
        self._rows: ManyRows | None = None

    def groups(self, starts: NDArray[np.int64], discount: NDArray[np.float32]) -> _Groups:
        """Return the runs of the index's rows."""
        if self._groups is None:
            self._groups = _Groups.of(starts, discount)
        return self._groups

    def rows(self, rows: Vectors) -> ManyRows:
        """Return the index's rows, prepared for products."""
        if self._rows is None:
            self._rows = ManyRows(rows)
        return self._rows


@dataclass(frozen=True, slots=True)
class LateIndex:
    """The pooled tokens of all cards.

    `starts` is the first row of each card and the end, shape (cards + 1,); `tokens` the token ids and `discount`
    what their group costs, (rows,); `vectors` the projected unit vectors, (rows, directions); `projection` the map
    from the encoder's space, (dimension, directions); `idf` the weight of each token id, (largest id + 1,), counted
    over so many cards as `counted` says, those here if it is 0.
    """

    starts: NDArray[np.int64]
    tokens: NDArray[np.int32]
    discount: NDArray[np.float32]
    vectors: Vectors
    projection: Vectors
    idf: NDArray[np.float32]
    counted: int = 0
    prepared: _Prepared = field(default_factory=_Prepared, compare=False)

    @classmethod
    def open(cls, folder: Path) -> LateIndex:
        """Read an index that `write` wrote."""
        arrays: dict[str, Any] = {name: mapped(folder / f"{name}.npy") for name in _ARRAYS}
        return cls(**arrays)

    def subset(self, cards: NDArray[np.int64]) -> LateIndex:
        """Return the index of some cards alone, weights as they are."""
        rows, starts = spans(self.starts, cards)
        return replace(
            self,
            starts=starts,
            tokens=self.tokens[rows],
            discount=self.discount[rows],
            vectors=np.take(self.vectors, rows, axis=0),
            counted=self.counted or len(self.starts) - 1,
            prepared=_Prepared(),
        )

    def scores(self, query: TokenVectors) -> NDArray[np.float32]:
        """Return, for each card, the mean over the query's tokens, weighted by idf, of the nearest card token's cosine.

        Shape (cards,); zeros where the query has no token that tells cards apart.
        """
        weights, vectors = self._telling(query)
        scores = np.zeros(len(self.starts) - 1, dtype=np.float32)
        if len(weights):
            groups = self.prepared.groups(self.starts, self.discount)
            similar = self.prepared.rows(self.vectors).product(vectors)
            scores[groups.cards] = (weights @ groups.nearest(similar)) / weights.sum()
        return scores

    def scores_of_many(self, queries: Sequence[TokenVectors]) -> NDArray[np.float32]:
        """Return the scores of each of many queries, shape (queries, cards): the same to rounding, far sooner.

        They are made in few large steps, each of which may wait for other threads.
        """
        found = np.zeros((len(queries), len(self.starts) - 1), dtype=np.float32)
        most = max(1, _TOGETHER // max(1, len(self.vectors)))  # of their tokens at once
        ends = np.cumsum([0, *(len(query.ids) for query in queries)])
        first = 0
        while first < len(queries):
            stop = max(first + 1, int(np.searchsorted(ends, ends[first] + most, side="right")) - 1)
            self._score(queries[first:stop], found[first:stop])
            first = stop
        return found

    def _score(self, queries: Sequence[TokenVectors], found: Vectors) -> None:
        """Write the scores of some queries into their rows."""
        ids = np.concatenate([query.ids for query in queries])
        owners = np.repeat(np.arange(len(queries)), [len(query.ids) for query in queries])
        weights = self._weights(ids)
        telling = np.flatnonzero(weights >= LEAST_IDF)
        if not len(telling) or not len(self.vectors):
            return
        weights, owners = weights[telling], owners[telling]
        vectors = unit(np.concatenate([query.vectors for query in queries])[telling] @ self.projection)
        groups = self.prepared.groups(self.starts, self.discount)
        nearest = groups.nearest(vectors @ self.vectors.T)
        begins = np.flatnonzero(np.diff(owners, prepend=-1))  # of those queries that have a token that tells
        means = np.add.reduceat(weights[:, None] * nearest, begins) / np.add.reduceat(weights, begins)[:, None]
        found[np.ix_(owners[begins], groups.cards)] = means

    def _telling(self, query: TokenVectors) -> tuple[NDArray[np.float32], Vectors]:
        """Return the weights and projected unit vectors of a query's tokens that tell cards apart; none if no card."""
        weights = self._weights(query.ids)
        telling = (weights >= LEAST_IDF) & bool(len(self.vectors))
        return weights[telling], unit(product(query.vectors[telling], self.projection))

    def _weights(self, ids: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Return how much each token counts, shape (tokens,)."""
        unseen = float(np.log(((self.counted or len(self.starts) - 1) + 1) / 0.5))
        known = ids < len(self.idf)
        return np.where(known, self.idf[np.where(known, ids, 0)], unseen)


def spans(starts: NDArray[np.int64], cards: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows that belong to some cards, card by card, and where each card's begin and the last ones end."""
    counts = starts[cards + 1] - starts[cards]
    begins = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return np.arange(begins[-1]) + np.repeat(starts[cards] - begins[:-1], counts), begins
