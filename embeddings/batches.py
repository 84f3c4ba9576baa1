"""Batches of texts of one length: no padding, and each vector the same whatever else is embedded with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from .tokens import TokenInput
from .vectors import TokenVectors, Vectors

# Runs token ids of shape (rows, length) through a model: unit rows (rows, dimension), states (rows, length, dimension).
Run = Callable[[NDArray[np.int64]], tuple[Vectors, Vectors]]

TOKENS = 1024  # in one batch: more would leave the processor's cache, fewer would pay for each call
LEAST_ROWS = 2  # a matrix of one row goes another way through the libraries, to slightly other numbers


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


def encode_in_batches(
    inputs: Sequence[TokenInput], dimension: int, run: Run, *, workers: int = 1
) -> tuple[Vectors, list[TokenVectors]]:
    """Return one unit row a text and each text's words in context.

    A single text goes alone: a query must not pay for a second one. Whoever embeds for keeps gives at least two.

    Args:
        inputs: the texts as the model takes them.
        dimension: of the vectors.
        run: the model.
        workers: how many batches run side by side.
    """
    vectors = np.zeros((len(inputs), dimension), dtype=np.float32)
    tokens: dict[int, TokenVectors] = {}

    def embed(places: list[int]) -> None:
        rows, states = run(np.array([inputs[place].ids for place in places], dtype=np.int64))
        for place, row, own in zip(places, rows, states, strict=True):
            vectors[place] = row
            tokens[place] = TokenVectors.of(inputs[place].ids, own, inputs[place].words)

    batches = [[0]] if len(inputs) == 1 else list(equal_length_batches([len(one.ids) for one in inputs]))
    if workers > 1 and len(batches) > 1:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(embed, reversed(batches)))  # the longest first, so that none is left alone at the end
    else:
        for batch in batches:
            embed(batch)
    return vectors, [tokens[place] for place in range(len(inputs))]
