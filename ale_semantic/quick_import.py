"""Libraries imported without what they can do without."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from threading import get_ident
from types import ModuleType
from typing import Any


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Let the import of some modules fail in this thread, as if they weren't installed; those imported already stay."""
    finder = _Absent(names)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        finder.over = True  # it stays, idle: were it taken out, a thread amid the list would skip a finder


def own_copy(name: str, *, leave_out: Sequence[str]) -> Any:
    """Return a package imported without some modules, for the caller alone: who imports it afterwards has it whole.

    Args:
        name: of the package; if it is imported already, that is returned.
        leave_out: modules that it uses only if they are there.
    """
    if name in sys.modules:
        return sys.modules[name]
    try:
        with without(*leave_out):
            return import_module(name)
    finally:
        for own in [own for own in sys.modules if own == name or own.startswith(f"{name}.")]:
            del sys.modules[own]


class _Absent(MetaPathFinder):
    def __init__(self, names: Sequence[str]) -> None:
        self._names, self._thread = frozenset(names), get_ident()
        self.over = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if self.over or fullname not in self._names or get_ident() != self._thread:
            return None
        raise ModuleNotFoundError(f"{fullname} is left out", name=fullname)
