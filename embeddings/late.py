"""Late interaction: the words of a query against the words of a card, each in its context.

A cheap form of ColBERT's MaxSim (Khattab & Zaharia, SIGIR 2020): all occurrences of one token in one card are
averaged into one vector, and vectors are projected to a few dimensions by the singular vectors of them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ale_semantic.arrays import mapped
from ale_semantic.products import ManyRows, product

from .arrayfile import GrowingArray
from .encoder import TokenVectors, Vectors

PROJECTED = 128  # dimensions; on the development queries they rank as well as all 384
STEPS_DISCOUNT = 0.05  # a word of the must-do steps counts this much less than one of title, summary and software
LEAST_IDF = 0.1  # word pieces that stand in nearly all cards are not looked up
_ARRAYS = ("starts", "tokens", "discount", "vectors", "projection", "idf")
_BLOCK = 65_536  # rows that are projected at once
_TOGETHER = 8_000_000  # similarities of tokens of many queries to rows that stand in memory at once
_SUMMED = 8192  # rows whose products are summed up at once


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
        return cls(pairs[1], pairs[0], _unit(sums), every)

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
    what their group costs, (rows,); `vectors` the projected unit vectors, (rows, PROJECTED); `projection` the map
    from the encoder's space, (dimension, PROJECTED); `idf` the weight of each token id, (largest id + 1,), counted over
    so many cards as `counted` says, those here if it is 0.
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
            vectors=self.vectors[rows],
            counted=self.counted or len(self.starts) - 1,
            prepared=_Prepared(),
        )

    def scores(self, query: TokenVectors) -> NDArray[np.float32]:
        """Return, for each card, the mean over the query's tokens, weighted by idf, of the nearest card token's cosine.

        Shape (cards,); zeros where the query has no token that tells cards apart.
        """
        weights, vectors = self._telling(query)
        if not len(weights):
            return self._nothing()
        return self._mean(weights, self.prepared.rows(self.vectors).product(vectors))

    def scores_of_many(self, queries: Sequence[TokenVectors]) -> Iterator[NDArray[np.float32]]:
        """Yield the scores of each of many queries: the same to rounding, a few times sooner."""
        telling = [self._telling(query) for query in queries]
        most = max(1, _TOGETHER // max(1, len(self.vectors)))  # of their tokens at once
        ends = np.cumsum([0, *(len(weights) for weights, _ in telling)])
        first = 0
        while first < len(queries):
            stop = max(first + 1, int(np.searchsorted(ends, ends[first] + most, side="right")) - 1)
            similar = np.concatenate([vectors for _, vectors in telling[first:stop]]) @ self.vectors.T
            for place in range(first, stop):
                weights, own = telling[place][0], slice(ends[place] - ends[first], ends[place + 1] - ends[first])
                yield self._mean(weights, similar[own]) if len(weights) else self._nothing()
            first = stop

    def _telling(self, query: TokenVectors) -> tuple[NDArray[np.float32], Vectors]:
        """Return the weights and projected unit vectors of a query's tokens that tell cards apart; none if no card."""
        unseen = float(np.log(((self.counted or len(self.starts) - 1) + 1) / 0.5))
        known = query.ids < len(self.idf)
        weights = np.where(known, self.idf[np.where(known, query.ids, 0)], unseen)
        telling = (weights >= LEAST_IDF) & bool(len(self.vectors))
        return weights[telling], _unit(product(query.vectors[telling], self.projection))

    def _mean(self, weights: NDArray[np.float32], similar: Vectors) -> NDArray[np.float32]:
        groups = self.prepared.groups(self.starts, self.discount)
        scores = self._nothing()
        scores[groups.cards] = (weights @ groups.nearest(similar)) / weights.sum()
        return scores

    def _nothing(self) -> NDArray[np.float32]:
        return np.zeros(len(self.starts) - 1, dtype=np.float32)


