"""Relations to a named task: "something easier before X", "harder follow-up to X"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ale_semantic.types import TaskCard
from ale_semantic.understanding.rules import RelationRules, alternatives, may_hold, rules

_GAP = r".{0,25}?"  # what may stand between a wish and the word that joins it to the task
_SHORTEST_TARGET = 2  # characters


class Direction(StrEnum):
    """What is wanted, compared with the named task."""

    EASIER = "easier"
    HARDER = "harder"


@dataclass(frozen=True, slots=True)
class Relation:
    """A wish for a task easier or harder than the one that `target` names; `rest` are the wish's other words."""

    direction: Direction
    target: str
    rest: str
    language: str


@dataclass(frozen=True, slots=True)
class _Pattern:
    """An expression; a text matches it only if it holds one of each of the lists of phrases in `needs`."""

    direction: Direction
    needs: tuple[Sequence[str], ...]
    text: str

    def search(self, text: str) -> re.Match[str] | None:
        if not all(may_hold(text, phrases) for phrases in self.needs):
            return None
        return _compiled(self.text).search(text)


def find_relation(query: str) -> Relation | None:
    """Return the relation that a query expresses, or None."""
    text = " ".join(query.split())
    for language, table in rules().relations.items():
        if not may_hold(text, _cues(language)):
            continue
        for pattern in _patterns(language):
            match = pattern.search(text)
            if match is None:
                continue
            target = _stripped(match["target"], table)
            if len(target) >= _SHORTEST_TARGET:
                return Relation(pattern.direction, target, _rest(match["wish"] or "", table), language)
    return None


def tier_preference(cards: Sequence[TaskCard], row: int, direction: Direction) -> NDArray[np.float32]:
    """Return 1 for cards on the wanted side of one card's tier, -1 on the other, 0 at the same or none.

    A card in several tiers counts by its easiest when something easier is wanted, by its hardest otherwise.
    """
    extreme = min if direction is Direction.EASIER else max
    levels = np.array([extreme((tier.level for tier in card.tiers), default=-1) for card in cards])
    steps = np.sign(levels - levels[row]) * (-1 if direction is Direction.EASIER else 1)
    known = (levels >= 0) & (levels[row] >= 0)
    return np.where(known, steps, 0).astype(np.float32)


@cache
def _cues(language: str) -> tuple[str, ...]:
    """Return the phrases of a language of which a query with a relation holds at least one."""
    table = rules().relations[language]
    wishes = (table.easier, table.easier_noun, table.easier_weak, table.harder, table.harder_noun, table.next)
    return tuple(phrase for phrases in (*wishes, table.precede, table.follow) for phrase in phrases)


@cache
def _patterns(language: str) -> tuple[_Pattern, ...]:
    table = rules().relations[language]
    return tuple(_task_first(table) if table.order == "task" else _link_first(table))


