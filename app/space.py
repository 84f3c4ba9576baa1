"""The entry point of a Hugging Face Space: builds the index on first start, then serves the page on all addresses.

It runs from a copy of the repository, installed or not: a Space installs requirements before it has the code.
"""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

PORT = 7860  # where Spaces expect a Gradio app


def main() -> None:
    """Open the index, building it first if there is none, and serve until stopped."""
    _make_importable()
    from ale_semantic.app import launch
    from ale_semantic.catalogue import Catalogue
    from ale_semantic.embeddings.build import build_index
    from ale_semantic.embeddings.bundle import has_index
    from ale_semantic.engine import Engine
    from ale_semantic.errors import AleSemanticError
    from ale_semantic.settings import Settings

    try:
        settings = Settings.from_environment()
        if not has_index(settings.index):
            catalogue = Catalogue.load(settings.cards, hub_timeout=settings.hub_timeout)
            for notice in catalogue.notices:
                print(notice, file=sys.stderr)
            build_index(catalogue, settings.index, model=settings.model)
        port = int(os.environ.get("GRADIO_SERVER_PORT") or PORT)
        engine = Engine.open(settings.index, warm=True)
        launch(engine, host=os.environ.get("GRADIO_SERVER_NAME") or "0.0.0.0", port=port)
    except AleSemanticError as fault:
        sys.exit(f"ale-semantic: {fault}")


def _make_importable() -> None:
    """Let the three folders of a bare copy be found under the one import name."""
    folder = Path(__file__).resolve().parent
    sys.path[:] = [
        place for place in sys.path if Path(place or ".").resolve() != folder
    ]  # its modules aren't top-level
    if find_spec("ale_semantic") is None:
        sys.path.insert(0, str(folder.parent))
    import ale_semantic

    if find_spec("ale_semantic.app") is None:
        ale_semantic.__path__.append(str(folder.parent))


if __name__ == "__main__":
    main()
