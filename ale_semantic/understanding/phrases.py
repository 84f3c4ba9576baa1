"""Phrases that name facet values: "on Windows", "no GPU", "last-exam", "only in Blender"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from ale_semantic.filters import Condition, field, parse
from ale_semantic.types import Recognised
from ale_semantic.understanding.rules import alternatives, may_hold, rules

_SHORTEST_SOFTWARE = 2  # characters: a one-letter name ("R") is too often something else


@dataclass(frozen=True, slots=True)
class SoftwarePhrases:
    """The software names of one catalogue by their case-folded form, to be found in queries."""

    names: Mapping[str, str]

    @classmethod
    def of(cls, names: Iterable[str]) -> SoftwarePhrases:
        """Keep the names."""
        return cls({name.casefold(): name for name in names})

    def expression(self, query: str, after: Sequence[str]) -> re.Pattern[str] | None:
        """Return what finds a name after one of some phrases in a query; None if there is nothing to find.

        Of the names only those that the query may hold take part: a catalogue has thousands.
        """
        if not may_hold(query, after):
            return None
        folded = query.casefold()
        near = [name for name in self.names.values() if len(name) >= _SHORTEST_SOFTWARE and _starts(name) in folded]
        return re.compile(rf"{alternatives(after)} (?P<name>{alternatives(near)})", re.IGNORECASE) if near else None


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
    for rule in rules().phrases:
        phrases = rule.explicit if explicit else rule.offered
        if not may_hold(query, phrases):
            continue
        match = _expression(tuple(phrases)).search(query)
        if match:
            chip = Recognised(rule.where.replace(" ", ""), match.group(), rule.label, rule.where, explicit)
            condition = parse(rule.where)
            assert condition is not None  # the table's own expressions are not blank
            yield FoundPhrase(chip, condition)


@cache
def _expression(phrases: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(alternatives(phrases), re.IGNORECASE)


def _software(query: str, software: SoftwarePhrases) -> Iterator[FoundPhrase]:
    table = rules()
    for after, applied in ((table.software_applied_after, True), (table.software_offered_after, False)):
        expression = software.expression(query, after)
        for match in expression.finditer(query) if expression is not None else ():
            name = software.names[" ".join(match["name"].split()).casefold()]
            condition = field("software") == name
            chip = Recognised(f"software={name}", match.group(), name, str(condition), applied)
            yield FoundPhrase(chip, condition)


@lru_cache(maxsize=65_536)
def _starts(name: str) -> str:
    """Return the first word of a name, case-folded."""
    return name.casefold().split(maxsplit=1)[0]
