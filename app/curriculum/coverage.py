"""Coverage: how many tasks stand in each domain, tier and skill; each number is a link."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ale_semantic.curriculum import Cell as CountedCell
from ale_semantic.curriculum import coverage
from ale_semantic.curriculum.coverage import NO_TIER

from ..labels import plural, value_label
from ..overview_tab import Cell, narrowed, shade
from ..state import State
from .asking import Answer, Ask, Example


@dataclass(frozen=True, slots=True)
class Grid:
    """Counts of a field's values by tier; a task of two tiers counts in both."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]


@dataclass(frozen=True, slots=True)
class Gap:
    """A tier and the domains that have no task in it."""

    tier: str
    domains: tuple[str, ...]


def answer(ask: Ask) -> Answer:
    """Return the counts of the tasks that pass the filters.

    Raises:
        LimitError: if the filter leaves no task.
    """
    result = coverage(ask.site.engine, pool=ask.pool)
    search = State(chosen=ask.state.chosen, missing=ask.state.missing, where=ask.state.where)
    skill, domain = ask.given.text("skill"), ask.given.text("domain")
    tiers = list(dict.fromkeys(cell.tier for cell in result.cells))
    tiers = [tier for tier in (*ask.tiers, NO_TIER) if tier in tiers]
    by_domain = [cell for cell in result.cells if cell.skill == (skill or None)]
    by_skill = [cell for cell in result.cells if cell.skill is not None and domain in ("", cell.domain)]
    return Answer(
        record=result,
        shown={
            "result": result,
            "domains": grid(by_domain, tiers, "domain", search, {"skill": skill} if skill else {}),
            "skills": grid(by_skill, tiers, "skill", search, {"domain": domain} if domain else {}),
            "skill": skill,
            "domain": domain,
            "skill_names": sorted({cell.skill for cell in result.cells if cell.skill is not None}),
            "domain_names": sorted({cell.domain for cell in result.cells}),
            "gaps": _gaps(result.empty),
            "rare": [(cell, narrowed(search, {"skill": cell.skill})) for cell in result.rare_skills],
        },
        status=f"{plural(result.tasks, 'task')} counted",
        notices=result.notices,
    )


def grid(
    cells: Sequence[CountedCell], tiers: Sequence[str], field: str, search: State, fixed: Mapping[str, str]
) -> Grid:
    """Return counted cells as a table of a field's values by tier.

    Args:
        cells: what was counted; each task has one domain, so the sums over domains count it once.
        tiers: the columns.
        field: the rows: domain or skill.
        search: the search that a cell's link starts from.
        fixed: the value of a further field that all cells have.
    """
    counts: Counter[tuple[str, str]] = Counter()
    for cell in cells:
        counts[getattr(cell, field), cell.tier] += cell.tasks
    highest = max(counts.values(), default=1)

    def made(row: str, tier: str) -> Cell:
        count = counts[row, tier]
        href = narrowed(search, {**fixed, field: row, "tier": None if tier == NO_TIER else tier})
        return Cell(
            count, shade(count, highest), href, f"{value_label(field, row)}, {_tier(tier)}: {plural(count, 'task')}"
        )

    rows = sorted({row for row, _ in counts}, key=lambda row: value_label(field, row))
    return Grid(
        tuple(map(_tier, tiers)),
        tuple((value_label(field, row), tuple(made(row, tier) for tier in tiers)) for row in rows),
    )


def _tier(value: str) -> str:
    return "no tier" if value == NO_TIER else str(value)


def _gaps(empty: Sequence[CountedCell]) -> list[Gap]:
    tiers = dict.fromkeys(cell.tier for cell in empty)
    return [
        Gap(_tier(tier), tuple(value_label("domain", cell.domain) for cell in empty if cell.tier == tier))
        for tier in tiers
    ]


def examples(ask: Ask) -> list[Example]:
    """Return none: the counts are there at once."""
    return []
