"""Where cards come from: a checkout, a table, the Hub, or the bundled demo catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from ale_semantic.errors import CardError
from ale_semantic.fields import RawCard


@dataclass(frozen=True, slots=True)
class Origin:
    """What a source is: shown in `info` and carried by every export."""

    name: str
    revision: str | None = None
    demo: bool = False


class Source(Protocol):
    """Anything that yields raw cards."""

    @property
    def origin(self) -> Origin:
        """Return what this source is."""

    def raw_cards(self) -> Iterator[RawCard | CardError]:
        """Yield each card's raw mapping, or the error that says why it can't be read."""
