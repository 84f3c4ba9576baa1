"""Gradio started in less than half of its usual time, in a process that has no other use for it than the page.

What is left out is what the page doesn't use: the type stubs that Gradio writes for editors into its own folder, each
time anew; its own MCP server (the service has another); pandas, which comes with the first table; and the servers that
Gradio makes while a page is built, and throws away.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from threading import get_ident
from types import ModuleType
from typing import Any

_STUBS = ("gradio.component_meta", "create_or_modify_pyi")  # the module and its function that writes them
_UNUSED = "mcp"
_LATER = "pandas"


def import_gradio() -> None:
    """Import Gradio; where another part of the program has imported it, or what is left out, that stays as it is."""
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # Gradio reads it when it is imported
    finder = _Shortcuts()
    sys.meta_path.insert(0, finder)
    try:
        import gradio  # noqa: F401
    finally:
        sys.meta_path.remove(finder)
        if isinstance(sys.modules.get(_LATER), _Later):
            del sys.modules[_LATER]  # for the rest of the program it hasn't been imported


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
    """Finds the modules that are left out while one thread imports Gradio; what it doesn't know stays as it is."""

    def __init__(self) -> None:
        self._thread = get_ident()
        self._asked: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if get_ident() != self._thread or fullname in self._asked or fullname not in {_STUBS[0], _UNUSED, _LATER}:
            return None
        if fullname == _UNUSED:
            raise ModuleNotFoundError("not needed by the page", name=fullname)
        self._asked.add(fullname)
        found = PathFinder.find_spec(fullname, path)
        if found is None or not isinstance(found.loader, SourceFileLoader):
            return None
        if fullname == _LATER:
            found.loader = _LaterLoader()
        else:
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


class _Later(ModuleType):
    """Stands for a module that is imported when something of it is first used."""

    def __getattr__(self, name: str) -> Any:
        if name in {"__file__", "__cached__", "__path__"}:  # which the import itself looks for, to set them
            raise AttributeError(name)
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(import_module(self.__name__), name)


class _LaterLoader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Later(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass
