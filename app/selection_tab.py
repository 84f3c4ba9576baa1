"""The selection: the basket in its order with notes, side by side, and as files."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from markupsafe import Markup, escape

from ale_semantic.types import TaskCard

from .context import Screen, Site
from .labels import duration, field_label, machine, plural, value_label
from .state import State
from .view import render

LEFT, RIGHT = "selection.left", "selection.right"
_SHOWN_COLUMNS = 6  # tasks that fit side by side
_WORD = re.compile(r"\s+|\w+|[^\w\s]")
_MAX_WORDS = 6000  # a comparison word by word takes time in the square of this

_ROWS: Mapping[str, Callable[[TaskCard], str]] = {
    "Domain": lambda card: value_label("domain", card.domain),
    "Subdomain": lambda card: card.subdomain or "",
    "Tiers": lambda card: ", ".join(card.tiers),
    "Machine": machine,
    "Time limit": lambda card: duration(card.timeout) if card.timeout is not None else "",
    "Software": lambda card: ", ".join(card.software_names),
    "Input formats": lambda card: ", ".join(card.input_formats),
    field_label("inputs"): lambda card: str(len(card.inputs)),
    "Steps it must do": lambda card: str(len(card.must_do)),
    "Length of the prompt": lambda card: plural(len(card.prompt.split()), "word"),
}


@dataclass(frozen=True, slots=True)
class Item:
    """One task of the basket; `card` is None where the catalogue doesn't have it."""

    task_id: str
    card: TaskCard | None
    note: str


@dataclass(frozen=True, slots=True)
class Row:
    """One field over all tasks side by side."""

    label: str
    cells: tuple[str, ...]
    differs: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tasks whose texts are compared."""

    left: TaskCard
    right: TaskCard
    summary: Markup
    prompt: Markup


def view(site: Site, state: State) -> Screen:
    """Return the selection tab."""
    notes = dict(state.notes)
    items = [Item(task_id, site.card(task_id), notes.get(task_id, "")) for task_id in state.selection]
    cards = [item.card for item in items if item.card is not None]
    html = render(
        "selection.html",
        state=state,
        items=items,
        columns=cards[:_SHOWN_COLUMNS],
        left_out=len(cards) - _SHOWN_COLUMNS,
        rows=rows(cards[:_SHOWN_COLUMNS]),
        cards=cards,
        pair=pair(cards, dict(state.extra)),
        provenance=site.engine.provenance,
    )
    return Screen(html, "Selection – ALE Semantic", f"{plural(len(items), 'task')} selected")


def rows(cards: Sequence[TaskCard]) -> list[Row]:
    """Return the fields of tasks side by side, those that differ marked."""
    found = []
    for label, value_of in _ROWS.items():
        cells = tuple(value_of(card) for card in cards)
        found.append(Row(label, cells, len(set(cells)) > 1))
    return found


def pair(cards: Sequence[TaskCard], chosen: Mapping[str, str]) -> Pair | None:
    """Return the two tasks to compare word by word: the chosen ones, else the first two."""
    if len(cards) < 2:
        return None
    by_id = {card.task_id: card for card in cards}
    left = by_id.get(chosen.get(LEFT, ""), cards[0])
    right = by_id.get(chosen.get(RIGHT, ""), cards[1] if left is not cards[1] else cards[0])
    return Pair(left, right, differences(left.summary, right.summary), differences(left.prompt, right.prompt))


def differences(left: str, right: str) -> Markup:
    """Return both texts as one: what only the left has is deleted, what only the right has is inserted."""
    old, new = _WORD.findall(left)[:_MAX_WORDS], _WORD.findall(right)[:_MAX_WORDS]
    parts: list[Markup] = []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            parts.append(escape("".join(old[a:b])))
            continue
        if a < b:
            parts.append(Markup("<del>{}</del>").format("".join(old[a:b])))
        if c < d:
            parts.append(Markup("<ins>{}</ins>").format("".join(new[c:d])))
    return Markup("").join(parts)
