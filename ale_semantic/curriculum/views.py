"""Results as readable text for the terminal. Card text goes through `Text`, never through markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ale_semantic.curriculum.checks import CheckResult
from ale_semantic.curriculum.coverage import CoverageResult
from ale_semantic.curriculum.diffs import CatalogueDiff
from ale_semantic.curriculum.duplicates import DuplicateReport, LeakReport
from ale_semantic.curriculum.ladders import LadderResult
from ale_semantic.curriculum.path_request import PathResult, Step
from ale_semantic.curriculum.prerequisites import PrerequisiteResult, Trainer
from ale_semantic.curriculum.splits import SplitResult
from ale_semantic.curriculum.subsets import SubsetResult
from ale_semantic.render import BAND_STYLES, shorten

_SHARED_CHARACTERS = 160
_FEW = 8


def path_view(result: PathResult) -> RenderableType:
    """Return a path, a step on two lines."""
    head = Text(f"{len(result.steps)} steps, mean closeness {result.score:.2f} (0 is chance level).", style="green")
    return Group(*_notices(result.notices), head, *map(_step, range(1, len(result.steps) + 1), result.steps))


def _step(place: int, step: Step) -> RenderableType:
    line = Text(f"{place:>3}. {step.task.task_id}", style="bold")
    near = "" if step.closeness is None else f"  closeness {step.closeness:.2f}"
    line.append(f"  {step.tier or 'no tier'}{near}", style="cyan")
    return Group(line, Text(f"     {step.task.title}"), Text(f"     {step.reason}", style="dim"))


def ladders_view(result: LadderResult) -> RenderableType:
    """Return ladders, each with its rungs from easy to hard."""
    parts: list[RenderableType] = list(_notices(result.notices))
    if result.request.task:
        parts.append(
            Text(f"Next rung: {result.next_rung or '-'}; rung before: {result.previous_rung or '-'}", style="green")
        )
    for ladder in result.ladders:
        parts.append(Text(f"\ncloseness {ladder.strength:.2f}", style="cyan"))
        parts += [_step(place, rung) for place, rung in enumerate(ladder.rungs, start=1)]
        parts += [Text(f"     beside: {sibling.task.task_id}", style="dim") for sibling in ladder.siblings]
    return Group(*parts)


def subset_view(result: SubsetResult) -> RenderableType:
    """Return a choice with what each task adds, and the gaps."""
    times = f", {result.value / result.random:.2f} times a random choice" if result.random else ""
    picks: list[RenderableType] = []
    for place, pick in enumerate(result.picks, start=1):
        line = Text(f"{place:>3}. {pick.task.task_id}", style="bold")
        line.append(f"  {', '.join(pick.task.tiers) or 'no tier'}", style="cyan")
        why = f"     adds {pick.gain:.2f}, stands for {pick.represents}; {pick.reason}"
        picks += [line, Text(why, style="dim")]
    gaps = [f"{each.field}: {_few(each.values)}" for each in result.missing if each.values]
    lines = [
        f"{result.uncovered_total} tasks are near to none of them: {_few([t.task.task_id for t in result.uncovered])}"
    ]
    lines += [f"not covered, {gap}" for gap in gaps]
    return Group(
        *_notices(result.notices),
        Text(f"Coverage {result.coverage:.0%}{times}.", style="green"),
        *picks,
        *(Text(line, style="yellow") for line in lines if result.uncovered_total or gaps),
    )


def split_view(result: SplitResult) -> RenderableType:
    """Return a split: sizes, balance, groups kept together, the nearest pairs across."""
    table = _table("field", "value", "train", "test")
    for each in result.strata:
        table.add_row(*map(Text, (each.field, each.value, str(each.train), str(each.test))))
    together = [Text(f"kept together: {', '.join(group)}", style="dim") for group in result.together]
    nearest = [
        Text(f"nearest across: {pair.train} | {pair.test}  {_evidence(pair.closeness, pair.wording)}", style="dim")
        for pair in result.nearest
    ]
    head = Text(f"{len(result.train)} tasks to train, {len(result.test)} to test.", style="green")
    tests = [Text(f"  test: {task.task_id}") for task in result.test]
    return Group(head, table, *tests, *together, *nearest)


def coverage_view(result: CoverageResult) -> RenderableType:
    """Return the counts by domain and tier, and the topics."""
    cells = [cell for cell in result.cells if cell.skill is None]
    tiers = list(dict.fromkeys(cell.tier for cell in cells))
    counts = {(cell.domain, cell.tier): cell.tasks for cell in cells}
    table = _table("domain", *tiers)
    for domain in dict.fromkeys(cell.domain for cell in cells):
        table.add_row(Text(domain), *(Text(str(counts.get((domain, tier), "-"))) for tier in tiers))
    parts: list[RenderableType] = [*_notices(result.notices), Text(f"{result.tasks} tasks.", style="green"), table]
    if result.rare_skills:
        parts.append(Text(f"skills of at most one task: {_few([cell.skill or '' for cell in result.rare_skills])}"))
    if result.topics:
        topics = _table("topic", "covered", "best task")
        for topic in result.topics:
            best = topic.best.task_id if topic.best else "-"
            topics.add_row(Text(topic.topic), Text(str(topic.band), style=BAND_STYLES[topic.band]), Text(best))
        parts.append(topics)
    return Group(*parts)


def duplicates_view(result: DuplicateReport) -> RenderableType:
    """Return near-duplicate pairs with their evidence."""
    head = Text(f"{len(result.pairs)} of {result.compared} pairs are listed.", style="green")
    parts: list[RenderableType] = [head]
    for pair in result.pairs:
        line = Text(f"\n{pair.first.task_id} | {pair.second.task_id}", style="bold")
        line.append(f"  {pair.band}  {_evidence(pair.closeness, pair.wording)}", style=BAND_STYLES[pair.band])
        parts += [line, *_shared(pair.shared)]
    return Group(*parts)


def leaks_view(result: LeakReport) -> RenderableType:
    """Return each own task with its nearest one."""
    style = "red" if result.leaks else "green"
    parts: list[RenderableType] = [Text(f"{result.leaks} of {len(result.tasks)} tasks are near twins.", style=style)]
    for leak in result.tasks:
        line = Text(f"\n{leak.own} -> {leak.nearest.task_id}", style="bold")
        line.append(f"  {leak.band}  {_evidence(leak.closeness, leak.wording)}", style=BAND_STYLES[leak.band])
        parts += [line, *_shared(leak.shared)]
    return Group(*parts)


def prerequisites_view(result: PrerequisiteResult) -> RenderableType:
    """Return what a task needs, what trains it, and what it opens up."""
    parts: list[RenderableType] = [*_notices(result.notices), Text(result.task.task_id, style="bold")]
    for needed in result.skills:
        by = (
            _few([trainer.task.task_id for trainer in needed.trained_by])
            if needed.trained_by
            else "no task trains it before"
        )
        parts.append(Text(f"  needs {needed.skill}: {by}"))
    for title, trainers in (("before", result.before), ("opens up", result.opens)):
        parts.append(Text(f"\n{title}", style="cyan"))
        parts += [_trainer(trainer) for trainer in trainers]
    return Group(*parts)


def _trainer(trainer: Trainer) -> Text:
    tiers = ", ".join(trainer.task.tiers)
    shared = f"; in common: {_few(trainer.shared_skills)}" if trainer.shared_skills else ""
    return Text(f"  {trainer.task.task_id}  {tiers}  closeness {trainer.closeness:.2f}{shared}")


def check_view(result: CheckResult) -> RenderableType:
    """Return what a check found."""
    parts: list[RenderableType] = list(_notices(result.notices))
    if result.is_kept:
        parts.append(Text(f"{result.title}: {result.tasks} tasks, all constraints are kept.", style="green"))
    else:
        parts.append(Text(f"{result.title}: {len(result.problems)} constraints are not kept.", style="red"))
    parts += [Text(f"  {each.constraint}: {each.task} {each.message}") for each in result.problems]
    parts += [Text(f"  not checked: {name}", style="yellow") for name in result.unchecked]
    return Group(*parts)


def diff_view(result: CatalogueDiff) -> RenderableType:
    """Return what is new, gone and changed."""
    head = Text(f"{result.old} -> {result.new}", style="bold")
    sizes = {"added": result.added, "removed": result.removed, "changed": result.changed}
    counts = ", ".join(f"{len(tasks)} {name}" for name, tasks in sizes.items()) + f", {result.unchanged} the same"
    lines = [f"+ {task.task_id}" for task in result.added] + [f"- {task.task_id}" for task in result.removed]
    for change in result.changed:
        texts = [f"{text.field} ({text.kept:.0%} kept)" for text in change.texts]
        moved = [f"{each.field} {shorten(each.before, 40)} -> {shorten(each.after, 40)}" for each in change.moved]
        lines.append(f"~ {change.task.task_id}: {'; '.join([*texts, *moved])}")
    for query in result.queries:
        lines.append(f"query {query.query!r}: in {_few(query.came) or '-'}; out {_few(query.went) or '-'}")
    for saved in result.curricula:
        lines.append(f"curriculum {saved.after.title!r}: {len(saved.before.problems)} problems before, now:")
        lines += [f"  {each.constraint}: {each.task} {each.message}" for each in saved.after.problems] or ["  none"]
    return Group(head, Text(counts, style="green"), *map(Text, lines))


def _notices(notices: Iterable[str]) -> list[Text]:
    return [Text(notice, style="yellow") for notice in notices]


def _shared(passages: Iterable[str]) -> list[Text]:
    return [Text(f"     shared: {shorten(passage, _SHARED_CHARACTERS)}", style="dim") for passage in passages]


def _evidence(closeness: float | None, wording: float) -> str:
    near = "" if closeness is None else f"closeness {closeness:.2f}, "
    return f"{near}wording {wording:.2f}"


def _few(names: Sequence[str]) -> str:
    more = len(names) - _FEW
    return ", ".join(names[:_FEW]) + (f" and {more} more" if more > 0 else "")


def _table(*columns: str) -> Table:
    return Table(*columns, box=None, padding=(0, 2), header_style="cyan")
