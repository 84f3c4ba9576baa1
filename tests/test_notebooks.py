"""The notebooks run from top to bottom, on the public names alone."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest
from toy import HashEncoder

import ale_semantic
from ale_semantic.catalogue import Catalogue
from ale_semantic.embeddings.build import build_index
from ale_semantic.embeddings.space import VectorSpace

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "notebooks").glob("*.ipynb"))


def code_of(path: Path) -> list[str]:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_imports_public_names_only(path: Path) -> None:
    for source in code_of(path):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ale_semantic"):
                assert node.module == "ale_semantic"
                assert {alias.name for alias in node.names} <= set(ale_semantic.__all__)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def quick_build(catalogue: Catalogue, folder: str) -> Any:
        return build_index(catalogue, folder, encoder=HashEncoder())

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("ale_semantic.embeddings.build.build_index", quick_build)
    monkeypatch.setattr(VectorSpace, "load_encoder", lambda self: HashEncoder())
    names: dict[str, Any] = {}
    for source in code_of(path):
        exec(compile(source, str(path), "exec"), names)
    assert NOTEBOOKS
    assert len(names["engine"].catalogue) == names["report"].cards
