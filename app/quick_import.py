"""Gradio started in less than half of its usual time, in a process that has no other use for it than the page.

What is left out is what the page doesn't use: the type stubs that Gradio writes for editors into its own folder, each
time anew; its own MCP server (the service has another); and the servers that Gradio makes while a page is built, and
throws away.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from threading import get_ident
from types import ModuleType
from typing import Any

from ale_semantic.quick_import import without

_STUBS = ("gradio.component_meta", "create_or_modify_pyi")  # the module and its function that writes them
_UNUSED = "mcp"


def import_gradio() -> None:
    """Import Gradio; where another part of the program has imported it, or what is left out, that stays as it is."""
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # Gradio reads it when it is imported
    if "gradio" in sys.modules:
        import gradio  # waits for another thread that is at it

        return
    finder = _Shortcuts()
    sys.meta_path.insert(0, finder)
    try:
        with without(_UNUSED):
            import gradio  # noqa: F401
    finally:
        finder.over = True  # it stays, idle, as those of `without` do


@contextmanager
def spare_apps_left_out() -> Iterator[None]:
    """Build a page without the two servers that are replaced when it is launched or mounted."""
    from gradio.routes import App

    usual = App.create_app
    App.create_app = staticmethod(lambda *_, **__: None)  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        App.create_app = staticmethod(usual)  # type: ignore[method-assign]


class _Shortcuts(MetaPathFinder):
    """Finds the module that writes the stubs while one thread imports Gradio."""

    def __init__(self) -> None:
        self._thread = get_ident()
        self._asked: set[str] = set()
        self.over = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if self.over or get_ident() != self._thread or fullname in self._asked:
            return None
        if fullname != _STUBS[0]:
            return None
        self._asked.add(fullname)
        found = PathFinder.find_spec(fullname, path)
        if found is None or not isinstance(found.loader, SourceFileLoader):
            return None
        found.loader = _WithoutStubs(found.loader.name, found.loader.path)
        return found


class _WithoutStubs(SourceFileLoader):
    """Loads the module that writes the stubs, and stops it from doing so."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        if hasattr(module, _STUBS[1]):
            setattr(module, _STUBS[1], _write_nothing)


def _write_nothing(*_: Any) -> None:
    pass