def spans(starts: NDArray[np.int64], cards: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows that belong to some cards, card by card, and where each card's begin and the last ones end."""
    counts = starts[cards + 1] - starts[cards]
    begins = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return np.arange(begins[-1]) + np.repeat(starts[cards] - begins[:-1], counts), begins


class LateWriter:
    """Writes the index of cards that come one after the other; their vectors never stand in memory together."""

    def __init__(self, folder: Path, pooled: Path, dimension: int) -> None:
        """Begin an index.

        Args:
            folder: where it is to stand.
            pooled: the file for the tokens' full vectors, in half precision; searches don't need it.
            dimension: of the encoder's space.
        """
        self._folder = folder
        self._pooled = GrowingArray(pooled, np.float16, dimension)
        self._tokens = GrowingArray(folder / "tokens.npy", np.int32)
        self._discount = GrowingArray(folder / "discount.npy", np.float32)
        self._starts = [0]
        self._frequency = np.zeros(1, dtype=np.int64)
        self._products = np.zeros((dimension, dimension), dtype=np.float64)
        self._waiting: list[NDArray[np.floating[Any]]] = []
        self._rows_waiting = 0

    def add(self, cards: Sequence[CardTokens]) -> None:
        """Add the next cards; their vectors are kept in half precision."""
        if not cards:
            return
        self._pooled.append(np.concatenate([card.vectors for card in cards], dtype=np.float16, casting="same_kind"))
        self._tokens.append(np.concatenate([card.ids for card in cards]))
        groups = np.concatenate([card.groups for card in cards])
        self._discount.append(np.where(groups == TokenGroup.STEPS, STEPS_DISCOUNT, 0.0))
        seen = np.bincount(np.concatenate([card.seen for card in cards]), minlength=len(self._frequency))
        seen[: len(self._frequency)] += self._frequency
        self._frequency = seen
        for card in cards:
            self._starts.append(self._starts[-1] + len(card.ids))
            self._waiting.append(card.vectors)
            self._rows_waiting += len(card.vectors)
            if self._rows_waiting >= _SUMMED:  # after the same cards, whatever comes together: sums depend on it
                self._sum_up()

    def close(self) -> None:
        """Close the files, also of a build that failed."""
        for file in (self._pooled, self._tokens, self._discount):
            file.close()

    def finish(self) -> LateIndex:
        """Project all vectors, write what is left to write, and open the index."""
        from threadpoolctl import threadpool_limits

        self._sum_up()
        projection = _leading_directions(self._products)
        pooled = self._pooled.finish()
        path = self._folder / "vectors.npy"
        with threadpool_limits(1), GrowingArray(path, np.float32, projection.shape[1]) as vectors:
            for start in range(0, len(pooled), _BLOCK):
                vectors.append(_unit(pooled[start : start + _BLOCK].astype(np.float32) @ projection))
        self._tokens.close()
        self._discount.close()
        cards = len(self._starts) - 1
        idf = np.log((cards + 1) / (self._frequency + 0.5)).astype(np.float32)
        for name, array in (("starts", np.array(self._starts, np.int64)), ("projection", projection), ("idf", idf)):
            np.save(self._folder / f"{name}.npy", array, allow_pickle=False)
        return LateIndex.open(self._folder)

    def _sum_up(self) -> None:
        from threadpoolctl import threadpool_limits

        if not self._waiting:
            return
        rows = np.concatenate(self._waiting, dtype=np.float32)  # half as long as in double precision, summed in that
        with threadpool_limits(1):  # see `_leading_directions`
            self._products += rows.T @ rows
        self._waiting.clear()
        self._rows_waiting = 0


def _leading_directions(products: NDArray[np.float64]) -> Vectors:
    """Return the leading right singular vectors of rows, shape (dimension, PROJECTED or fewer).

    Args:
        products: the rows' products with each other summed up, shape (dimension, dimension).
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # on a busy machine threads that wait for each other take longer than the work
        values, directions = np.linalg.eigh(products)
    leading = directions[:, np.argsort(-values, kind="stable")[:PROJECTED]]
    # A direction and its opposite are as good: the largest entry is made positive, so that builds agree.
    largest = leading[np.abs(leading).argmax(axis=0), np.arange(leading.shape[1])]
    return np.asarray(leading * np.where(largest < 0, -1.0, 1.0), dtype=np.float32)


def _unit(rows: Vectors) -> Vectors:
    lengths = np.sqrt(np.add.reduce(rows * rows, axis=-1, keepdims=True))  # `norm` takes twice as long for few rows
    return np.asarray(rows / np.maximum(lengths, 1e-9), dtype=np.float32)
