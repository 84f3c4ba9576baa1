"""The command that measures retrieval: eval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ale_semantic.cli.options import (
    IndexOption,
    JsonOption,
    ModelOption,
    ModeOption,
    open_engine,
    show,
    show_json,
    warn,
)
from ale_semantic.errors import AleSemanticError
from ale_semantic.types import Mode

if TYPE_CHECKING:
    from rich.table import Table

    from ale_semantic.engine import Engine
    from ale_semantic.evaluation.report import Evaluation


def evaluate(
    qrels: Annotated[Path, typer.Argument(help="Judgments: JSON lines with 'query' and 'rel', or TREC qrels.")],
    similar: Annotated[Path | None, typer.Option(help="Judgments of similar tasks: JSON lines with 'task'.")] = None,
    topics: Annotated[Path | None, typer.Option(help="Query texts for TREC qrels: qid<TAB>query.")] = None,
    mode: ModeOption = Mode.HYBRID,
    baseline: Annotated[
        Path | None, typer.Option(help="Compare with an earlier --save or --json output, or a TREC run.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write an HTML report with plots.")] = None,
    save: Annotated[Path | None, typer.Option(help="Also write the JSON to this file.")] = None,
    queries: Annotated[bool, typer.Option("--queries", help="List every query.")] = False,
    index: IndexOption = None,
    model: ModelOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure retrieval on judged queries: nDCG@10, MRR, recall@10, and "nothing fits".

    Examples:

        ale-semantic eval queries.jsonl --similar similar.jsonl

        ale-semantic eval queries.jsonl --save before.json

        ale-semantic eval queries.jsonl --baseline before.json --html report.html
    """
    from ale_semantic.evaluation.report import evaluation_to_dict

    engine = open_engine(index, model=model)
    found = {"search": _evaluation(engine, qrels, topics, mode, baseline)}
    if similar is not None:
        found["similar"] = _evaluation(engine, similar, None, mode, None)
    main = evaluation_to_dict(found["search"])
    if similar is not None:
        main["similar"] = evaluation_to_dict(found["similar"])
    _write_files(found["search"], main, html, save)
    if as_json:
        show_json(main)
        return
    for name, evaluation in found.items():
        show(_table(name, evaluation))
    _print_rest(found["search"], queries)


def _evaluation(engine: Engine, path: Path, topics: Path | None, mode: Mode, baseline: Path | None) -> Evaluation:
    from ale_semantic.evaluation.judgments import load_judgments
    from ale_semantic.evaluation.report import evaluate
    from ale_semantic.evaluation.runs import load_run, run_engine

    judged = load_judgments(path, topics=topics)
    earlier = load_run(baseline) if baseline is not None else None
    return evaluate(run_engine(engine, judged, mode=mode), judged, baseline=earlier)


def _write_files(evaluation: Evaluation, content: object, html: Path | None, save: Path | None) -> None:
    import json

    from ale_semantic.evaluation.report import evaluation_to_html

    texts = {save: json.dumps(content, ensure_ascii=False)} if save else {}
    if html:
        texts[html] = evaluation_to_html(evaluation)
    for path, text in texts.items():
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as fault:
            raise AleSemanticError(f"{path}: can't be written: {fault.strerror}") from None
        warn(f"-> {path}")


def _table(name: str, evaluation: Evaluation) -> Table:
    from rich.table import Table

    from ale_semantic.evaluation.measures import MEASURES, by_kind
    from ale_semantic.evaluation.report import TITLES, TOTAL

    table = Table(title=f"{name}: {evaluation.run.name}", title_justify="left", box=None, padding=(0, 2))
    for title in ("queries", "n", *(TITLES[measure] for measure in MEASURES)):
        table.add_column(title, justify="left" if title == "queries" else "right", no_wrap=True)
    counts = {TOTAL: len(evaluation.scores)} | {kind: len(rows) for kind, rows in by_kind(evaluation.scores).items()}
    for kind, means in evaluation.means.items():
        cells = []
        for measure in MEASURES:
            cell = f"{means[measure].mean:.3f} {means[measure].low:.2f}-{means[measure].high:.2f}"
            if kind in evaluation.differences:
                change = evaluation.differences[kind][measure]
                cell += f"\n{change.mean:+.3f} p={change.p_value:.3f}"
            cells.append(cell)
        table.add_row(kind, str(counts.get(kind, "")), *cells)
    return table


def _print_rest(evaluation: Evaluation, queries: bool) -> None:
    from ale_semantic.evaluation.measures import NDCG
    from ale_semantic.evaluation.report import no_answer_sentence

    print(no_answer_sentence(evaluation.none))
    if evaluation.median_ms is not None:
        print(f"median {evaluation.median_ms:.1f} ms a query")
    if queries:
        for row in sorted(evaluation.scores, key=lambda row: row.values[NDCG]):
            print(f"{row.values[NDCG]:.3f}  {row.query.qid}  {row.query.kind:<15} {row.query.query or row.query.task}")
