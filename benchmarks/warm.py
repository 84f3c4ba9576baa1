"""How long an open index takes to answer a query: against the encoder alone, and against the bare script's loop.

    python benchmarks/warm.py --index INDEX [--rounds 5] [--check]

Each query is encoded, searched and given to sentence-transformers + FAISS in turn, in an order that changes from query
to query, and its vector is forgotten in between. The counts of facets without a filter, or with one that stays, are
kept by the index; those of a filter that changes are not. Prints the medians and the 95th percentiles in milliseconds,
and the medians of the ratios to the encoder alone.
"""

from __future__ import annotations

import argparse
import itertools
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command line and the service do, before NumPy reads it

import numpy as np
from bare import model_folder, write_bare

from ale_semantic.embeddings.encoder import TextKind
from ale_semantic.engine import Engine

QUERIES = (
    "reconcile supplier invoices with bank statements",
    "segment a tumour on CT scans",
    "turn a floor plan into a 3D model",
    "which task needs a spreadsheet with pivot tables",
    "clean up survey answers",
    "estimate soil moisture from satellite images",
    "review a lease for unlawful clauses",
    "retopologise a scanned statue and unwrap it",
    "simulate the thermal load of a bridge",
    "mix the dialogue of a short film",
    "design primers for a PCR assay",
    "find why a web server answers slowly",
    "plan deliveries for a fleet of trucks",
    "typeset a bilingual brochure",
    "fit an orbit to observations",
    "train a classifier on unbalanced data",
    "forecast the demand for electricity",
    "compare two versions of a contract",
    "calibrate a camera",
    "draw a map of flood risk",
)
FORMS = ("{}", "{} on Linux", "please {}", "{}, step by step", "how to {}", "{} for a small team", "best way to {}")
ENCODER, SEARCH, WITH_FACETS, FILTERED, NEWLY_FILTERED, BARE = (
    "the encoder alone",
    "search, no facets",
    "search with facets",
    "search with facets and a filter",
    "search with facets and another filter each time",
    "sentence-transformers + FAISS",
)
MOST_TIMES = 1.5  # the encoder's own time


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5, help=f"at most {len(FORMS)}")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    engine = Engine.open(options.index)
    stages = make_stages(engine)
    for stage in stages.values():
        stage("warm up")
    times: dict[str, list[float]] = {name: [] for name in stages}
    queries = [form.format(query) for form in FORMS[: options.rounds] for query in QUERIES]
    names = list(stages)
    for place, query in enumerate(queries):
        turn = place % len(names)
        for name in names[turn:] + names[:turn]:
            engine.vectors.forget()
            started = time.perf_counter()
            stages[name](query)
            times[name].append(1000 * (time.perf_counter() - started))
    ratios = {name: statistics.median(np.array(found) / np.array(times[ENCODER])) for name, found in times.items()}
    print("| stage | median, ms | p95, ms | times the encoder |\n|---|---:|---:|---:|")
    for name, found in times.items():
        print(f"| {name} | {statistics.median(found):.1f} | {np.percentile(found, 95):.1f} | {ratios[name]:.2f} |")
    over = [
        f"{name}: {ratios[name]:.2f}"
        for name in (SEARCH, WITH_FACETS, FILTERED, NEWLY_FILTERED)
        if ratios[name] > MOST_TIMES
    ]
    if options.check and over:
        raise SystemExit(f"more than {MOST_TIMES} times what the encoder takes: {'; '.join(over)}")


def make_stages(engine: Engine) -> dict[str, Callable[[str], object]]:
    """Return what is timed, by name."""
    import faiss
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(model_folder()), device="cpu", local_files_only=True)
    with tempfile.TemporaryDirectory() as folder:
        index = faiss.read_index(str(write_bare(engine, Path(folder))[0]))
    encoder = engine.vectors.encoder
    hour = itertools.count(3600)
    return {
        ENCODER: lambda query: encoder.encode_tokens([query], TextKind.QUERY),
        SEARCH: lambda query: engine.search(query, facets=False),
        WITH_FACETS: lambda query: engine.search(query),
        FILTERED: lambda query: engine.search(query, where="os = linux and gpu = no"),
        NEWLY_FILTERED: lambda query: engine.search(query, where=f"os = linux and timeout <= {next(hour)}"),
        BARE: lambda query: index.search(model.encode([query], normalize_embeddings=True), 10),
    }


if __name__ == "__main__":
    main()
