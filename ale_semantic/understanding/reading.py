"""Reading a query: what is searched, what is filtered, what it relates to. Every part can be switched off."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from ale_semantic.filters import And, Comparison, Condition, Missing, Not, Or, all_of
from ale_semantic.types import Recognised
from ale_semantic.understanding.phrases import FoundPhrase, SoftwarePhrases, find_phrases, without_phrases
from ale_semantic.understanding.relations import Relation, find_relation

RELATION = "relation"  # the key under which a relation is switched off


@dataclass(frozen=True, slots=True)
class Reading:
    """A query as it is understood: the text to search, the filter with what the query adds, and the relation."""

    text: str
    condition: Condition | None
    recognised: tuple[Recognised, ...] = ()
    relation: Relation | None = None


def read_query(
    query: str, condition: Condition | None, software: SoftwarePhrases, *, ignore: Collection[str] = ()
) -> Reading:
    """Read a query.

    Args:
        query: the text.
        condition: the filter that the user set; a phrase on a field that it names already is only offered.
        software: the catalogue's software names.
        ignore: keys of recognised parts that the user switched off.
    """
    own_fields = _fields(condition)
    phrases = []
    for phrase in find_phrases(query, software):
        chip = phrase.recognised
        if chip.key in ignore or _fields(phrase.condition) & own_fields:
            chip = replace(chip, applied=False)
        phrases.append(FoundPhrase(chip, phrase.condition))
    added = [phrase.condition for phrase in phrases if phrase.recognised.applied]
    text = without_phrases(query, phrases)
    relation = None if RELATION in ignore else find_relation(text)
    return Reading(text, all_of([condition, *added]), tuple(phrase.recognised for phrase in phrases), relation)


def _fields(condition: Condition | None) -> set[str]:
    """Return the fields that a condition names."""
    match condition:
        case Comparison(field) | Missing(field):
            return {field}
        case Not(operand):
            return _fields(operand)
        case And(operands) | Or(operands):
            return {field for operand in operands for field in _fields(operand)}
        case None:
            return set()
