"""Which texts go through a model together.

What an index keeps is embedded in batches of one length: no padding, and each vector the same to the last bit whatever
else is embedded with it. What an open index is asked, a few short texts that wait for their answer, goes in padded
batches of near lengths, where vectors are the same to about 1e-7.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from .tokens import TokenInput
from .vectors import TokenVectors, Vectors

# Runs token ids and their mask (1: a token, 0: padding), both of shape (rows, length), through a model: unit rows
# (rows, dimension), states (rows, length, dimension).
Run = Callable[[NDArray[np.int64], NDArray[np.int64]], tuple[Vectors, Vectors]]

TOKENS = 1024  # in one batch: more would leave the processor's cache, fewer would pay for each call
LEAST_ROWS = 2  # a matrix of one row goes another way through the libraries, to slightly other numbers
CALL_TOKENS = 10  # a call of the model costs about as much as so many tokens more in another call


def equal_length_batches(lengths: Sequence[int], *, tokens: int = TOKENS) -> Iterator[list[int]]:
    """Yield the places of texts, grouped by length, the shortest first.

    A text alone of its length stands in its batch twice (`LEAST_ROWS`); its results are then the same twice.

    Args:
        lengths: the number of tokens of each text.
        tokens: how many tokens a batch holds at most, if it has more than `LEAST_ROWS` texts.
    """
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    start = 0
    while start < len(order):
        length = lengths[order[start]]
        stop = start
        while stop < len(order) and lengths[order[stop]] == length:
            stop += 1
        yield from _split(order[start:stop], max(LEAST_ROWS, tokens // max(1, length)))
        start = stop


def _split(places: list[int], rows: int) -> Iterator[list[int]]:
    """Yield parts of as even a size as can be, none larger than `rows`."""
    parts = -(-len(places) // rows)
    for part in range(parts):
        own = places[part * len(places) // parts : (part + 1) * len(places) // parts]
        yield own if len(own) >= LEAST_ROWS else own * LEAST_ROWS


def near_length_batches(lengths: Sequence[int], *, tokens: int = TOKENS) -> Iterator[list[int]]:
    """Yield the places of texts, grouped so that padding costs less than the calls it saves, the shortest first.

    Args:
        lengths: the number of tokens of each text.
        tokens: how many tokens a batch of more than one text holds at most, padding included.
    """
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch:
            padding = len(batch) * (lengths[place] - lengths[batch[-1]])
            if padding > CALL_TOKENS or (len(batch) + 1) * lengths[place] > tokens:
                yield batch
                batch = []
        batch.append(place)
    if batch:
        yield batch


def encode_in_batches(
    inputs: Sequence[TokenInput], dimension: int, run: Run, *, padded: bool = False, workers: int = 1
) -> tuple[Vectors, list[TokenVectors]]:
    """Return one unit row a text and each text's words in context.

    A single text goes alone: a query must not pay for a second one. Whoever embeds for keeps gives at least two.

    Args:
        inputs: the texts as the model takes them.
        dimension: of the vectors.
        run: the model.
        padded: texts of near lengths go together, for the last bits of their vectors aren't kept.
        workers: how many batches run side by side.
    """
    vectors = np.zeros((len(inputs), dimension), dtype=np.float32)
    tokens: dict[int, TokenVectors] = {}

    def embed(places: list[int]) -> None:
        ids, mask = _padded([inputs[place].ids for place in places])
        rows, states = run(ids, mask)
        for place, row, own in zip(places, rows, states, strict=True):
            vectors[place] = row
            tokens[place] = TokenVectors.of(inputs[place].ids, own, inputs[place].words)

    lengths = [len(one.ids) for one in inputs]
    grouped = near_length_batches if padded else equal_length_batches
    batches = [[0]] if len(inputs) == 1 else list(grouped(lengths))
    if workers > 1 and len(batches) > 1:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(embed, reversed(batches)))  # the longest first, so that none is left alone at the end
    else:
        for batch in batches:
            embed(batch)
    return vectors, [tokens[place] for place in range(len(inputs))]


def _padded(rows: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return token ids as one array, zeros behind the shorter ones, and the mask of what isn't padding."""
    ids = np.zeros((len(rows), max(map(len, rows))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, own in enumerate(rows):
        ids[row, : len(own)] = own
        mask[row, : len(own)] = 1
    return ids, mask
