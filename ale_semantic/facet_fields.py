"""The fields that cards are filtered and counted by: one table, from which hints, documentation and masks come."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from ale_semantic.machine import operating_system
from ale_semantic.types import OperatingSystem, TaskCard, Tier
from ale_semantic.vocabulary_rules import fold

_NUMBER = re.compile(r"[+-]?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?", re.IGNORECASE)
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)([smhd])", re.IGNORECASE)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_TRUTH = {"true": "yes", "false": "no"}


class FieldKind(StrEnum):
    """How the values of a field compare, and how many of them a card has."""

    SINGLE = "single"  # at most one value a card
    MULTI = "multi"  # any number of values a card
    BOOL = "bool"  # yes or no
    NUMBER = "number"
    DURATION = "duration"  # seconds; a filter may also say 90m or 2h
    TEXT = "text"  # hardly any two cards alike: filtered, but counted only when asked for

    @property
    def is_ordered(self) -> bool:
        """Tell whether `<` and `>` mean something."""
        return self in (FieldKind.NUMBER, FieldKind.DURATION)

    @property
    def is_textual(self) -> bool:
        """Tell whether `contains` means something."""
        return self in (FieldKind.SINGLE, FieldKind.MULTI, FieldKind.TEXT)


@dataclass(frozen=True, slots=True)
class FacetField:
    """One field.

    Attributes:
        name: as it is written in a filter.
        kind: how its values compare.
        description: one line for help and documentation.
        values_of: the card's values; none of them: the card counts as missing.
        vocabulary: all values there can be, in order, if that is a closed list; one that no card has is no error.
        spellings_of: further spellings that find just the cards which spell it so.
        canonical: the values that another spelling stands for.
    """

    name: str
    kind: FieldKind
    description: str
    values_of: Callable[[TaskCard], Iterable[str]]
    vocabulary: tuple[str, ...] = ()
    spellings_of: Callable[[TaskCard], Iterable[str]] | None = None
    canonical: Callable[[str], Iterable[str]] | None = None


def number_of(text: str) -> float | None:
    """Return the number that a text is, or None."""
    return float(text) if _NUMBER.fullmatch(text.strip()) else None


def seconds_of(text: str) -> float | None:
    """Return the seconds that `7200`, `90m` or `1h30m` are, or None."""
    compact = "".join(text.split())
    parts = _DURATION_PART.findall(compact)
    if compact and "".join(number + unit for number, unit in parts) == compact:
        return sum(float(number) * _SECONDS[unit.lower()] for number, unit in parts)
    return number_of(text)


def _given(value: str | None) -> tuple[str, ...]:
    return (value,) if value else ()


def _number(value: int | None) -> tuple[str, ...]:
    return (str(value),) if value is not None else ()


def _truth(value: bool | None) -> tuple[str, ...]:
    return () if value is None else ("yes",) if value else ("no",)


def _truth_word(text: str) -> tuple[str, ...]:
    return _given(_TRUTH.get(fold(text)))


def _bool(name: str, description: str, value_of: Callable[[TaskCard], bool | None]) -> FacetField:
    return FacetField(
        name,
        FieldKind.BOOL,
        description,
        lambda card: _truth(value_of(card)),
        vocabulary=("yes", "no"),
        canonical=_truth_word,
    )


def _has_finding(card: TaskCard, code: str) -> bool:
    return any(finding.code == code for finding in card.findings)


def _software_versions(card: TaskCard) -> list[str]:
    return [f"{use.name} {use.version}" for use in card.software if use.version]


def _software_spellings(card: TaskCard) -> list[str]:
    return [*(use.raw for use in card.software), *_software_versions(card)]


def _canonical_software(text: str) -> list[str]:
    from ale_semantic.vocabulary_software import canonical_software

    return [f"{known.name} {known.version}" if known.version else known.name for known in canonical_software(text)]


def _format_families(card: TaskCard) -> list[str]:
    from ale_semantic.vocabulary_formats import canonical_formats

    return [known.family for name in card.input_formats for known in canonical_formats(name)]


def _canonical_formats(text: str) -> list[str]:
    from ale_semantic.vocabulary_formats import canonical_formats

    return [known.name for known in canonical_formats(text)]


def _canonical_system(text: str) -> tuple[str, ...]:
    return _given(operating_system(None, text))


FIELDS: tuple[FacetField, ...] = (
    FacetField("domain", FieldKind.SINGLE, "The task's domain: its folder.", lambda card: _given(card.domain)),
    FacetField("subdomain", FieldKind.SINGLE, "The subdomain.", lambda card: _given(card.subdomain)),
    FacetField(
        "tier",
        FieldKind.MULTI,
        "The difficulty tiers the task stands in.",
        lambda card: map(str, card.tiers),
        vocabulary=tuple(map(str, Tier)),
    ),
    FacetField(
        "os",
        FieldKind.SINGLE,
        "The machine's operating system.",
        lambda card: _given(card.os),
        vocabulary=tuple(map(str, OperatingSystem)),
        canonical=_canonical_system,
    ),
    FacetField(
        "software",
        FieldKind.MULTI,
        "The software used; any spelling of a product finds it, one with a version finds that version.",
        lambda card: card.software_names,
        spellings_of=_software_spellings,
        canonical=_canonical_software,
    ),
    FacetField(
        "software_version", FieldKind.MULTI, "Software with the version that cards ask for.", _software_versions
    ),
    FacetField(
        "input_format",
        FieldKind.MULTI,
        "The formats of the input files.",
        lambda card: card.input_formats,
        spellings_of=lambda card: (file.raw_format for file in card.inputs),
        canonical=_canonical_formats,
    ),
    FacetField("format_family", FieldKind.MULTI, "The families of the input formats.", _format_families),
    _bool("gpu", "Whether the task needs a GPU.", lambda card: card.gpu),
    _bool("licensed", "Whether the task needs licensed software.", lambda card: card.licensed),
    FacetField(
        "timeout", FieldKind.DURATION, "Time limit in seconds, or as 90m or 2h.", lambda card: _number(card.timeout)
    ),
    FacetField("inputs", FieldKind.NUMBER, "The number of input files.", lambda card: _number(len(card.inputs))),
    _bool("has_tier", "Whether the task stands in any tier.", lambda card: bool(card.tiers)),
    _bool("has_title", "Whether the card gives a title.", lambda card: not _has_finding(card, "missing-title")),
    _bool("published", "Whether the task is in the list of published tasks.", lambda card: card.published),
    FacetField(
        "finding",
        FieldKind.MULTI,
        "What there is to mend in the card.",
        lambda card: (finding.code for finding in card.findings),
    ),
    FacetField(
        "taxonomy_domain",
        FieldKind.SINGLE,
        "The domain that the card's taxonomy names, which may differ from its folder.",
        lambda card: _given(card.taxonomy_domain),
    ),
    FacetField("task_id", FieldKind.TEXT, "The task's id.", lambda card: _given(card.task_id)),
    FacetField("title", FieldKind.TEXT, "The task's title.", lambda card: _given(card.title)),
)
