"""Search time, recall, facet counts, memory and build time by number of passages, against plain FAISS.

    python benchmarks/scale.py --scratch FOLDER [--sizes 1e3 1e5 1e6 1e7] [--json FILE] [--markdown FILE] [--plot FILE]

Each size runs in a process of its own. The vectors are synthetic (`synthetic.py`) and are written to the scratch folder
(16 GB for 10 million passages), and removed afterwards unless --keep is given.

Memory is that of yet another process, which does nothing but open the index and search (`scale_memory.py`).
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scale_memory import keep_questions, memory_of_search
from scale_report import markdown, plot
from synthetic import Corpus, card_masks, facet_cards, make_corpus, make_queries

from ale_semantic.embeddings.backend import INDEX, VECTORS, FaissBackend, write_index
from ale_semantic.facets import FacetTable

K = 10
QUERIES = 100
_BLOCK = 100_000  # rows compared with all queries at once
_MOST_IN_MEMORY = 2_000_000  # passages: beyond, the plain baseline doesn't fit beside the rest
_APPROXIMATE_AT = range(50_000, 200_000)  # passages where the usual approximate indexes are measured too

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]


def main() -> None:
    """Run all sizes, or one of them in this process."""
    options = _options()
    if options.one is not None:
        print(json.dumps(measure(options.one, options.scratch, options.queries)))
        return
    results = []
    for size in options.sizes:
        print(f"{int(float(size)):,} passages ...", file=sys.stderr, flush=True)
        command = [sys.executable, __file__, "--one", size, "--scratch", options.scratch]
        done = subprocess.run([*command, "--queries", str(options.queries)], stdout=subprocess.PIPE, check=True)
        # Now that no other process has the vectors mapped, memory is that of the one that opens them.
        memory = memory_of_search(_folder(options.scratch, int(float(size))))
        results.append(json.loads(done.stdout.splitlines()[-1]) | {"memory": memory})
        print(json.dumps(results[-1], indent=1), file=sys.stderr, flush=True)
        if not options.keep:
            shutil.rmtree(_folder(options.scratch, int(float(size))))
    if options.json is not None:
        options.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    report = markdown(results)
    print(report)
    if options.markdown is not None:
        options.markdown.write_text(report, encoding="utf-8")
    if options.plot is not None:
        plot(results, options.plot)


def measure(passages: int, scratch: Path, queries: int) -> dict[str, Any]:
    """Measure one size and return its figures; times in milliseconds unless they say otherwise."""
    folder = _folder(scratch, passages)
    started = time.perf_counter()
    corpus = make_corpus(passages, folder)
    generated = time.perf_counter() - started
    built = _build(folder, corpus)
    asked = make_queries(corpus, queries)
    masks = [(share, np.repeat(mask, np.diff(corpus.starts)), mask) for share, mask in card_masks(corpus)]
    exact = exact_best(corpus, asked, [mask for _, mask, _ in masks])
    table = FacetTable.from_cards(facet_cards(corpus))
    keep_questions(folder, asked, [mask for _, mask, _ in masks])
    backend = FaissBackend.open(folder)
    cases = []
    for place, (share, mask, cards) in enumerate(masks):
        given = None if share == 1.0 else mask
        found = _timed(asked, lambda query, given=given: backend.search(query, K, given))
        plan = found["answers"][0].plan
        cases.append(
            {
                "share": share,
                "passing": int(mask.sum()),
                "plan": str(plan.kind),
                "lists": plan.lists,
                "probed": plan.probed,
                "retries": sum(answer.plan.retries for answer in found["answers"]),
                "p50": found["p50"],
                "p95": found["p95"],
                "cpu": found["cpu"],
                "recall": _recall([answer.rows[0] for answer in found["answers"]], exact[place]),
                "facets": _facet_time(table, cards),
            }
        )
    figures: dict[str, Any] = {
        "passages": len(corpus.vectors),
        "cards": corpus.cards,
        "queries": queries,
        "generate_s": generated,
        **built,
        "index_mb": (folder / INDEX).stat().st_size / 1e6,
        "vectors_mb": (folder / VECTORS).stat().st_size / 1e6,
        "cases": cases,
    }
    if passages <= _MOST_IN_MEMORY:
        figures["baselines"] = baselines(corpus, asked, masks, exact)
    return figures


def _build(folder: Path, corpus: Corpus) -> dict[str, float]:
    """Write the index, and return the seconds on the clock and of the processor; those of then if it is there."""
    record = folder / "built.json"
    if not (folder / INDEX).exists():
        clock, processor = time.perf_counter(), time.process_time()
        write_index(folder, corpus.vectors)
        times = {"build_s": time.perf_counter() - clock, "build_cpu_s": time.process_time() - processor}
        record.write_text(json.dumps(times) + "\n", encoding="utf-8")
    return dict(json.loads(record.read_text(encoding="utf-8")))


def exact_best(corpus: Corpus, queries: NDArray[np.float32], masks: list[Mask]) -> list[list[Rows]]:
    """Return the true best rows of each query under each mask, by one pass over all vectors."""
    best = [[(np.zeros(0, np.float32), np.zeros(0, np.int64)) for _ in queries] for _ in masks]
    for start in range(0, len(corpus.vectors), _BLOCK):
        cosines = queries @ corpus.vectors[start : start + _BLOCK].T
        for mask, kept in zip(masks, best, strict=True):
            rows = np.flatnonzero(mask[start : start + _BLOCK])
            for place, (old, old_rows) in enumerate(kept):
                values = np.concatenate([old, cosines[place, rows]])
                where = np.concatenate([old_rows, rows + start])
                order = np.argsort(-values, kind="stable")[:K] if len(values) < 50 else _top(values)
                kept[place] = (values[order], where[order])
    return [[rows for _, rows in kept] for kept in best]


def _top(values: NDArray[np.float32]) -> Rows:
    near = np.argpartition(-values, K)[:K]
    return np.asarray(near[np.argsort(-values[near], kind="stable")], dtype=np.int64)


def baselines(
    corpus: Corpus, queries: NDArray[np.float32], masks: list[tuple[float, Mask, Mask]], exact: list[list[Rows]]
) -> list[dict[str, Any]]:
    """Measure plain FAISS indexes in memory with the filter as a bitmap; the approximate ones as they are."""
    import faiss

    dimension = corpus.vectors.shape[1]
    makers: dict[str, Callable[[], Any]] = {"flat": lambda: faiss.IndexFlatIP(dimension)}
    if len(corpus.vectors) in _APPROXIMATE_AT:
        makers["HNSW, ef 256"] = lambda: faiss.IndexHNSWFlat(dimension, 32, faiss.METRIC_INNER_PRODUCT)
        makers["IVF, 16 of 316 lists"] = lambda: faiss.index_factory(
            dimension, "IVF316,Flat", faiss.METRIC_INNER_PRODUCT
        )
    figures = []
    for name, make in makers.items():
        index = make()
        started = time.perf_counter()
        index.train(np.ascontiguousarray(corpus.vectors[:: max(1, len(corpus.vectors) // 50_000)]))
        index.add(np.ascontiguousarray(corpus.vectors))
        built = time.perf_counter() - started
        for place, (share, mask, _) in enumerate(masks):
            found = _timed(queries, lambda query, index=index, mask=mask: _plain_search(faiss, index, query, mask))
            short = sum(int((rows < 0).any()) for rows in found["answers"]) / len(queries)
            recall = _recall(found["answers"], exact[place])
            case = {"index": name, "share": share, "p50": found["p50"], "p95": found["p95"]}
            figures.append({**case, "cpu": found["cpu"], "recall": recall, "short": short, "build_s": built})
    return figures


def _plain_search(faiss: Any, index: Any, query: NDArray[np.float32], mask: Mask) -> Rows:
    bits = np.packbits(mask, bitorder="little")
    selector = None if mask.all() else faiss.IDSelectorBitmap(bits)
    if isinstance(index, faiss.IndexHNSW):
        parameters = faiss.SearchParametersHNSW(sel=selector, efSearch=256)
    elif isinstance(index, faiss.IndexIVF):
        parameters = faiss.SearchParametersIVF(sel=selector, nprobe=16)
    else:
        parameters = faiss.SearchParameters(sel=selector)
    rows: Rows = index.search(query, K, params=parameters)[1][0]
    return rows


def _timed(queries: NDArray[np.float32], search: Callable[[NDArray[np.float32]], Any]) -> dict[str, Any]:
    for query in queries[:5]:
        search(query[None, :])
    times, processor, answers = [], [], []
    for query in queries:
        started, used = time.perf_counter(), time.process_time()
        answers.append(search(query[None, :]))
        times.append((time.perf_counter() - started) * 1000)
        processor.append((time.process_time() - used) * 1000)
    median, high = (float(np.percentile(times, part)) for part in (50, 95))
    return {"p50": median, "p95": high, "cpu": float(np.median(processor)), "answers": answers}


def _recall(found: list[Rows], exact: list[Rows]) -> float:
    shares = [
        len(set(rows.tolist()) & set(true.tolist())) / len(true)
        for rows, true in zip(found, exact, strict=True)
        if len(true)
    ]
    return float(np.mean(shares)) if shares else 1.0


def _facet_time(table: FacetTable, mask: Mask) -> float:
    times = []
    for _ in range(10):
        started = time.perf_counter()
        table.counts(matching=mask)
        times.append((time.perf_counter() - started) * 1000)
    return float(np.median(times))


def _folder(scratch: Path, passages: int) -> Path:
    return scratch / f"passages-{passages}"


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scratch", type=Path, required=True, help="folder for the synthetic vectors")
    parser.add_argument("--sizes", nargs="+", default=["1e3", "1e5", "1e6"], help="numbers of passages")
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--markdown", type=Path, help="write the tables here")
    parser.add_argument("--plot", type=Path, help="draw the growth with size here (.svg)")
    parser.add_argument("--keep", action="store_true", help="keep the vectors for another run")
    parser.add_argument("--one", type=lambda text: int(float(text)), help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
