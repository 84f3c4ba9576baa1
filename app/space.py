"""The entry point of a Hugging Face Space: builds the index on first start, then serves the page on all addresses.

A Space that installs the package needs one file, `app.py`: `from ale_semantic.app.space import main; main()`.
"""

from __future__ import annotations

import os
import sys

from ale_semantic.app import launch
from ale_semantic.errors import AleSemanticError

PORT = 7860  # where Spaces expect a Gradio app


def main() -> None:
    """Open the index, building it first if there is none, and serve until stopped."""
    from ale_semantic.catalogue import Catalogue
    from ale_semantic.embeddings.build import build_index
    from ale_semantic.embeddings.bundle import has_index
    from ale_semantic.engine import Engine
    from ale_semantic.settings import Settings

    settings = Settings.from_environment()
    try:
        if not has_index(settings.index):
            catalogue = Catalogue.load(settings.cards, hub_timeout=settings.hub_timeout)
            for notice in catalogue.notices:
                print(notice, file=sys.stderr)
            build_index(catalogue, settings.index, model=settings.model)
        port = int(os.environ.get("GRADIO_SERVER_PORT") or PORT)
        launch(Engine.open(settings.index), host=os.environ.get("GRADIO_SERVER_NAME") or "0.0.0.0", port=port)
    except AleSemanticError as fault:
        sys.exit(f"ale-semantic: {fault}")


if __name__ == "__main__":
    main()
