"""What each part of the ranking adds, what it costs, and how it does cross-validated.

    python benchmarks/quality.py --index INDEX QUERIES.jsonl [MORE.jsonl]

Prints three tables in Markdown: the recipe with one part taken out at a time (nDCG@10 over all answerable queries and
by kind, difference from the whole recipe); the time of each stage (median ms); and 5-fold cross-validation over ten
seeds, in which the training folds choose one of the recipes that differ from the shipped one in one constant, and the
held-out fold is scored by it.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np

from ale_semantic import components, ranking
from ale_semantic.components import Component
from ale_semantic.engine import Engine
from ale_semantic.evaluation.judgments import JudgedQuery, load_judgments
from ale_semantic.evaluation.measures import MRR, NDCG, by_kind, column, score_queries
from ale_semantic.evaluation.runs import run_engine
from ale_semantic.fusion import mean_of_best
from ale_semantic.spelling import Corrected, Speller

_SEEDS, _FOLDS = 10, 5
_FACTORS = (0.5, 1.5, 2.0)


def scores(engine: Engine, judged: Sequence[JudgedQuery]) -> dict[str, dict[str, float]]:
    """Return each answerable query's measures."""
    return {row.query.qid: dict(row.values) for row in score_queries(run_engine(engine, judged), judged)}


@contextmanager
def constant(name: str, value: Any) -> Iterator[None]:
    """Run with one constant of the recipe changed."""
    with patch.object(holder(name), name, value):
        yield


def holder(name: str) -> ModuleType:
    """Return the module that holds a constant of the recipe."""
    return ranking if hasattr(ranking, name) else components


def weights_without(component: Component, factor: float = 0.0) -> dict[Component, float]:
    """Return the weights with one multiplied."""
    return {name: weight * (factor if name is component else 1.0) for name, weight in components.WEIGHTS.items()}


def ablations() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield each part's name and how to take it out."""
    for component in Component:  # of skills, only the usual weight: what skill queries add is a line of its own
        yield f"- {component}", lambda component=component: constant("WEIGHTS", weights_without(component))
    yield "- skill queries weigh more", lambda: constant("SKILL_QUERY_WEIGHT", components.WEIGHTS[Component.SKILLS])
    yield "- spread over related cards", lambda: constant("SPREAD", 0.0)
    yield "- relations to named tasks", lambda: patch("ale_semantic.understanding.reading.find_relation", _no_relation)
    yield "- tier preference", lambda: constant("STEP_TIER", 0.0)
    yield "- spelling", lambda: patch.object(Speller, "_is_unknown", lambda self, word: False)


def _no_relation(query: str) -> None:
    return None


def ablation_table(engine: Engine, judged: Sequence[JudgedQuery]) -> None:
    """Print the recipe with one part taken out at a time."""
    rows = score_queries(run_engine(engine, judged), judged)
    kinds = list(by_kind(rows))
    print("| recipe | nDCG@10 | MRR | " + " | ".join(kinds) + " |\n|---|" + "--:|" * (len(kinds) + 2))
    whole = {kind: column(own, NDCG).mean() for kind, own in by_kind(rows).items()}
    cells = " | ".join(f"{whole[kind]:.3f}" for kind in kinds)
    print(f"| whole | {column(rows, NDCG).mean():.3f} | {column(rows, MRR).mean():.3f} | {cells} |")
    for name, changed in ablations():
        with changed():
            own = score_queries(run_engine(engine, judged), judged)
        found = {kind: column(part, NDCG).mean() - whole[kind] for kind, part in by_kind(own).items()}
        cells = " | ".join(f"{found[kind]:+.3f}" if abs(found[kind]) >= 0.0005 else "" for kind in kinds)
        print(f"| {name} | {column(own, NDCG).mean():.3f} | {column(own, MRR).mean():.3f} | {cells} |", flush=True)


