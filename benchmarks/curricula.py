"""How long each answer about curricula takes when warm, beside a search of the same index.

    python benchmarks/curricula.py --index INDEX [--rounds 3]

Prints medians on the clock and in processor seconds; no answer is kept between the rounds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from ale_semantic import Engine
from ale_semantic.curriculum import (
    LadderRequest,
    PathRequest,
    Pool,
    Quota,
    SplitRequest,
    SubsetRequest,
    coverage,
    duplicates,
    ladders,
    path,
    prerequisites,
    split,
    subset,
)
from ale_semantic.errors import LimitError

QUOTAS = (Quota("tier", "last-exam", 5, 6), Quota("domain", "*", 0, 3))


def main() -> None:
    """Measure each answer in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    engine = Engine.open(options.index)
    print("| answer | clock, s | processor, s |\n|---|---:|---:|")
    for name, work in answers(engine.catalogue.cards[0].task_id).items():
        clock, processor = measure(engine, work, options.rounds)
        print(f"| {name} | {clock:.2f} | {processor:.2f} |")


def answers(task_id: str) -> dict[str, Callable[[Engine], Any]]:
    """Return what is measured, by name."""
    return {
        "search": lambda e: e.search("reconcile supplier invoices"),
        "ladders": lambda e: ladders(e, LadderRequest()),
        "path to a topic": lambda e: path(e, PathRequest(goal="medical imaging")),
        "path within a domain": lambda e: path(e, PathRequest(pool=Pool(domains=("engineering",)))),
        "refused path": refused,
        "subset of 20": lambda e: subset(e, SubsetRequest(k=20)),
        "subset of 20 under quotas": lambda e: subset(e, SubsetRequest(k=20, quotas=QUOTAS)),
        "split": lambda e: split(e, SplitRequest()),
        "coverage with two topics": lambda e: coverage(e, topics=["tumour imaging", "contract law"]),
        "duplicates": duplicates,
        "prerequisites": lambda e: prerequisites(e, task_id),
    }


def refused(engine: Engine) -> None:
    """Ask for a path that can't be had."""
    try:
        path(engine, PathRequest(goal="protein structure", length=12, min_step=0.4))
    except LimitError:
        return
    raise SystemExit("the path was not refused")


def measure(engine: Engine, work: Callable[[Engine], Any], rounds: int) -> tuple[float, float]:
    """Return the medians on the clock and in processor seconds, after a round that warms up."""
    work(engine)
    clocks, processors = [], []
    for _ in range(rounds):
        clock, processor = time.perf_counter(), time.process_time()
        work(engine)
        clocks.append(time.perf_counter() - clock)
        processors.append(time.process_time() - processor)
    return median(clocks), median(processors)


if __name__ == "__main__":
    main()
