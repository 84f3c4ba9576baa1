"""Reading one field of a raw card: the names it goes by, and the shapes it comes in."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ale_semantic.errors import CardError

# Each public field with the names it goes by, best first. Nothing outside this list gets past the loader:
# how a task is graded (evaluation, referenceFiles, evaluatorCredentials, outputContracts) is not in it.
PUBLIC_FIELDS: Mapping[str, tuple[str, ...]] = {
    "task_id": ("taskId", "task_id", "id"),
    "title": ("title", "taskName", "task_name"),
    "summary": ("summary",),
    "prompt": ("taskPrompt", "task_prompt", "prompt"),
    "must_do": ("agentMustDo", "agent_must_do"),
    "category": ("category", "domain"),
    "subdomain": ("subdomain",),
    "software": ("software",),
    "inputs": ("inputFiles", "input_files", "inputs"),
    "tiers": ("tiers", "task_split"),
    "taxonomy": ("taxonomy",),
    "vm": ("vm",),
    "os": ("os",),
    "gpu": ("gpu",),
    "licensed": ("licensed",),
    "timeout": ("timeout",),
    "variants": ("variants",),
    "published": ("published",),
    "source_path": ("source_repo_path",),
    "findings": ("findings",),
}

# Text that begins like this is a list or an object, not the first line of some prose ("[Optional] ...").
_STRUCTURE = re.compile(r"""\s*(?:\{|\[\s*["'{\[\]])""")
_ITEM_ENDS = frozenset("'\"}]")


@dataclass(frozen=True, slots=True)
class RawCard:
    """One card as a source yields it: where it stands, the id that its place gives it, and its data."""

    where: str
    data: Mapping[str, Any]
    task_id: str | None = None


class FieldReader:
    """Typed access to the public fields of one raw card; a wrong shape is a CardError that names the field."""

    def __init__(self, raw: RawCard) -> None:
        """Keep the public part of the raw card."""
        self.where = raw.where
        self._found: dict[str, tuple[str, Any]] = {}
        for field, names in PUBLIC_FIELDS.items():
            for name in names:
                value = raw.data.get(name)
                if not _is_empty(value):
                    self._found[field] = (name, value)
                    break

    def used_name(self, field: str) -> str | None:
        """Return the name under which the card gives a field, or None."""
        return self._found[field][0] if field in self._found else None

    def text(self, field: str) -> str | None:
        """Return a text field, trimmed, or None."""
        value = self._value(field)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.error(field, f"must be text, found {type(value).__name__}")
        return value.strip() or None

    def required_text(self, field: str) -> str:
        """Return a text field that must be there."""
        value = self.text(field)
        if value is None:
            names = " or ".join(f"'{name}'" for name in PUBLIC_FIELDS[field])
            raise CardError(self.where, PUBLIC_FIELDS[field][0], f"is missing or blank (looked for {names})")
        return value

    def integer(self, field: str) -> int | None:
        """Return a whole, non-negative number, or None."""
        value = self._value(field)
        if value is None:
            return None
        try:
            number = float(value) if not isinstance(value, bool) else float("nan")
        except (TypeError, ValueError, OverflowError):
            number = float("nan")
        if not number.is_integer() or number < 0:
            raise self.error(field, f"must be a whole number, found {value!r}")
        return int(number)

    def boolean(self, field: str) -> bool | None:
        """Return a truth value, or None."""
        value = self._value(field)
        if value is None or isinstance(value, bool):
            return value
        words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
        try:
            return words[str(value).strip().casefold()]
        except KeyError:
            raise self.error(field, f"must be true or false, found {value!r}") from None

    def items(self, field: str) -> tuple[Any, ...]:
        """Return a list field, given as a list, as JSON text, as a Python list or one a line."""
        value = self._value(field)
        if value is None:
            return ()
        if isinstance(value, str):
            value = self._decoded_list(field, value)
        elif hasattr(value, "tolist"):  # a NumPy array, as pandas yields for a list column
            value = value.tolist()
        if not isinstance(value, Sequence) or isinstance(value, (bytes, str)):
            raise self.error(field, f"must be a list, found {type(value).__name__}")
        return tuple(item for item in value if not _is_empty(item))

    def texts(self, field: str) -> tuple[str, ...]:
        """Return a list of texts, trimmed, without blanks."""
        items = self.items(field)
        for item in items:
            if not isinstance(item, str):
                raise self.error(field, f"must hold texts only, found {type(item).__name__}")
        return tuple(item.strip() for item in items if item.strip())

    def mapping(self, field: str) -> Mapping[str, Any]:
        """Return a nested field, given nested, as JSON text or as a Python mapping."""
        value = self._value(field)
        if value is None:
            return {}
        if isinstance(value, str):
            value = self._decoded(field, value)
        if not isinstance(value, Mapping):
            raise self.error(field, f"must be an object, found {type(value).__name__}")
        return value

    def error(self, field: str, problem: str) -> CardError:
        """Return the error that names this card and the field by the name the card uses."""
        return CardError(self.where, self.used_name(field) or PUBLIC_FIELDS[field][0], problem)

    def _value(self, field: str) -> Any:
        return self._found[field][1] if field in self._found else None

    def _decoded_list(self, field: str, text: str) -> Any:
        """Decode a list that a table stores as text; other text is one item a line."""
        if _STRUCTURE.match(text):
            return self._decoded(field, text)
        try:
            value = parse_json(text)
        except ValueError:
            value = None
        return value if isinstance(value, list) else text.strip().splitlines()

    def _decoded(self, field: str, text: str) -> Any:
        """Decode JSON, or what data frames write into a table's cell: Python's and NumPy's notation."""
        try:
            return parse_json(text)
        except ValueError as fault:
            problem = str(fault)
        try:
            return ast.literal_eval(_with_commas(text.strip()))
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError, tokenize.TokenError):
            raise self.error(field, f"is not JSON ({problem})") from None


def parse_json(text: str) -> Any:
    """Return the value of a JSON text.

    Raises:
        ValueError: if it isn't JSON, with a message that says where.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as fault:
        raise ValueError(f"{fault.msg} at line {fault.lineno}, character {fault.colno}") from None
    except RecursionError:
        raise ValueError("too deeply nested") from None


def _is_empty(value: Any) -> bool:
    """Tell whether a source left a value out: null, NaN (pandas' null), or blank text."""
    if value is None or (isinstance(value, float) and value != value):
        return True
    return isinstance(value, str) and not value.strip()


def _with_commas(text: str) -> str:
    """Return a Python literal with commas between the items of a NumPy array, which prints none.

    Without them `['a' 'b']` would be read as one text, 'ab'.
    """
    parts: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(" ".join(text.splitlines())).readline):
        if not token.string.strip():  # the end of the line, or of the text
            continue
        ended = bool(parts) and parts[-1][-1] in _ITEM_ENDS
        if ended and (token.type == tokenize.STRING or token.string in ("{", "[")):
            parts.append(",")
        parts.append(token.string)
    return " ".join(parts)
