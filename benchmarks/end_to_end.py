"""From made-up cards of text to answers, end to end: build, rebuild, cold and warm search, facets, filters, memory.

    python benchmarks/end_to_end.py --count 100000 --encoder static --folder /tmp/e2e   # all but the model
    python benchmarks/end_to_end.py --count 10000 --encoder minilm --folder /tmp/e2e-minilm

Each step runs in a process of its own, so that its memory and its start are its own. Prints JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from generated_cards import generated_cards, write_cards

FILTERS = (
    "",
    "os = linux",
    "domain = biology",
    "domain = biology and os = windows",
    "domain = music and gpu = true and tier = last-exam and input_format = wav",
)
_CACHE_MB = "20000"  # so that nothing of the first build is pruned before the rebuild
_QUERIES = 40
_EXACT_QUERIES = 24  # whose best ten are compared with those of exact ranking, which takes seconds a query
_CHANGED = 1234  # the card that is edited for the rebuild


def build(given: argparse.Namespace) -> dict[str, Any]:
    """Load the cards, spooled to the disk, and build."""
    from ale_semantic import Catalogue, build_index

    started = time.monotonic()
    spool = given.folder / "spool"
    spool.mkdir(exist_ok=True)
    catalogue = Catalogue.load(_cards(given.folder), spool=spool)
    read = time.monotonic() - started
    report = build_index(
        catalogue,
        given.folder / "index",
        model=given.encoder,
        encoder=_static(given),
        multilingual=False,
        progress=sys.stderr.isatty(),
    )
    return {
        "cards": report.cards,
        "passages": report.passages,
        "tokens": report.tokens_seen,
        "embedded": report.embedded,
        "unchanged": report.unchanged,
        "read_s": round(read, 1),
        "build_s": round(report.seconds, 1),
        "cpu_s": round(time.process_time(), 1),
        "peak_mb": _peak_mb(),
    }


def search(given: argparse.Namespace) -> dict[str, Any]:
    """Open the index and answer queries: the first one, and many under each filter."""
    started = time.monotonic()
    from ale_semantic import Engine

    engine = Engine.open(given.folder / "index", encoder=_static(given))
    opened = time.monotonic() - started
    queries = [card["title"] for card in generated_cards(_QUERIES, seed=77)]
    engine.search(queries[0])
    found: dict[str, Any] = {
        "open_s": round(opened, 3),
        "first_answer_s": round(time.monotonic() - started, 3),
        "first_mb": _peak_mb(),
        "filters": [],
    }
    for condition in FILTERS:
        total = engine.search("", where=condition, k=1).total
        bare = [_timed(partial(engine.search, query, where=condition, facets=False)) for query in queries]
        with_facets = [_timed(partial(engine.search, query, where=condition)) for query in queries]
        counts = [_timed(partial(engine.facets, where=condition)) for _ in range(5)]
        found["filters"].append(
            {
                "where": condition or "(none)",
                "passing": total,
                "share": round(total / len(engine.catalogue), 5),
                "p50_ms": _percentile(bare, 50),
                "p95_ms": _percentile(bare, 95),
                "with_facets_p50_ms": _percentile(with_facets, 50),
                "with_facets_p95_ms": _percentile(with_facets, 95),
                "facets_p50_ms": _percentile(counts, 50),
            }
        )
    found["peak_mb"] = _peak_mb()
    for row, recall in zip(found["filters"], _recall(engine, queries[:_EXACT_QUERIES]), strict=True):
        row["recall@10 against exact ranking"] = recall
    return found


def _recall(engine: Any, queries: list[str]) -> list[float | None]:
    """Return under each filter the mean share of the best ten of exact ranking found; None where none pass."""
    from exact_ranking import ExactRanking

    from ale_semantic.large import LargeRanker

    if not isinstance(engine.ranker, LargeRanker):
        return [1.0] * len(FILTERS)  # each card is scored
    exact, shares = ExactRanking(engine), []
    for query in queries:
        for condition, true in zip(FILTERS, exact.best(query, FILTERS), strict=True):
            hits = engine.search(query, where=condition, facets=False, understand=False).hits
            shares.append(len({hit.task_id for hit in hits} & set(true)) / len(true) if true else np.nan)
    means = np.array(shares).reshape(len(queries), len(FILTERS)).mean(axis=0)
    return [None if np.isnan(mean) else round(float(mean), 3) for mean in means]


def edit(given: argparse.Namespace) -> dict[str, Any]:
    """Change one card in the file."""
    path = _cards(given.folder)
    lines = path.read_text(encoding="utf-8").splitlines()
    row = _CHANGED % len(lines)
    card = json.loads(lines[row])
    lines[row] = json.dumps(card | {"summary": f"{card['summary']} Then post it to the mill."})
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {}


def _static(given: argparse.Namespace) -> Any:
    """Return the encoder that is no model; None where a model is asked for, which the index brings itself."""
    if given.encoder != "static":
        return None
    from static_encoder import StaticEncoder

    return StaticEncoder()


def _cards(folder: Path) -> Path:
    return folder / "cards.jsonl"


def _timed(run: Any) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def _percentile(seconds: list[float], share: int) -> float:
    return round(float(np.percentile(seconds, share)) * 1000, 1)


def _peak_mb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _in_own_process(step: str, given: argparse.Namespace) -> dict[str, Any]:
    command = [sys.executable, __file__, "--step", step, "--encoder", given.encoder, "--folder", str(given.folder)]
    environment = {**os.environ, "ALE_CACHE": str(given.folder / "cache"), "ALE_CACHE_MB": _CACHE_MB}
    started = time.monotonic()
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found = {**json.loads(done.stdout.splitlines()[-1]), "process_s": round(time.monotonic() - started, 2)}
    print(step, json.dumps(found), file=sys.stderr, flush=True)
    return found


def main() -> None:
    """Run all steps, or one of them."""
    steps = {"build": build, "search": search, "edit": edit}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--encoder", default="static", help="static, or a registered model")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--step", choices=steps, help="this step alone, in this process")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.step:
        print(json.dumps(steps[given.step](given)))
        return
    write_cards(_cards(given.folder), given.count)
    found: dict[str, Any] = {"first build": _in_own_process("build", given)}
    index = given.folder / "index"
    found["index_mb"] = sum(path.stat().st_size for path in index.rglob("*") if path.is_file()) // 1_000_000
    found["cards_mb"] = _cards(given.folder).stat().st_size // 1_000_000
    found["search"] = _in_own_process("search", given)
    found["unchanged build"] = _in_own_process("build", given)
    _in_own_process("edit", given)
    found["one card changed"] = _in_own_process("build", given)
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