@cache
def _compiled(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


def _link_first(table: RelationRules) -> Iterator[_Pattern]:
    """Yield the patterns of languages that say wish, link, task; the plainest first."""
    easy = (*table.easier, *table.easier_noun, *table.easier_weak)
    hard = (*table.harder, *table.harder_noun, *table.next)
    plainly_hard = (*table.harder, *table.harder_noun)
    easier, harder, plainly_harder = alternatives(easy), alternatives(hard), alternatives(plainly_hard)
    before, after = alternatives(table.before), alternatives(table.after)
    than, to = alternatives(table.than), alternatives(table.to)
    noise, asked = alternatives(table.noise), alternatives(table.next)
    down, up = Direction.EASIER, Direction.HARDER
    either = (*easy, *table.next)
    yield _Pattern(down, (table.precede,), rf"^(?P<wish>.*{alternatives(table.precede)}) (?P<target>.+)$")
    yield _Pattern(up, (table.follow,), rf"^(?P<wish>.*{alternatives(table.follow)}) (?P<target>[^,]+)(?:,.*)?$")
    yield _Pattern(down, (easy, table.before), rf"^(?P<wish>.*?{easier}.*?){before} ?(?P<target>.+)$")
    yield _Pattern(up, (hard, table.after), rf"^(?P<wish>.*?{harder}.*?){after} ?(?P<target>.+)$")
    yield _Pattern(down, (table.next, table.before), rf"^(?P<wish>.*?{asked}.*?){before} ?(?P<target>.+)$")
    yield _Pattern(down, (table.before, either), rf"^{before} ?(?P<target>[^,]+), *(?P<wish>.*(?:{easier}|{asked}).*)$")
    yield _Pattern(up, (table.after, hard), rf"^{after} ?(?P<target>[^,]+), *(?P<wish>.*{harder}.*)$")
    yield _Pattern(
        up, (table.after, plainly_hard), rf"^{after} (?P<target>.+?) (?P<wish>(?:{noise} )*{plainly_harder}.*)$"
    )
    for direction, wishes in ((down, table.easier), (up, table.harder)):
        wish = rf"^(?P<wish>.*?{alternatives(wishes)}{_GAP}){than} (?P<target>.+)$"
        yield _Pattern(direction, (wishes, table.than), wish)
    for direction, nouns in ((down, table.easier_noun), (up, table.harder_noun)):
        wish = rf"^(?P<wish>(?:{noise} |\w+ )?{alternatives(nouns)}(?: {noise})*) {to} (?P<target>.+)$"
        yield _Pattern(direction, (nouns, table.to), wish)
    yield _Pattern(
        up,
        (table.done, hard),
        rf"^(?:\w+ ){{0,2}}{alternatives(table.done)} (?P<target>[^,;.]+)[,;.] *(?P<wish>.*{harder}.*)$",
    )


def _task_first(table: RelationRules) -> Iterator[_Pattern]:
    """Yield the patterns of languages that say task, link, wish."""
    easy = (*table.easier, *table.easier_noun, *table.easier_weak)
    hard = (*table.harder, *table.harder_noun, *table.next)
    over = (*table.after, *table.done)
    easier, harder, than = alternatives(easy), alternatives(hard), alternatives(table.than)
    down, up = Direction.EASIER, Direction.HARDER
    yield _Pattern(down, (table.before, easy), rf"^(?P<target>.+?){alternatives(table.before)}(?P<wish>.*?{easier}.*)$")
    yield _Pattern(up, (over, hard), rf"^(?P<target>.+?){alternatives(over)}(?P<wish>.*?{harder}.*)$")
    # Chinese puts the word for "than" in front of the task, Japanese behind it.
    for direction, wishes, wish in ((down, easy, easier), (up, hard, harder)):
        yield _Pattern(direction, (table.than, wishes), rf"^(?:{than})(?P<target>.+?)(?P<wish>{wish}.*)$")
        yield _Pattern(direction, (table.than, wishes), rf"^(?P<target>.+?){than}(?P<wish>.*?{wish}.*)$")


def _stripped(target: str, table: RelationRules) -> str:
    """Return the named task without the words around it that only say that it is a task to do."""
    # A word in front ends with a blank ("a" is none in "A/B test"), unless its script has no blanks or it is elided.
    blank = r"[\s,]+" if table.order == "link" else r"[\s,]*"
    lead = re.compile(rf"^(?:{alternatives(table.lead)}(?:{blank}|(?<=')))", re.IGNORECASE)
    tail = re.compile(rf"[\s,]*(?:{alternatives(table.tail)})$", re.IGNORECASE)
    text = target.strip(" ,.;?!？。、，")
    while True:
        shorter = tail.sub("", lead.sub("", text)).strip(" ,.;?!？。、，")
        if shorter == text or not shorter:
            return text
        text = shorter


def _rest(wish: str, table: RelationRules) -> str:
    """Return what a wish says beyond easier or harder."""
    wishes = (table.easier, table.easier_noun, table.easier_weak, table.harder, table.harder_noun, table.next)
    cues = [phrase for phrases in (*wishes, table.precede, table.follow, table.noise) for phrase in phrases]
    return " ".join(re.sub(alternatives(cues), " ", wish, flags=re.IGNORECASE).split()).strip(" ,.;?!？。、，")
