"""How long `ale-semantic build` takes from process start when one card was edited: in turn with the bare script.

    python benchmarks/rebuild.py --cards path/to/agents-last-exam [--rounds 7] [--multilingual]

Builds an index of the cards, then in each round adds a sentence to the prompt of one card and builds again, each round
another card; and runs the bare search of `cold.py`, whose time tells how fast the machine's interpreter is. Prints the
medians as a table in Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from bare import model_folder, write_bare
from cold import HERE, QUERY, Run, median, program, run

from ale_semantic import Catalogue, Engine
from ale_semantic.cards import card_to_row
from ale_semantic.types import TaskCard

_STEP = 37  # from one edited card to the next: cards beside each other are often alike


def write_cards(cards: list[TaskCard], path: Path) -> None:
    """Write cards as JSONL."""
    lines = [json.dumps(card_to_row(card), ensure_ascii=False) for card in cards]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def measure(cards: list[TaskCard], rounds: int, options: list[str], work: Path) -> dict[str, Run]:
    """Return the medians of both processes and of a build with nothing changed."""
    environment = {**os.environ, "ALE_CACHE": str(work / "cache")}
    path, index = work / "cards.jsonl", work / "index"
    build = [*program(), "build", "--cards", str(path), "--index", str(index), *options]
    write_cards(cards, path)
    run(build, environment)
    arguments = (model_folder(), *write_bare(Engine.open(index), work))
    bare = [sys.executable, str(HERE / "bare_search.py"), *map(str, arguments), QUERY]
    changed, same, plain = [], [], []
    for number in range(rounds):
        row = number * _STEP % len(cards)
        cards[row] = replace(cards[row], prompt=f"{cards[row].prompt}\n\nThen note run {number} in the ledger.")
        write_cards(cards, path)
        changed.append(run(build, environment))
        same.append(run(build, environment))
        plain.append(run(bare, environment))
    return {"one card changed": median(changed), "nothing changed": median(same), "the bare search": median(plain)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cards", default="demo")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--multilingual", action="store_true", help="also the space for other languages")
    given = parser.parse_args()
    cards = list(Catalogue.load(given.cards).cards)
    options = [] if given.multilingual else ["--no-multilingual"]
    with tempfile.TemporaryDirectory() as folder:
        medians = measure(cards, given.rounds, options, Path(folder))
    print(f"{len(cards)} cards\n\n| process | wall, s | processor, s | peak memory, MB |\n|---|---:|---:|---:|")
    for name, found in medians.items():
        print(f"| {name} | {found.wall:.2f} | {found.processor:.2f} | {found.memory:.0f} |")


if __name__ == "__main__":
    main()
