"""Readable tables for the terminal. Card text goes through `Text`, never through markup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ale_semantic.plans import PlanKind, SearchPlan
from ale_semantic.types import Band, Facet, Hit, SearchResult, TaskCard, Verdict

BAND_STYLES = {Band.STRONG: "green", Band.WEAK: "yellow", Band.NONE: "dim"}
_PASSAGE_CHARACTERS = 240
_VERDICTS = {
    Verdict.STRONG: ("green", "{total} tasks, the best of them clearly answer the query."),
    Verdict.WEAK: ("yellow", "Nothing answers the query clearly; these are the nearest of {total} tasks."),
    Verdict.NONE: (
        "red",
        "Nothing fits this query. Try other words; the nearest of {total} tasks are shown.",
    ),
    Verdict.FILTERED_OUT: ("red", "No task passes the filter. Loosen it: `ale-semantic facets` lists what there is."),
    Verdict.BROWSE: ("cyan", "{total} tasks, in the order of their ids."),
}


_PLANS = {
    PlanKind.EXACT: "exact; every passage of every ranked task was scored.",
    PlanKind.GATHER: "gather; few passages pass, their vectors were gathered and scored.",
    PlanKind.FLAT: "flat; a scan of the vectors under the filter.",
    PlanKind.CODES: "8-bit; a scan of 8-bit codes under the filter.",
    PlanKind.LISTS: "ivf; a scan of 8-bit codes in the inverted lists nearest to the query, under the filter.",
}


def result_view(result: SearchResult) -> RenderableType:
    """Return an answer: verdict, hits, notices."""
    style, sentence = _VERDICTS[result.verdict]
    parts: list[RenderableType] = [Text(sentence.format(total=result.total), style=style)]
    if result.provenance.demo:
        parts.append(demo_banner())
    parts += [Text(notice, style="yellow") for notice in result.notices]
    parts += [hit_view(hit, browse=result.verdict is Verdict.BROWSE) for hit in result.hits]
    return Group(*parts)


def plan_view(plan: SearchPlan | None) -> RenderableType:
    """Return how the vectors were searched, on a few lines."""
    if plan is None:
        return Text("\nPlan: no vectors were searched.", style="dim")
    lines = [
        f"Plan: {_PLANS[plan.kind]}",
        f"  {plan.passing:,} of {plan.passages:,} passages pass the filter; {plan.candidates:,} tasks were ranked.",
    ]
    if plan.rescored:
        lines.append(f"  {plan.rescored:,} passages were scored in full precision.")
    if plan.lists:
        lines.append(f"  {plan.probed:,} of {plan.lists:,} inverted lists were probed; {plan.retries} retries.")
    if plan.scans:
        scans = "; ".join(f"{scan.kind} of {scan.passing:,}" for scan in plan.scans)
        lines.append(f"  Searches of passages: {scans}.")
    return Text("\n" + "\n".join(lines), style="dim")


def demo_banner() -> Text:
    """Return the notice that the cards are demo cards."""
    return Text("DEMO CARDS: written for this project, not the benchmark's tasks.", style="bold black on yellow")


def hit_view(hit: Hit, *, browse: bool) -> RenderableType:
    """Return one hit on a few lines."""
    card = hit.card
    head = Text(f"\n{hit.rank:>3}. ")
    head.append(card.title, style="bold")
    if not browse:
        head.append(f"  {hit.band} {hit.score:.2f}", style=BAND_STYLES[hit.band])
    lines: list[RenderableType] = [head, Text(f"     {card.task_id}  {_facts(card)}", style="dim")]
    passage = hit.why.passage
    if hit.why.note:
        lines.append(Text(f"     {hit.why.note}", style="green"))
    if passage is not None:
        text = Text(f"     {passage.field}: ", style="cyan")
        text.append(shorten(passage.text, _PASSAGE_CHARACTERS), style="default")
        if hit.why.matched_words:
            text.highlight_words(hit.why.matched_words, style="bold magenta", case_sensitive=False)
        lines.append(text)
    elif browse:
        lines.append(Text(f"     {shorten(card.summary, _PASSAGE_CHARACTERS)}"))
    return Group(*lines)


def _facts(card: TaskCard) -> str:
    parts: list[str] = [", ".join(card.tiers) or "no tier", str(card.os or "system unknown")]
    parts += ["GPU"] if card.gpu else []
    parts += ["licensed"] if card.licensed else []
    parts += [", ".join(card.software_names)] if card.software else []
    return " · ".join(parts)


def card_view(card: TaskCard) -> RenderableType:
    """Return a whole card."""
    grid = Table.grid(padding=(0, 2))
    for name, value in _card_rows(card):
        grid.add_row(Text(name, style="cyan"), Text(value))
    return Group(Text(card.title, style="bold"), grid, Text("\nPrompt", style="cyan"), Text(card.prompt))


def _card_rows(card: TaskCard) -> Iterator[tuple[str, str]]:
    yield "id", card.task_id
    yield "domain", f"{card.domain} / {card.subdomain or '-'}"
    yield "tiers", ", ".join(card.tiers) or "none"
    yield "machine", f"{card.os or 'unknown system'}, GPU {_yes(card.gpu)}, licensed software {_yes(card.licensed)}"
    yield "timeout", f"{card.timeout} s" if card.timeout is not None else "unknown"
    yield (
        "software",
        ", ".join(dict.fromkeys(f"{use.name} {use.version or ''}".strip() for use in card.software)) or "-",
    )
    for file in card.inputs:
        yield "input", f"{file.name} [{', '.join(file.formats) or '?'}] {file.path} {file.description}".strip()
    for step in card.must_do:
        yield "must do", step
    for finding in card.findings:
        yield "lint", f"{finding.code}: {finding.message}"
    yield "summary", card.summary


def _yes(value: bool | None) -> str:
    return "unknown" if value is None else "yes" if value else "no"


def facets_view(facets: Sequence[Facet], *, counted: str, limit: int) -> RenderableType:
    """Return the facets' values with counts, at most `limit` values each (0: all)."""
    parts: list[RenderableType] = [Text(f"Counts of {counted}.", style="dim")]
    for facet in facets:
        table = Table(title=facet.field, title_justify="left", show_header=False, box=None, padding=(0, 2))
        shown = facet.values[:limit] if limit else facet.values
        for value in shown:
            style = "bold green" if value.selected else "dim" if value.count == 0 else ""
            table.add_row(Text(str(value.count), style=style, justify="right"), Text(value.value, style=style))
        if facet.missing:
            table.add_row(Text(str(facet.missing), justify="right"), Text("(missing)", style="italic"))
        if len(shown) < len(facet.values):
            table.add_row("", Text(f"... {len(facet.values) - len(shown)} more: --limit 0 shows all", style="dim"))
        parts.append(table)
    return Group(*parts)


def findings_view(rows: Iterable[tuple[str, str, str]]) -> RenderableType:
    """Return lint findings as a table of task, code and message."""
    table = Table("task", "finding", "what is odd", box=None, padding=(0, 2), header_style="cyan")
    for task_id, code, message in rows:
        table.add_row(Text(task_id), Text(code, style="yellow"), Text(message))
    return table


def shorten(text: str, limit: int) -> str:
    """Return text on one line, cut at a word with an ellipsis where it exceeds `limit` characters."""
    flat = " ".join(text.split())
    if len(flat) <= limit:
        return flat
    return flat[: limit - 1].rsplit(" ", 1)[0] + "…"
