"""Phrases that name facet values: "on Windows", "no GPU", "last-exam", "only in Blender"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ale_semantic.filters import Condition, field, parse
from ale_semantic.types import Recognised, TaskCard
from ale_semantic.understanding.rules import alternatives, rules

_SHORTEST_SOFTWARE = 2  # characters: a one-letter name ("R") is too often something else


@dataclass(frozen=True, slots=True)
class SoftwarePhrases:
    """The software names of one catalogue, ready to be found in queries."""

    names: Mapping[str, str]
    applied: re.Pattern[str]
    offered: re.Pattern[str]

    @classmethod
    def of(cls, cards: Sequence[TaskCard]) -> SoftwarePhrases:
        """Collect the names of all cards."""
        names = {use.name.casefold(): use.name for card in cards for use in card.software}
        known = alternatives([name for name in names if len(name) >= _SHORTEST_SOFTWARE])
        table = rules()
        return cls(
            names,
            re.compile(rf"{alternatives(table.software_applied_after)} (?P<name>{known})", re.IGNORECASE),
            re.compile(rf"{alternatives(table.software_offered_after)} (?P<name>{known})", re.IGNORECASE),
        )


@dataclass(frozen=True, slots=True)
class FoundPhrase:
    """A recognised phrase with the condition it stands for."""

    recognised: Recognised
    condition: Condition


def find_phrases(query: str, software: SoftwarePhrases) -> list[FoundPhrase]:
    """Return the phrases of a query that name facet values, each value once, explicit ones first."""
    found: dict[str, FoundPhrase] = {}
    for phrase in [*_fixed(query, explicit=True), *_software(query, software), *_fixed(query, explicit=False)]:
        taken = [one.recognised.phrase.casefold() for one in found.values()]
        if not any(phrase.recognised.phrase.casefold() in longer for longer in taken):
            found.setdefault(phrase.recognised.key, phrase)
    return list(found.values())


def without_phrases(query: str, phrases: Sequence[FoundPhrase]) -> str:
    """Return the query without the phrases that are applied as filters."""
    rest = query
    for one in phrases:
        if one.recognised.applied:
            rest = rest.replace(one.recognised.phrase, " ")
    rest = " ".join(rest.split()).strip(" ,;.")
    return rest


def _fixed(query: str, *, explicit: bool) -> Iterator[FoundPhrase]:
    for place, rule in enumerate(rules().phrases):
        match = _expressions(explicit)[place].search(query)
        if match:
            chip = Recognised(rule.where.replace(" ", ""), match.group(), rule.label, rule.where, explicit)
            condition = parse(rule.where)
            assert condition is not None  # the table's own expressions are not blank
            yield FoundPhrase(chip, condition)


@cache
def _expressions(explicit: bool) -> tuple[re.Pattern[str], ...]:
    return tuple(
        re.compile(alternatives(rule.explicit if explicit else rule.offered), re.IGNORECASE) for rule in rules().phrases
    )


def _software(query: str, software: SoftwarePhrases) -> Iterator[FoundPhrase]:
    for expression, applied in ((software.applied, True), (software.offered, False)):
        for match in expression.finditer(query):
            name = software.names[match["name"].casefold()]
            condition = field("software") == name
            chip = Recognised(f"software={name}", match.group(), name, str(condition), applied)
            yield FoundPhrase(chip, condition)
