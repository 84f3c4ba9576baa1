"""Names for people: of fields, values, tiers and times."""

from __future__ import annotations

from ale_semantic.types import Field, TaskCard

_FIELD_LABELS = {
    "os": "System",
    "gpu": "GPU",
    "input_format": "Input format",
    "format_family": "Kind of input",
    "licensed": "Licensed software",
    "timeout": "Time limit",
    "inputs": "Input files",
    "finding": "Card findings",
    "task_id": "Task",
}
_DOMAINS = {
    "agriculture_env": "Agriculture & environment",
    "art_media": "Art & media",
    "business_finance": "Business & finance",
    "computing_math": "Computing & mathematics",
    "education_info": "Education & information",
    "health_medicine": "Health & medicine",
    "psychology_neuro": "Psychology & neuroscience",
    "transport_safety": "Transport & safety",
}
_SYSTEMS = {"linux": "Linux", "windows": "Windows", "macos": "macOS"}
_PASSAGE_LABELS = {Field.MUST_DO: "must do", Field.OVERVIEW: "title and summary", Field.INPUTS: "input files"}
_DOMAIN_FIELDS = frozenset({"domain", "taxonomy_domain"})
_CODED_FIELDS = frozenset({"finding", "skill", "format_family"})  # their values are codes
_HOUR = 3600


def field_label(name: str) -> str:
    """Return the name of a field of the filter."""
    return _FIELD_LABELS.get(name) or name.replace("_", " ").capitalize()


def value_label(field: str, value: str) -> str:
    """Return the name of a value of a field."""
    if field == "os":
        return _SYSTEMS.get(value, value)
    if field == "timeout" and value.isdigit():
        return duration(int(value))
    if field in _DOMAIN_FIELDS:
        return _DOMAINS.get(value) or value.replace("_", " ").capitalize()
    if field in _CODED_FIELDS and value.islower():
        return value.replace("_", " ").replace("-", " ").capitalize()
    return value


def passage_label(field: Field) -> str:
    """Return the name of the part of a card that a passage stands in."""
    return _PASSAGE_LABELS.get(field, str(field))


def duration(seconds: int) -> str:
    """Return a time as people say it."""
    if seconds >= _HOUR:
        return f"{seconds / _HOUR:.3g} h"
    return f"{seconds / 60:.3g} min" if seconds >= 60 else f"{seconds} s"


def plural(number: int, noun: str) -> str:
    """Return a number with its noun."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def machine(card: TaskCard) -> str:
    """Return a card's machine in a few words."""
    parts = [value_label("os", card.os) if card.os else "System not given"]
    parts += ["GPU"] if card.gpu else []
    parts += ["licensed software"] if card.licensed else []
    return ", ".join(parts)