def stage_table(engine: Engine, judged: Sequence[JudgedQuery]) -> None:
    """Print the median time of each stage of a warm query, in milliseconds."""
    ranker, texts = engine.ranker, [query.query for query in judged if query.query]
    corrected: list[Corrected] = [engine.speller.correct(text) for text in texts]
    vectors = engine.vectors.of([one.text for one in corrected])
    cosines = [ranker.space.backend.scores(one.vector[None, :], None)[0] for one in vectors]
    encoder = engine.vectors.encoder
    kind = type(encoder).__name__
    stages: dict[str, Callable[[int], Any]] = {
        f"encode ({kind})": lambda row: encoder.encode([f"{texts[row]} ."], _query_kind()),
        "spelling": lambda row: engine.speller.correct(texts[row]),
        "cosines of all passages": lambda row: ranker.space.backend.scores(vectors[row].vector[None, :], None),
        "mean of best passages": lambda row: mean_of_best(cosines[row], ranker.space.starts, 3),
        "late interaction": lambda row: ranker.space.late.scores(vectors[row].tokens),
        "BM25": lambda row: ranker.lexical.scores(corrected[row].terms),
        "whole search, facets counted": lambda row: engine.search(f"{texts[row]} !"),
        "whole search, query vector kept": lambda row: engine.search(f"{texts[row]} !"),
    }
    print("\n| stage | median ms |\n|---|--:|")
    for name, stage in stages.items():
        times = []
        for row in range(len(texts)):
            started = time.perf_counter()
            stage(row)
            times.append((time.perf_counter() - started) * 1000)
        print(f"| {name} | {statistics.median(times):.2f} |")


def _query_kind() -> Any:
    from ale_semantic.embeddings.encoder import TextKind

    return TextKind.QUERY


def variations() -> Iterator[Callable[[], Any]]:
    """Yield the shipped recipe, and each that differs from it in one constant."""
    yield lambda: constant("SPREAD", ranking.SPREAD)
    for component in Component:
        for factor in (0.0, *_FACTORS):
            yield lambda component=component, factor=factor: constant("WEIGHTS", weights_without(component, factor))
    for name in ("SPREAD", "SHARPNESS", "STEP_WISH", "STEP_TIER", "SKILL_QUERY_WEIGHT"):
        for factor in _FACTORS:
            yield lambda name=name, factor=factor: constant(name, factor * getattr(holder(name), name))


def cross_validation(engine: Engine, judged: Sequence[JudgedQuery], shown: Sequence[JudgedQuery]) -> None:
    """Print the cross-validated measures of the queries in `shown`."""
    runs = []
    for variation in variations():
        with variation():
            runs.append(scores(engine, judged))
    ids = list(runs[0])
    table = np.array([[[run[qid][name] for name in (NDCG, MRR)] for qid in ids] for run in runs])
    wanted = np.isin(ids, [query.qid for query in shown])
    means = []
    for seed in range(_SEEDS):
        folds = np.random.default_rng(seed).permutation(len(ids)) % _FOLDS
        held_out = np.zeros((len(ids), 2))
        for fold in range(_FOLDS):
            best = int(np.argmax(table[:, folds != fold, 0].mean(axis=1)))
            held_out[folds == fold] = table[best][folds == fold]
        means.append(held_out[wanted].mean(axis=0))
    found = np.array(means)
    ndcg = f"nDCG@10 mean {found[:, 0].mean():.4f}, worst {found[:, 0].min():.4f}"
    mrr = f"MRR mean {found[:, 1].mean():.4f}, worst {found[:, 1].min():.4f}"
    print(f"\n{len(runs)} recipes, {_SEEDS} seeds: {ndcg}; {mrr} ({int(wanted.sum())} queries)")


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("queries", nargs="+", type=Path)
    parser.add_argument("--index", type=Path)
    given = parser.parse_args()
    engine = Engine.open(given.index)
    sets = [load_judgments(path) for path in given.queries]
    for path, judged in zip(given.queries, sets, strict=True):
        print(f"\n## {path.name}\n")
        ablation_table(engine, judged)
    stage_table(engine, sets[0])
    every = [query for judged in sets for query in judged]
    for judged in sets:
        cross_validation(engine, every, judged)


if __name__ == "__main__":
    main()
