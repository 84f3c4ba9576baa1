"""What is wrong with the settings, in one line that names the place and the cure."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import ValidationError

_SECRETS = ("secret", "key_hash")


def unreadable(file: Path | None) -> str:
    """Return what is wrong with a settings file, or an empty string."""
    if file is None:
        return ""
    try:
        tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return f"there is no settings file {file}"
    except (OSError, UnicodeDecodeError) as error:
        return f"the settings file {file} can't be read: {error.__class__.__name__}"
    except tomllib.TOMLDecodeError as error:
        return f"the settings file {file} is not TOML: {error}"
    return ""


def refuse_unknown(fields: Collection[str], file: Path | None, *, prefix: str, also: str) -> str:
    """Return the complaint about a variable or a line of the file that is no setting, or an empty string.

    A misspelt setting that is silently ignored is worst where it is a limit or a lock.
    """
    for variable in sorted(os.environ):
        name = variable.upper()
        if name.startswith(prefix) and name != also and name[len(prefix) :].lower() not in fields:
            near = [f"{prefix}{field.upper()}" for field in _nearest(name[len(prefix) :].lower(), fields)]
            return f"the variable {variable} is no setting of the service{_hint(near)}"
    for name in _table(file):
        if name not in fields:
            return no_setting(f"{file}: {name!r}", name, fields)
    return ""


def no_setting(given: str, name: str, fields: Collection[str]) -> str:
    """Return the complaint about a name that is no setting."""
    return f"{given} is no setting of the service{_hint(_nearest(name, fields))}"


def explained(error: ValidationError, *, flags: Mapping[str, Any], file: Path | None, prefix: str) -> str:
    """Return one line on what is wrong in the settings: each with its place."""
    table = _table(file)
    lines = []
    for fault in error.errors():
        name = str(fault["loc"][0]) if fault["loc"] else ""
        given = "" if any(word in name for word in _SECRETS) else f"={fault['input']!r}"
        lines.append(f"{_place(name, flags, table, file, prefix)}{given}: {_reason(fault['msg'])}")
    return "; ".join(dict.fromkeys(lines))


def _place(name: str, flags: Mapping[str, Any], table: Mapping[str, Any], file: Path | None, prefix: str) -> str:
    if name in flags:
        return f"--{name.replace('_', '-')}"
    if os.environ.get(f"{prefix}{name.upper()}"):
        return f"{prefix}{name.upper()}"
    return f"{file}: {name}" if name in table else name


def _reason(message: str) -> str:
    plain = message.removeprefix("Value error, ")
    return plain[:1].lower() + plain[1:]


def _table(file: Path | None) -> dict[str, Any]:
    return tomllib.loads(file.read_text(encoding="utf-8")) if file else {}


def _nearest(name: str, fields: Iterable[str]) -> list[str]:
    from difflib import get_close_matches

    return get_close_matches(name, list(fields), n=2, cutoff=0.6)


def _hint(near: Iterable[str]) -> str:
    found = ", ".join(near)
    return f"; did you mean {found}?" if found else "; docs/service.md lists all"
