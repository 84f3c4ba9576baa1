"""What each step of a path brings, and one line on why it comes there."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ale_semantic.curriculum.material import Material
from ale_semantic.curriculum.path_request import Step
from ale_semantic.curriculum.records import tier_of_level
from ale_semantic.curriculum.relevance import Relevance
from ale_semantic.types import TaskCard

_NAMED = 3  # skills or software named in one line
_CLOSE, _LOOSE = 0.25, 0.10  # closeness that reads as a firm or a loose link; 0 is chance level


def describe(
    material: Material,
    goal: Relevance,
    rows: Sequence[int],
    levels: Sequence[int],
    *,
    start: Relevance | None = None,
) -> tuple[Step, ...]:
    """Return the steps of a way through these tasks, in order.

    Args:
        material: the catalogue.
        goal: nearness of each task to where the path leads.
        rows: the tasks.
        levels: the tier that counts for each, 0 to 2, or -1 for none.
        start: nearness of each task to the topic that the way starts with, None where none was named.
    """
    known_skills: set[str] = set()
    known_software: set[str] = set()
    steps: list[Step] = []
    for place, (row, level) in enumerate(zip(rows, levels, strict=True)):
        card = material.catalogue.cards[row]
        new_skills = material.skill_names(material.skills_of(row) - known_skills)
        new_software = tuple(name for name in card.software_names if name not in known_software)
        before = rows[place - 1] if place else None
        near = float(material.near()[before, row]) if before is not None else None
        rises = place > 0 and level > levels[place - 1]
        parts = [
            _opening(material, goal if place or start is None else start, before, row, rises=rises, level=level),
            _brings(new_skills, new_software) if place else "",
        ]
        steps.append(
            Step(
                task=material.ref(row),
                tier=tier_of_level(level) if level >= 0 else None,
                closeness=near,
                relevance=float(goal.scores[row]),
                new_skills=new_skills,
                new_software=new_software,
                reason="; ".join(part for part in parts if part),
            )
        )
        known_skills |= material.skills_of(row)
        known_software |= set(card.software_names)
    return tuple(steps)


def _opening(material: Material, aim: Relevance, before: int | None, row: int, *, rises: bool, level: int) -> str:
    card = material.catalogue.cards[row]
    if before is None:
        tier = f"a {tier_of_level(level)} task" if level >= 0 else "a task"
        return f"starts with {tier} in {card.subdomain or card.domain}, {_aim(aim, row)}"
    other = material.catalogue.cards[before]
    rise = f"rises to {tier_of_level(level)}, " if rises else ""
    shared = _shared(material, before, row, other, card)
    near = float(material.near()[before, row])
    link = "builds closely on" if near >= _CLOSE else "builds on" if near >= _LOOSE else "is loosely linked to"
    return f"{rise}{link} the step before{f' ({shared})' if shared else ''}"


def _aim(goal: Relevance, row: int) -> str:
    if goal.scores[row] >= 0.5:
        return f"near {goal.label}"
    return f"on the way to {goal.label}" if goal.scores[row] > 0.1 else f"far from {goal.label}"


def _shared(material: Material, before: int, row: int, other: TaskCard, card: TaskCard) -> str:
    """Name what two tasks share: skills first, then the subdomain or domain, then software."""
    parts = []
    skills = material.skill_names(material.skills_of(before) & material.skills_of(row))
    if skills:
        parts.append(_named(skills))
    elif card.subdomain and card.subdomain == other.subdomain:
        parts.append(card.subdomain)
    elif card.domain == other.domain:
        parts.append(f"both {card.domain}")
    software = [name for name in card.software_names if name in other.software_names]
    if software:
        parts.append(f"again {_named(software)}")
    return "; ".join(parts)


def _brings(skills: Sequence[str], software: Sequence[str]) -> str:
    if skills:
        return f"adds {_named(skills)}"
    return f"adds {_named(software)}" if software else "adds no new tool"


def _named(names: Iterable[str]) -> str:
    given = list(names)
    more = len(given) - _NAMED
    return ", ".join(given[:_NAMED]) + (f" and {more} more" if more > 0 else "")
