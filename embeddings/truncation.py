"""How far a model's vectors may be cut (Matryoshka representation learning): what its own settings say of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

CONFIG = "config.json"
_MODULES = "modules.json"
_LENGTHS, _ANY_LENGTH = "matryoshka_dimensions", "is_matryoshka"  # as model authors write it for inference servers


def config_file(folder: Path) -> Path | None:
    """Return the settings of the network in a sentence-transformers folder, None if it has none."""
    places = [folder / CONFIG]
    modules = _read(folder / _MODULES)
    if isinstance(modules, list) and modules and isinstance(modules[0], dict):
        places.insert(0, folder / str(modules[0].get("path", "")) / CONFIG)
    return next((place for place in places if place.is_file()), None)


def fewest_dimensions(folder: Path | None) -> int | None:
    """Return the fewest dimensions that a model's settings vouch for; None if they don't speak of it.

    Args:
        folder: a sentence-transformers folder, or that of an exported encoder.
    """
    file = config_file(folder) if folder is not None else None
    found = _read(file) if file is not None else None
    if not isinstance(found, dict):
        return None
    lengths = found.get(_LENGTHS)
    if isinstance(lengths, list):
        whole = [length for length in lengths if isinstance(length, int) and not isinstance(length, bool)]
        return min((length for length in whole if length > 0), default=None)
    return 1 if found.get(_ANY_LENGTH) is True else None


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
