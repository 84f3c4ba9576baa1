"""Where things are: environment variables and default folders, in one place.

| variable        | meaning                                             | default                          |
|-----------------|-----------------------------------------------------|----------------------------------|
| ALE_CARDS       | the catalogue: a folder, file, `hub`, `demo`, `auto` | `auto`                           |
| ALE_INDEX       | the folder of the index bundle                      | `index` in the user's cache      |
| ALE_MODEL       | the encoder: a registry name or a local folder      | `minilm`                         |
| ALE_HUB_TIMEOUT | seconds to wait for the Hub when `auto` asks it     | `3`                              |
| ALE_CACHE       | the folder of vectors and exported encoders kept    | the user's cache                 |
| ALE_CACHE_MB    | megabytes that a build leaves in the embedding cache | `4096`                          |
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path

from ale_semantic.errors import AleSemanticError

CARDS_VARIABLE = "ALE_CARDS"
INDEX_VARIABLE = "ALE_INDEX"
MODEL_VARIABLE = "ALE_MODEL"
HUB_TIMEOUT_VARIABLE = "ALE_HUB_TIMEOUT"
CACHE_VARIABLE = "ALE_CACHE"
CACHE_SIZE_VARIABLE = "ALE_CACHE_MB"
DEFAULT_CACHE_MB = 4096  # some 16,000 long cards or 150,000 short ones
DEFAULT_CARDS = "auto"
DEFAULT_MODEL = "minilm"
_LONGEST_HUB_TIMEOUT = 3600.0
DEFAULT_HUB_TIMEOUT = 3.0  # long enough for a healthy connection, short enough not to be felt as a hang


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one run."""

    cards: str
    index: Path
    model: str
    hub_timeout: float

    @classmethod
    def from_environment(cls) -> Settings:
        """Read the settings from the environment.

        Raises:
            AleSemanticError: if a number isn't one, or out of range.
        """
        timeout = os.environ.get(HUB_TIMEOUT_VARIABLE, "") or str(DEFAULT_HUB_TIMEOUT)
        try:
            seconds = float(timeout)
        except ValueError:
            seconds = math.nan
        if not 0 <= seconds <= _LONGEST_HUB_TIMEOUT:
            raise AleSemanticError(f"{HUB_TIMEOUT_VARIABLE}={timeout!r} is not a number of seconds up to an hour")
        index = os.environ.get(INDEX_VARIABLE, "")
        return cls(
            cards=os.environ.get(CARDS_VARIABLE, "") or DEFAULT_CARDS,
            index=Path(index) if index else default_index(),
            model=os.environ.get(MODEL_VARIABLE, "") or DEFAULT_MODEL,
            hub_timeout=seconds,
        )


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """Where the embedding cache is, and how many bytes of contents a build leaves in it."""

    folder: Path
    limit: int

    @classmethod
    def from_environment(cls) -> CacheSettings:
        """Read the settings from the environment.

        Raises:
            AleSemanticError: if the size is no number of megabytes.
        """
        given = os.environ.get(CACHE_SIZE_VARIABLE, "") or str(DEFAULT_CACHE_MB)
        if not given.isascii() or not given.isdigit():
            raise AleSemanticError(f"{CACHE_SIZE_VARIABLE}={given!r} is not a whole number of megabytes")
        folder = os.environ.get(CACHE_VARIABLE, "")
        return cls(Path(folder) if folder else cache_folder(), int(given) * 1_000_000)


def cache_folder() -> Path:
    """Return the user's cache folder of this program (not created)."""
    import platformdirs

    return Path(platformdirs.user_cache_dir("ale-semantic", appauthor=False))


def encoders_folder() -> Path:
    """Return the folder in which exported encoders are kept for other indexes (not created)."""
    folder = os.environ.get(CACHE_VARIABLE, "")
    return (Path(folder) if folder else cache_folder()) / "encoders"


def default_index() -> Path:
    """Return the folder of the index bundle when none is named."""
    return cache_folder() / "index"
