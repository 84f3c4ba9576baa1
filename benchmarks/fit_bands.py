"""Fit the scales of scores and bands (ale_semantic/data/bands.json) on judged queries with and without an answer.

    python benchmarks/fit_bands.py --index INDEX QUERIES.jsonl ... [--foreign QUERIES.jsonl] [--similar SIMILAR.jsonl]
                                   [--write]

A logistic model a mode says from the evidence whether the catalogue answers the query; `behind` makes scores of the
cards that are not the best, by maximum likelihood over all cards of all queries (grade >= 1 is an answer). The weak
threshold is the score below which the best hits of `_WRONGLY_NONE` of the answerable queries lie. What is printed
beside the fit is cross-validated: 5 folds, 10 seeds, by query.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from sklearn.linear_model import LogisticRegression

from ale_semantic.bands import MULTILINGUAL, SIMILAR, Scale
from ale_semantic.engine import Engine
from ale_semantic.evaluation.judgments import JudgedQuery, load_judgments
from ale_semantic.evaluation.runs import condition_of
from ale_semantic.question import Page, Question
from ale_semantic.ranking import Ranking
from ale_semantic.types import Mode
from ale_semantic.understanding.reading import read_query

BANDS = Path(__file__).parent.parent / "ale_semantic" / "data" / "bands.json"
_WRONGLY_NONE = 0.04  # share of answerable queries that may be told "nothing fits"; the aim is at most 0.05
_STRONG = 0.75
_SIMILAR_WEAK, _SIMILAR_STRONG = 0.1, 0.5
_NO_LIMIT = 30.0  # relatedness is absolute: how far others lie behind the nearest says nothing
_USEFUL, _RELATED = 2, 1
_SEEDS, _FOLDS = 10, 5
# Which of best, late, overview, coverage a scale has evidence of.
_FEATURES = {
    "hybrid": (True, True, True, True),
    "dense": (True, True, True, False),
    "lexical": (False, False, False, True),
    MULTILINGUAL: (True, False, False, True),
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One judged query as it was ranked: the cards that pass its filter, and which of them are related or better."""

    ranking: Ranking
    fused: NDArray[np.float32]
    useful: NDArray[np.bool_]
    answerable: bool


def collect(engine: Engine, judged: Sequence[JudgedQuery], mode: Mode) -> list[Sample]:
    """Rank every judged query."""
    samples = []
    for query in judged:
        condition = condition_of(query.filters)
        named = engine.names.named(query.query)
        question = Question.of(query.query, Page(mode=mode), engine.facet_table, named, condition, condition)
        reading = read_query(query.query, condition, engine.software)
        question, ranking = engine.rank(question, reading)
        grades = np.array([query.relevant.get(card.task_id, 0) for card in engine.catalogue])
        keep = question.mask
        samples.append(Sample(ranking, ranking.fused[keep], grades[keep] >= _RELATED, query.answerable))
    return samples


def fit(samples: Sequence[Sample], uses: Sequence[bool]) -> Scale:
    """Fit one scale."""
    chosen = np.flatnonzero(uses)
    evidence = np.array([sample.ranking.evidence.features() for sample in samples])[:, chosen]
    answerable = np.array([sample.answerable for sample in samples])
    mean, spread = evidence.mean(axis=0), evidence.std(axis=0) + 1e-9
    model = LogisticRegression(C=10.0, class_weight="balanced").fit((evidence - mean) / spread, answerable)
    weights = np.zeros(4)
    weights[chosen] = model.coef_[0] / spread
    intercept = float(model.intercept_[0] - (weights[chosen] * mean).sum())
    rough = Scale(tuple(weights.tolist()), intercept, 1.0, 0.0, 1.0)
    gaps = np.concatenate([sample.ranking.fused.max() - sample.fused for sample in samples])
    logits = np.concatenate([np.full(len(one.fused), rough.query_logit(one.ranking.evidence)) for one in samples])
    useful = np.concatenate([sample.useful for sample in samples])
    behind = _behind(logits, gaps, useful)
    whole = Scale(rough.evidence, intercept, behind, 0.0, 1.0)
    best = np.sort([top_score(whole, sample) for sample in samples if sample.answerable])
    weak = float(best[int(_WRONGLY_NONE * len(best))])
    return Scale(rough.evidence, intercept, behind, weak, max(_STRONG, weak))


