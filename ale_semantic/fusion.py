"""Score arithmetic shared by the legs: standard scores, best-few means, ranks. All vectorised over cards."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float32]
Mask = NDArray[np.bool_]
_FEW, _MANY = 50, 5000  # rows on a page, and cards, from which counting some ranks is faster than sorting all


def standardise(scores: Scores) -> Scores:
    """Return (x - mean) / standard deviation over all cards; zeros where all scores are equal.

    The mean is over the whole catalogue, not over the cards that pass a filter, so that a card's score for a
    query doesn't depend on the filter.

    Args:
        scores: shape (cards,), or (rows, cards) for several kinds of scores, each standardised by itself.
    """
    count = scores.shape[-1]  # sums and divisions, since `mean` takes several times as long as these for few cards
    centred = scores - np.add.reduce(scores, axis=-1, keepdims=True) / count
    spread = np.sqrt(np.add.reduce(centred * centred, axis=-1, keepdims=True) / count)
    return np.asarray(np.where(spread < 1e-9, 0, centred / np.maximum(spread, 1e-9)), dtype=np.float32)


def best_per_card(scores: Scores, starts: NDArray[np.int64]) -> tuple[Scores, NDArray[np.int64]]:
    """Return each card's best passage score and its row.

    Args:
        scores: passage scores, shape (passages,), ordered by card.
        starts: first passage of each card and the end, shape (cards + 1,); each card has a passage.
    """
    return _best_of_spans(scores, starts[:-1], np.diff(starts))


def best_and_mean(scores: Scores, starts: NDArray[np.int64], count: int) -> tuple[Scores, NDArray[np.int64], Scores]:
    """Return each card's best passage score, its row, and the mean of the `count` best (of all, if there are fewer).

    Args:
        scores: passage scores, shape (passages,), ordered by card.
        starts: first passage of each card and the end, shape (cards + 1,); each card has a passage.
        count: how many passages to average.
    """
    firsts, sizes = starts[:-1], np.diff(starts)
    best, rows = _best_of_spans(scores, firsts, sizes)
    left, total, taken = scores.copy(), best.copy(), rows
    for _ in range(1, count):  # a few maxima are ten times as fast as sorting
        left[taken] = -np.inf
        next_best, taken = _best_of_spans(left, firsts, sizes)
        total += np.where(np.isfinite(next_best), next_best, 0)
    return best, rows, np.asarray(total / np.minimum(sizes, count), dtype=np.float32)


def mean_of_best(scores: Scores, starts: NDArray[np.int64], count: int) -> Scores:
    """Return the mean of each card's `count` best passage scores, as `best_and_mean` does, shape (cards,)."""
    return best_and_mean(scores, starts, count)[2]


def _best_of_spans(
    scores: Scores, firsts: NDArray[np.int64], sizes: NDArray[np.int64]
) -> tuple[Scores, NDArray[np.int64]]:
    """Return the best score of each of some spans, which follow each other and of which none is empty, and its row."""
    best = np.maximum.reduceat(scores, firsts)
    hits = np.flatnonzero(scores == np.repeat(best, sizes))
    return best, hits[np.searchsorted(hits, firsts)]  # each span has a hit, so the next one is its own


def softmax(scores: Scores) -> Scores:
    """Return exp(x) / sum of exp(x)."""
    powers = np.exp(scores - scores.max())
    return np.asarray(powers / powers.sum(), dtype=np.float32)


def descending(scores: Scores, mask: Mask) -> NDArray[np.int64]:
    """Return the rows in the mask that have a score, best first, ties in the order of the rows (that of the ids)."""
    rows = np.flatnonzero(mask & (scores > -np.inf))
    return rows[np.argsort(-scores[rows], kind="stable")]


def ranks(scores: Scores, mask: Mask, page: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return each card's rank among those in the mask, from 1; 0 outside the mask; shape (cards,).

    Args:
        scores: the scores, shape (cards,).
        mask: the cards that are ranked.
        page: rows whose ranks alone are wanted, the others' may be 0: a few are counted faster than all are sorted.
    """
    found = np.zeros(len(scores), dtype=np.int64)
    if page is None or len(page) > _FEW or len(scores) < _MANY:
        order = descending(scores, mask)
        found[order] = np.arange(1, len(order) + 1)
        return found
    rows = np.flatnonzero(mask & (scores > -np.inf))
    values = scores[rows]
    for row in page[np.isin(page, rows)].tolist():
        before = np.count_nonzero(values > scores[row])
        found[row] = 1 + before + np.count_nonzero(values[: np.searchsorted(rows, row)] == scores[row])
    return found
