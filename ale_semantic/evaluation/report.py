"""An evaluation as one record: means with intervals, kinds, queries, no-answer, comparison; as JSON or HTML."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ale_semantic.errors import JudgmentError, MissingExtraError
from ale_semantic.evaluation.judgments import JudgedQuery
from ale_semantic.evaluation.measures import (
    MEASURES,
    MRR,
    NDCG,
    RECALL,
    NoAnswer,
    QueryScores,
    by_kind,
    column,
    no_answer,
    score_queries,
)
from ale_semantic.evaluation.runs import Run, run_to_dict
from ale_semantic.evaluation.statistics import Difference, Interval, interval, paired

TITLES = {NDCG: "nDCG@10", MRR: "MRR", RECALL: "recall@10"}
TOTAL = "all"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a run is worth: `means` by kind (and `all`) and measure; `differences` where there is a baseline."""

    run: Run
    scores: tuple[QueryScores, ...]
    means: dict[str, dict[str, Interval]]
    none: NoAnswer
    median_ms: float | None
    baseline: str | None
    differences: dict[str, dict[str, Difference]]


def evaluate(run: Run, judged: Sequence[JudgedQuery], *, baseline: Run | None = None) -> Evaluation:
    """Measure a run, and compare it with a baseline over the same queries.

    Raises:
        JudgmentError: if no query has an answer, or the baseline answers none of the queries.
    """
    scores = score_queries(run, judged)
    if not scores:
        raise JudgmentError("no judged query has a relevant task: there is nothing to measure")
    groups = _groups(scores)
    differences: dict[str, dict[str, Difference]] = {}
    if baseline is not None:
        if not set(baseline.answers) & {query.qid for query in judged}:
            raise JudgmentError(f"the baseline {baseline.name!r} answers none of these queries")
        others = _groups(score_queries(baseline, judged))
        differences = {
            kind: {name: paired(column(rows, name), column(others[kind], name)) for name in MEASURES}
            for kind, rows in groups.items()
        }
    times = [answer.milliseconds for answer in run.answers.values() if answer.milliseconds is not None]
    return Evaluation(
        run=run,
        scores=tuple(scores),
        means={kind: {name: interval(column(rows, name)) for name in MEASURES} for kind, rows in groups.items()},
        none=no_answer(run, judged),
        median_ms=float(np.median(times)) if times else None,
        baseline=baseline.name if baseline is not None else None,
        differences=differences,
    )


def _groups(scores: Sequence[QueryScores]) -> dict[str, list[QueryScores]]:
    kinds = by_kind(scores)
    languages = {row.query.lang for row in scores}
    if len(languages) > 1:
        kinds |= {f"lang {lang}": [row for row in scores if row.query.lang == lang] for lang in sorted(languages)}
    return {TOTAL: list(scores), **{kind: rows for kind, rows in kinds.items() if kind != TOTAL}}


def evaluation_to_dict(evaluation: Evaluation) -> dict[str, Any]:
    """Return an evaluation as JSON values; it serves as the baseline of a later one."""
    return {
        "run": run_to_dict(evaluation.run),
        "means": {
            kind: {TITLES[name]: asdict(value) for name, value in row.items()} for kind, row in evaluation.means.items()
        },
        "no_answer": asdict(evaluation.none),
        "median_ms": evaluation.median_ms,
        "baseline": evaluation.baseline,
        "differences": {
            kind: {TITLES[name]: asdict(value) for name, value in row.items()}
            for kind, row in evaluation.differences.items()
        },
        "queries": [
            {
                "qid": row.query.qid,
                "kind": row.query.kind,
                "query": row.query.query or row.query.task,
                **{TITLES[name]: value for name, value in row.values.items()},
            }
            for row in evaluation.scores
        ],
    }


