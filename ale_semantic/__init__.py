"""Semantic search over agent-benchmark task cards.

from ale_semantic import Catalogue, Engine

engine = Engine.open()
engine.search("reconcile supplier invoices", where="os = linux", k=10).to_pandas()
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ale_semantic.catalogue import Catalogue
    from ale_semantic.embeddings.build import build_index
    from ale_semantic.engine import Engine

__version__ = "0.1.0"
__all__ = ["Catalogue", "Engine", "build_index"]
_HOMES = {
    "Catalogue": "ale_semantic.catalogue",
    "Engine": "ale_semantic.engine",
    "build_index": "ale_semantic.embeddings.build",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that importing the package stays instant."""
    if name not in _HOMES:
        raise AttributeError(f"module 'ale_semantic' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
