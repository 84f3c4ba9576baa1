"""Canonical vocabulary: one name for each software, input format and machine, however a card spells it.

The names come from two alias tables, `data/software.toml` and `data/formats.toml`, and from general rules that
hold for products and formats in no table (`vocabulary_rules`). Everything here is pure and quick.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from ale_semantic.machine import is_licensed, needs_gpu, operating_system
from ale_semantic.vocabulary_formats import FormatName, canonical_formats
from ale_semantic.vocabulary_rules import fold
from ale_semantic.vocabulary_software import SoftwareName, canonical_software

__all__ = [
    "FormatName",
    "SoftwareName",
    "canonical_formats",
    "canonical_software",
    "fold",
    "is_licensed",
    "needs_gpu",
    "operating_system",
    "settle_spellings",
    "unmapped_formats",
    "unmapped_software",
]


def unmapped_software(raws: Iterable[str]) -> list[str]:
    """Return the spellings, sorted, of which the alias table knows no name or not every name."""
    return sorted({raw for raw in raws if not all(name.mapped for name in canonical_software(raw))}, key=_order)


def unmapped_formats(raws: Iterable[str]) -> list[str]:
    """Return the spellings, sorted, of which the alias table knows no format or not every format."""
    return sorted({raw for raw in raws if not all(name.mapped for name in canonical_formats(raw))}, key=_order)


def settle_spellings(names: Iterable[str]) -> dict[str, str]:
    """Return for each name the one spelling to show for all names that fold alike.

    Names in a table are settled already; this settles the rest over a whole catalogue: the most frequent
    spelling wins, then the one with most capitals, then the first in the alphabet. Repeat a name once a use.
    """
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for name in names:
        groups[fold(name)][name] += 1
    return {name: _preferred(group) for group in groups.values() for name in group}


def _preferred(group: Counter[str]) -> str:
    return min(group, key=lambda name: (-group[name], -sum(char.isupper() for char in name), name))


def _order(text: str) -> tuple[str, str]:
    return text.casefold(), text