def _behind(logits: NDArray[np.float64], gaps: NDArray[np.float32], useful: NDArray[np.bool_]) -> float:
    """Return the loss a unit of gap that makes the cards' usefulness likeliest."""

    def surprise(behind: float) -> float:
        values = logits - behind * gaps
        return float(np.logaddexp(0, np.where(useful, -values, values)).sum())

    return float(minimize_scalar(surprise, bounds=(0.05, 5.0), method="bounded").x)


def top_score(scale: Scale, sample: Sample) -> float:
    """Return the score of the best hit that passes the filter."""
    gap = float(sample.ranking.fused.max() - sample.fused.max())
    return float(1 / (1 + np.exp(scale.behind * gap - scale.query_logit(sample.ranking.evidence))))


def cross_validated(samples: Sequence[Sample], uses: Sequence[bool]) -> dict[str, float]:
    """Return the shares of queries told "none", rightly and wrongly, and of strong best hits, over held-out folds."""
    counts = np.zeros(4)
    answerable = np.array([sample.answerable for sample in samples])
    for seed in range(_SEEDS):
        rng = np.random.default_rng(seed)
        folds = np.zeros(len(samples), dtype=int)
        for group in (answerable, ~answerable):
            rows = rng.permutation(np.flatnonzero(group))
            folds[rows] = np.arange(len(rows)) % _FOLDS
        for fold in range(_FOLDS):
            scale = fit([sample for sample, own in zip(samples, folds, strict=True) if own != fold], uses)
            for sample in (sample for sample, own in zip(samples, folds, strict=True) if own == fold):
                score = top_score(scale, sample)
                none, strong = score < scale.weak, score >= scale.strong
                counts += np.array([none, strong, 0, 0] if sample.answerable else [0, 0, none, strong])
    totals = _SEEDS * np.array([answerable.sum()] * 2 + [(~answerable).sum()] * 2)
    shares = counts / np.maximum(totals, 1)
    names = ("answerable_none", "answerable_strong", "unanswerable_none", "unanswerable_strong")
    return dict(zip(names, shares.round(4).tolist(), strict=True))


def similar_scale(engine: Engine, judged: Sequence[JudgedQuery]) -> Scale:
    """Fit the scale of searches by example, in which a card's relatedness is all there is."""
    fused, useful = [], []
    for query in judged:
        row = engine.catalogue.row(query.task)
        others = np.arange(len(engine.catalogue)) != row
        fused.append(engine.ranker.rank_similar([row], [], None).fused[others])
        grades = np.array([query.relevant.get(card.task_id, 0) for card in engine.catalogue])
        useful.append(grades[others] >= _USEFUL)
    model = LogisticRegression(C=10.0).fit(np.concatenate(fused)[:, None], np.concatenate(useful))
    slope = float(model.coef_[0][0])
    return Scale((slope, 0.0, 0.0, 0.0), float(model.intercept_[0]), slope, _SIMILAR_WEAK, _SIMILAR_STRONG, _NO_LIMIT)


def main() -> None:
    """Fit all scales and print what they are worth."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("queries", nargs="+", type=Path)
    parser.add_argument("--foreign", type=Path)
    parser.add_argument("--similar", type=Path)
    parser.add_argument("--index", type=Path)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    engine = Engine.open(given.index)
    judged = [query for path in given.queries for query in load_judgments(path)]
    stored = json.loads(BANDS.read_text(encoding="utf-8"))
    groups = {str(mode): collect(engine, judged, mode) for mode in Mode}
    if given.foreign is not None:
        foreign = collect(engine, load_judgments(given.foreign), Mode.HYBRID)
        groups[MULTILINGUAL] = [sample for sample in foreign if sample.ranking.scale == MULTILINGUAL]
    for name, samples in groups.items():
        scale = fit(samples, _FEATURES[name])
        shares = cross_validated(samples, _FEATURES[name])
        stored["scales"][name] = asdict(scale)
        stored.setdefault("figures", {})[name] = {"queries": len(samples), **shares}
        print(f"{name:13} {len(samples)} queries  {shares}\n{'':13} {scale}")
    if given.similar is not None:
        scale = similar_scale(engine, load_judgments(given.similar))
        stored["scales"][SIMILAR] = asdict(scale)
        print(f"{SIMILAR:13} {scale}")
    if given.write:
        BANDS.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
