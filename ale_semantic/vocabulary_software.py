"""Canonical software names: the alias table first, then rules that are safe for any product."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from ale_semantic import vocabulary_rules as rules
from ale_semantic.vocabulary_rules import Versioned, fold, tidy
from ale_semantic.vocabulary_tables import software_table

_NOTHING = frozenset({"none", "n/a", "nothing", "nonerequired", "notapplicable"})
_LISTING = re.compile(r"\s*[,;]\s*(?:(?:and|or)\s)?|\s+/\s+")
_WORDS = re.compile(rf"{_LISTING.pattern}|\s+(?:and|or|with|plus|\+|&)\s+")
_SLASH = re.compile(rf"{_WORDS.pattern}|/")
_LONGEST_PART = 4  # words; a longer part of a list is prose, and the list is then left whole
# What may follow a known name without making another product of it ("Docker Desktop" is another).
_KIND_WORDS = re.compile(
    r"\s+(?:(?:software|programming)\s+)?(?:library|package|module|app|application|software|cli|gui|browser|program"
    r"|language|runtime|interpreter|toolkit|framework|engine)$",
    re.I,
)


@dataclass(frozen=True, slots=True)
class SoftwareName:
    """One canonical software value with the version kept apart.

    `mapped` is False if the alias table doesn't know the name and only general rules shaped it.
    """

    name: str
    version: str | None
    mapped: bool


@lru_cache(maxsize=4096)
def canonical_software(raw: str) -> tuple[SoftwareName, ...]:
    """Return the software that one spelling of a card names, each once; nothing for a blank or "none".

    A spelling is taken apart only if it reads as a list and its parts are known (`Python / NumPy`).
    """
    text = tidy(raw)
    if not fold(text) or fold(text) in _NOTHING:
        return ()
    if len(text) > rules.LONGEST_NAME:
        return (SoftwareName(text, None, False),)
    single = _resolve(text)
    found = (single, *_known_remarks(text)) if single.mapped else _parts(text) or (single,)
    return _unique(tuple(settled for name in found for settled in _settle(name, text)))


def _settle(found: SoftwareName, text: str) -> tuple[SoftwareName, ...]:
    """Apply the rules to what they left, so that a canonical name is its own canonical name."""
    if found.mapped or found.name == text:
        return (found,)
    return tuple(replace(again, version=found.version or again.version) for again in canonical_software(found.name))


def _unique(found: tuple[SoftwareName, ...]) -> tuple[SoftwareName, ...]:
    first: dict[tuple[str, str | None], SoftwareName] = {(name.name, name.version): name for name in found}
    versioned = {name.name for name in found if name.version}
    return tuple(name for name in first.values() if name.version or name.name not in versioned)


def _resolve(text: str) -> SoftwareName:
    """Read the text as one product."""
    version: str | None = None
    while True:
        known = _known(text)
        if known:
            return SoftwareName(known.name, version or known.version, True)
        shorter = _shorten(text)
        if shorter is None:
            return SoftwareName(text, version, False)
        text, version = shorter.name, version or shorter.version


def _known(text: str) -> Versioned | None:
    """Look the text up, also without what may be taken off only a name that is known then."""
    table = software_table()
    entry = table.lookup(text)
    if entry:
        return Versioned(entry.name, None)
    base, remarks = rules.take_parentheses(text)
    version = next((found for found in map(rules.bare_version, remarks) if found), None)
    for candidate in (base, _KIND_WORDS.sub("", base)):
        for split in (Versioned(candidate, None), rules.split_version(candidate), rules.split_glued(candidate)):
            entry = table.lookup(split.name)
            if entry:
                return Versioned(entry.name, split.version or version)
    return None


def _shorten(text: str) -> Versioned | None:
    """Take off one thing that belongs to no name: a launch path, a remark, a version. None if there is none."""
    if rules.is_launch_path(text):
        shorter = Versioned(rules.program_of(text), None)
    else:
        shorter = _without_remark(Versioned(rules.drop_via(text), None))
    if shorter.name == text:
        shorter = rules.split_version(text)
    name = tidy(shorter.name)
    return Versioned(name, shorter.version) if name != text and fold(name) and len(name) < len(text) else None


def _without_remark(text: Versioned) -> Versioned:
    """Drop the parentheses that are mere remarks; with others, take the version off before them."""
    base, remarks = rules.take_parentheses(text.name)
    kept = [remark for remark in remarks if not rules.is_remark(remark)]
    versions = [version for version in map(rules.bare_version, remarks) if version]
    split = rules.split_version(base) if kept else Versioned(base, None)
    if not remarks or not fold(base) or (len(kept) == len(remarks) and split.name == base):
        return text
    name = " ".join([split.name, *(f"({remark})" for remark in kept)])
    return Versioned(name, split.version or next(iter(versions), None))


def _known_remarks(text: str) -> tuple[SoftwareName, ...]:
    """Return further known products that a parenthesis lists: `Python (NumPy, pandas)`."""
    if software_table().lookup(text):
        return ()
    remarks = (remark for remark in rules.take_parentheses(text)[1] if not rules.is_remark(remark))
    return tuple(name for remark in remarks for name in _all_known(rules.split_outside(remark, _SLASH)))


def _all_known(parts: tuple[str, ...]) -> tuple[SoftwareName, ...]:
    found = tuple(map(_resolve, parts))
    return found if all(name.mapped for name in found) else ()


def _parts(text: str) -> tuple[SoftwareName, ...]:
    """Read the text as a list; nothing unless that is clearly safe."""
    for separator in (_LISTING, _WORDS, _SLASH):
        parts = rules.split_outside(text, separator)
        if len(parts) > 1 and _all_known(parts):
            return _all_known(parts)
    parts = rules.split_outside(text, _LISTING)
    plausible = all(len(part.split()) <= _LONGEST_PART and not rules.bare_version(part) for part in parts)
    found = tuple(map(_resolve, parts))
    return found if len(parts) > 1 and plausible and any(name.mapped for name in found) else ()
