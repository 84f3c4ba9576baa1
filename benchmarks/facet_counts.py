"""What it costs to count all facets of a large catalogue under a filter, with and without a query's matches.

    python benchmarks/facet_counts.py [--cards 100000] [--rounds 50]

The cards are those of `generated_cards.py`. Each time is the median in milliseconds of the processor, which other work
on the machine disturbs less, of counting all values of all fields that are counted, array fields included; `plain` is
the same by an inverted index and one `bincount` a field.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from generated_cards import generated_cards

from ale_semantic.cards import card_from_raw
from ale_semantic.facets import FacetTable
from ale_semantic.fields import RawCard
from ale_semantic.filters import parse

FILTERS = (  # 100, 73, 50, 30, 6 and 0.1 % of the cards pass
    "",
    "os = linux",
    "timeout <= 3600",
    "os = linux and gpu = no and tier = near-term",
    "domain = agronomy and gpu = true",
    "domain = biology and tier = last-exam and input_format = csv",
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cards", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=50)
    options = parser.parse_args()
    started = time.perf_counter()
    cards = (card_from_raw(RawCard(f"card {row}", raw)) for row, raw in enumerate(generated_cards(options.cards)))
    table = FacetTable.from_cards(cards)
    print(f"{options.cards} cards indexed in {time.perf_counter() - started:.0f} s")
    with tempfile.TemporaryDirectory() as folder:
        table.write(Path(folder))
        started = time.perf_counter()
        table = FacetTable.open(Path(folder), cards=options.cards)
        print(f"opened in {1000 * (time.perf_counter() - started):.1f} ms\n")
        matching = np.random.default_rng(0).random(options.cards) < 0.5
        pairs = plain_pairs(table)
        print("| filter | passing | mask, new | mask, kept | counts | with matches | plain |")
        print("|---|---:|---:|---:|---:|---:|---:|")
        for where in FILTERS:
            row(table, where, matching, pairs, options.rounds)


def row(
    table: FacetTable, where: str, matching: np.ndarray, pairs: list[tuple[np.ndarray, np.ndarray, int]], rounds: int
) -> None:
    """Measure and print one line of the table."""
    condition = parse(where)
    mask = table.mask(condition)

    def new_mask() -> object:
        table._masks.forget()
        return table.packed(condition)

    def new_counts(matching: np.ndarray | None = None) -> object:
        table._counted.forget()  # those of a filter that stays are kept
        return table.counts(condition=condition, matching=matching)

    def plain() -> object:
        return [np.bincount(codes[mask[rows]], minlength=size) for rows, codes, size in pairs]

    found = [
        median(new_mask, rounds),
        median(lambda: table.packed(condition), rounds),
        median(new_counts, rounds),
        median(lambda: new_counts(matching), rounds),
        median(plain, rounds),
    ]
    print(f"| {where or '-'} | {mask.mean():.2%} | " + " | ".join(f"{value:.2f}" for value in found) + " |")


def plain_pairs(table: FacetTable) -> list[tuple[np.ndarray, np.ndarray, int]]:
    """Return each counted field's pairs of card and value, and its number of values."""
    found = []
    for name in table.countable_fields:
        codes = table.columns[name].names.codes
        rows, values = table.columns[name].index.pairs(codes)
        found.append((rows, values - codes.start, len(codes)))
    return found


def median(step: Callable[[], object], rounds: int) -> float:
    """Return the median processor time of a step in milliseconds."""
    times = []
    for _ in range(rounds):
        started = time.process_time()
        step()
        times.append(1000 * (time.process_time() - started))
    return statistics.median(times)


if __name__ == "__main__":
    main()
