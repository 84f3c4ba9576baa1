"""Curricula in other forms: the ALE runner's task list, Markdown with the reasons, a skill x step chart."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from ale_semantic.curriculum.checks import check
from ale_semantic.curriculum.documents import Curriculum
from ale_semantic.curriculum.material import Material
from ale_semantic.curriculum.records import Record
from ale_semantic.errors import LimitError, MissingExtraError
from ale_semantic.export import CARD_ADDRESS, markdown_text

if TYPE_CHECKING:
    from ale_semantic.engine import Engine

_TIER_COLOURS = ("#4c956c", "#e9a03b", "#b23a48")  # near-term, full-spectrum, last-exam
_NO_TIER_COLOUR = "#8a8a8a"


def task_list(engine: Engine, curriculum: Curriculum) -> str:
    """Return the ids one a line, with what they are for as comments: the form of `selected_tasks`.

    Raises:
        LimitError: if a task isn't in the catalogue or stands in the list twice.
    """
    _require_tasks(engine, curriculum)
    header = [f"# {' '.join(text.split())}" for text in (curriculum.title, f"goal: {curriculum.goal}") if text.strip()]
    return "\n".join([*header, *curriculum.task_ids]) + "\n"


def markdown(engine: Engine, curriculum: Curriculum) -> str:
    """Return the curriculum with titles, tiers, reasons and notes.

    Raises:
        LimitError: if a task isn't in the catalogue or stands in the list twice.
    """
    _require_tasks(engine, curriculum)
    lines = [f"# {markdown_text(curriculum.title)}", "", markdown_text(curriculum.goal), ""]
    for place, entry in enumerate(curriculum.tasks, start=1):
        card = engine.catalogue.get(entry.task)
        facts = [", ".join(card.tiers) or "no tier", str(card.os or "system unknown"), ", ".join(card.software_names)]
        address = CARD_ADDRESS + quote(card.task_id)
        lines += [f"{place}. **{markdown_text(card.title)}** ([{markdown_text(card.task_id)}]({address}))  "]
        lines += [f"   {markdown_text(' · '.join(fact for fact in facts if fact))}  "]
        lines += [f"   {markdown_text(text)}  " for text in (entry.why, entry.note) if text.strip()]
    held = curriculum.constraints.to_dict()
    lines += [
        "",
        "## Constraints",
        "",
        *(f"- {key}: {markdown_text(str(value))}" for key, value in held.items() if value),
    ]
    if curriculum.notes.strip():
        lines += ["", "## Notes", "", markdown_text(curriculum.notes)]
    made = [f"{key} {value}" for key, value in curriculum.provenance.items() if value]
    lines += ["", f"_{markdown_text('; '.join(made))}_"] if made else []
    return "\n".join(lines) + "\n"


def chart(engine: Engine, curriculum: Curriculum, *, form: str = "svg") -> bytes:
    """Draw which step needs which skill (software, where the index has no skills); new ones are filled.

    Args:
        engine: the engine.
        curriculum: the curriculum.
        form: svg, png or pdf.

    Raises:
        LimitError: if a task isn't in the catalogue or stands in the list twice.
        MissingExtraError: if matplotlib isn't installed.
    """
    _require_tasks(engine, curriculum)
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("the chart", "plots") from None
    material = Material.of(engine)
    rows = [material.catalogue.row(task_id) for task_id in curriculum.task_ids]
    needs = [_needs(material, row) for row in rows]
    order = list(dict.fromkeys(name for names in needs for name in names))
    figure = Figure(figsize=(3.5 + 0.55 * len(rows), 1.8 + 0.26 * max(1, len(order))), layout="constrained")
    _draw(figure.subplots(), material, rows, needs, order)
    stream = io.BytesIO()
    # A fixed salt and no date: the same curriculum gives the same file.
    with rc_context({"svg.hashsalt": "ale-semantic", "svg.fonttype": "none"}):
        figure.savefig(stream, format=form, metadata={"Date": None} if form == "svg" else None)
    return stream.getvalue()


@dataclass(frozen=True, slots=True)
class SkillRow(Record):
    """One skill over the steps of a curriculum: where it is new, where it comes again."""

    skill: str
    uses: tuple[Literal["new", "again", ""], ...]


def skill_steps(engine: Engine, curriculum: Curriculum) -> tuple[SkillRow, ...]:
    """Return what `chart` draws as a table: each skill (software, where the index has no skills) over the steps.

    Raises:
        LimitError: if a task isn't in the catalogue or stands in the list twice.
    """
    _require_tasks(engine, curriculum)
    material = Material.of(engine)
    needs = [_needs(material, material.catalogue.row(task_id)) for task_id in curriculum.task_ids]
    first = {name: place for place, names in reversed(list(enumerate(needs))) for name in names}
    return tuple(
        SkillRow(
            name,
            tuple("" if name not in names else "new" if place == at else "again" for place, names in enumerate(needs)),
        )
        for name, at in sorted(first.items(), key=lambda pair: (pair[1], needs[pair[1]].index(pair[0])))
    )


def _needs(material: Material, row: int) -> tuple[str, ...]:
    if material.skills is not None:
        return material.skill_names(material.skills_of(row))
    return material.catalogue.cards[row].software_names


def _draw(axes: Any, material: Material, rows: list[int], needs: list[tuple[str, ...]], order: list[str]) -> None:
    seen: set[str] = set()
    for place, (row, names) in enumerate(zip(rows, needs, strict=True)):
        tiers = material.catalogue.cards[row].tiers
        colour = _TIER_COLOURS[tiers[0].level] if tiers else _NO_TIER_COLOUR
        for name in names:
            axes.scatter(
                place, order.index(name), s=70, color=colour if name not in seen else "none", edgecolors=colour
            )
        seen |= set(names)
    axes.set_yticks(range(len(order)), [_literal(name) for name in order], fontsize=8)
    ids = [material.catalogue.cards[row].task_id.rsplit("/", 1)[-1] for row in rows]
    axes.set_xticks(range(len(rows)), [_literal(name[:28]) for name in ids], fontsize=8, rotation=40, ha="right")
    axes.set_xlim(-0.6, len(rows) - 0.4)
    axes.set_ylim(max(1, len(order)) - 0.4, -0.6)
    axes.set_title("filled: new; ring: again; colour: tier", fontsize=8)
    axes.grid(alpha=0.2)


def _literal(text: str) -> str:
    """Return text that matplotlib doesn't take for a formula."""
    return text.replace("$", r"\$")


def _require_tasks(engine: Engine, curriculum: Curriculum) -> None:
    wrong = [problem for problem in check(engine, curriculum).problems if problem.constraint == "tasks"]
    if wrong:
        raise LimitError(f"{wrong[0].task!r} {wrong[0].message}: mend the curriculum before it is exported")
