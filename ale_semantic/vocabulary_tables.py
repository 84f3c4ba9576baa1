"""The alias tables: readable TOML files in `data/`, read once and checked when read."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources

from ale_semantic.errors import AleSemanticError
from ale_semantic.vocabulary_rules import fold


@dataclass(frozen=True, slots=True)
class Entry:
    """A canonical name and the section of the table it stands in."""

    name: str
    section: str


@dataclass(frozen=True, slots=True)
class AliasTable:
    """All spellings of a table by their folded key."""

    entries: dict[str, Entry]

    @classmethod
    def parse(cls, text: str, where: str) -> AliasTable:
        """Read a table; `where` names it in errors.

        Raises:
            AleSemanticError: if the table isn't TOML of this shape, or a spelling stands under two names.
        """
        entries: dict[str, Entry] = {}
        for entry, spellings in _rows(text, where):
            for key in {table_key(spelling) for spelling in spellings}:
                other = entries.setdefault(key, entry)
                if not key or other != entry:
                    raise AleSemanticError(
                        f"{where}: a spelling of {entry.name!r} is empty"
                        if not key
                        else f"{where}: {key!r} stands under both {other.name!r} and {entry.name!r}: keep one"
                    )
        return cls(entries)

    def lookup(self, spelling: str) -> Entry | None:
        """Return the entry of a spelling, however it is cased, quoted or hyphenated."""
        return self.entries.get(table_key(spelling))

    @property
    def names(self) -> tuple[str, ...]:
        """Return all canonical names, in the order of the table."""
        return tuple(dict.fromkeys(entry.name for entry in self.entries.values()))


def table_key(spelling: str) -> str:
    """Return the folded key of a spelling, without the dot or star-dot of an extension."""
    key = fold(spelling)
    return key.lstrip(".*") or key


def _rows(text: str, where: str) -> list[tuple[Entry, list[str]]]:
    try:
        sections = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise AleSemanticError(f"{where}: not a TOML file: {error}") from None
    rows: list[tuple[Entry, list[str]]] = []
    for section, names in sections.items():
        for name, aliases in names.items() if isinstance(names, dict) else [(section, None)]:
            if not isinstance(aliases, list) or not all(isinstance(alias, str) for alias in aliases):
                raise AleSemanticError(f'{where}: {name!r} must read "Name" = ["alias", ...] under a [section]')
            rows.append((Entry(name, section.replace("-", " ")), [name, *aliases]))
    return rows


def _load(file_name: str) -> AliasTable:
    text = (resources.files("ale_semantic") / "data" / file_name).read_text(encoding="utf-8")
    return AliasTable.parse(text, f"data/{file_name}")


@cache
def software_table() -> AliasTable:
    """Return the table of software names."""
    return _load("software.toml")


@cache
def format_table() -> AliasTable:
    """Return the table of input formats; its sections are the families."""
    return _load("formats.toml")