def evaluation_to_html(evaluation: Evaluation) -> str:
    """Return one self-contained HTML page with tables and plots.

    Raises:
        MissingExtraError: if matplotlib isn't installed.
    """
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>Retrieval evaluation</title>",
        f"<style>{_STYLE}</style></head><body><h1>{html.escape(evaluation.run.name)}</h1>",
        _means_table(evaluation),
        f"<p>{html.escape(no_answer_sentence(evaluation.none))}</p>",
        *(f"<img alt='{alt}' src='data:image/png;base64,{picture}'>" for alt, picture in _plots(evaluation)),
        _queries_table(evaluation),
        "</body></html>",
    ]
    return "\n".join(parts)


def no_answer_sentence(none: NoAnswer) -> str:
    """Say how well "nothing fits" was said."""
    return (
        f"'Nothing fits' was said to {none.rightly_none} of {none.unanswerable} queries without an answer, "
        f"and wrongly to {none.wrongly_none} of {none.answerable} with one."
    )


_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b}"
    "table{border-collapse:collapse;margin:1rem 0}td,th{padding:.25rem .75rem;border-bottom:1px solid #ddd;"
    "text-align:left}td.n{text-align:right;font-variant-numeric:tabular-nums}img{max-width:100%}"
)


def _means_table(evaluation: Evaluation) -> str:
    head = "".join(f"<th>{TITLES[name]}</th>" for name in MEASURES)
    rows = []
    for kind, means in evaluation.means.items():
        cells = "".join(
            f"<td class='n'>{means[name].mean:.3f} ({means[name].low:.3f} - {means[name].high:.3f})"
            f"{_difference(evaluation, kind, name)}</td>"
            for name in MEASURES
        )
        rows.append(f"<tr><td>{html.escape(kind)}</td>{cells}</tr>")
    against = f"<p>Differences are from {html.escape(evaluation.baseline)}.</p>" if evaluation.baseline else ""
    return f"{against}<table><tr><th>queries</th>{head}</tr>{''.join(rows)}</table>"


def _difference(evaluation: Evaluation, kind: str, name: str) -> str:
    if kind not in evaluation.differences:
        return ""
    found = evaluation.differences[kind][name]
    return f"<br>{found.mean:+.3f}, p = {found.p_value:.3f}"


def _queries_table(evaluation: Evaluation) -> str:
    head = "".join(f"<th>{TITLES[name]}</th>" for name in MEASURES)
    rows = "".join(
        f"<tr><td>{html.escape(row.query.qid)}</td><td>{html.escape(row.query.kind)}</td>"
        f"<td>{html.escape(row.query.query or row.query.task)}</td>"
        + "".join(f"<td class='n'>{row.values[name]:.3f}</td>" for name in MEASURES)
        + "</tr>"
        for row in sorted(evaluation.scores, key=lambda row: row.values[NDCG])
    )
    return f"<h2>Queries, worst first</h2><table><tr><th>id</th><th>kind</th><th>query</th>{head}</tr>{rows}</table>"


def _plots(evaluation: Evaluation) -> list[tuple[str, str]]:
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("the HTML report", "plots") from None
    kinds = list(evaluation.means)
    bars = Figure(figsize=(9, 0.45 * len(kinds) + 1.2), layout="constrained")
    axes = bars.subplots()
    means = [evaluation.means[kind][NDCG] for kind in kinds]
    errors = np.array([[m.mean - m.low for m in means], [m.high - m.mean for m in means]])
    axes.barh(kinds, [m.mean for m in means], xerr=np.maximum(errors, 0), color="#0072b2", ecolor="#1b1b1b", capsize=3)
    axes.invert_yaxis()
    axes.set(xlim=(0, 1), xlabel="nDCG@10 with 95 % interval")
    spread = Figure(figsize=(9, 3), layout="constrained")
    axes = spread.subplots()
    axes.hist(column(evaluation.scores, NDCG), bins=np.linspace(0, 1, 21).tolist(), color="#e69f00", edgecolor="white")
    axes.set(xlabel="nDCG@10", ylabel="queries")
    return [("nDCG at 10 by kind", _png(bars)), ("distribution of nDCG at 10", _png(spread))]


def _png(figure: Any) -> str:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=120)
    return base64.b64encode(stream.getvalue()).decode()
