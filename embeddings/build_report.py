"""What a build did, and whether there is anything to do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ale_semantic import __version__
from ale_semantic.catalogue import Catalogue
from ale_semantic.skill_definitions import definitions_digest, load_skills
from ale_semantic.types import Field

from .card_analysis import VERSION as ANALYSIS_VERSION
from .earlier import EarlierIndex
from .encoder import EncoderIdentity
from .multilingual import ROLE, chosen_model
from .passages import FieldTokens
from .serving import is_served

_FIELDS = tuple(Field)
UNCHANGED = "nothing has changed since the index was built: it stands as it is"


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did; `embedded` and `reused` count cards. Where nothing was to be done, `unchanged` is set."""

    folder: Path
    cards: int
    passages: int
    embedded: int
    reused: int
    tokens_seen: int
    tokens_dropped: int
    ledger_file: Path
    model: EncoderIdentity
    exported: bool
    seconds: float
    notices: tuple[str, ...]
    unchanged: bool = False

    @property
    def ledger(self) -> tuple[FieldTokens, ...]:
        """Return the tokens seen and dropped of each field of each card, read from the bundle."""
        return read_ledger(self.ledger_file)


class LedgerWriter:
    """Writes the token ledger, a JSON list with one field of one card a line, as the cards come."""

    def __init__(self, path: Path) -> None:
        """Begin the file."""
        self.seen = self.dropped = 0
        self._file = path.open("w", encoding="utf-8")
        self._file.write("[")
        self._between = "\n"

    def add(self, cards: Iterable[tuple[str, NDArray[np.int32]]]) -> None:
        """Add the entries of the next cards: each one's id, and field, seen and dropped, shape (fields, 3)."""
        for task_id, entries in cards:
            name = json.dumps(task_id, ensure_ascii=False)
            for field, seen, dropped in entries.tolist():
                self.seen += seen
                self.dropped += dropped
                line = f'{{"task_id": {name}, "field": "{_FIELDS[field]}", "seen": {seen}, "dropped": {dropped}}}'
                self._file.write(self._between + line)
                self._between = ",\n"

    def close(self) -> None:
        """End the file."""
        if self._file.closed:
            return
        self._file.write("\n]\n")
        self._file.close()


def read_ledger(path: Path) -> tuple[FieldTokens, ...]:
    """Return the entries of a ledger that `LedgerWriter` wrote."""
    entries = json.loads(path.read_text(encoding="utf-8"))
    return tuple(FieldTokens(**entry | {"field": Field(entry["field"])}) for entry in entries)


def recipe() -> dict[str, str]:
    """Return all but cards and models that decides what stands in a bundle."""
    weights = (resources.files("ale_semantic") / "data" / "skill_model.json").read_bytes()
    return {
        "version": __version__,
        "analysis": ANALYSIS_VERSION,
        "skills": definitions_digest(load_skills()),
        "skill_model": hashlib.sha256(weights).hexdigest(),
    }


def unchanged(
    catalogue: Catalogue, index: EarlierIndex | None, model: str | EncoderIdentity, languages: bool | str | None
) -> BuildReport | None:
    """Return a report if an index is just what a build would make; else None.

    Args:
        catalogue: the cards.
        index: the index that is there, if there is one.
        model: name or identity of the encoder.
        languages: which model, if any, is wanted for queries in other languages (`chosen_model`).

    Raises:
        EncoderError: if a model can't be found.
        MissingExtraError: if it needs a package that isn't installed.
    """
    if index is None:
        return None
    manifest, ledger = index.manifest, index.paths.ledger
    try:
        main, *others = manifest["spaces"]
        identity = EncoderIdentity(**main["encoder"])
        second = next((one for one in others if ROLE in one), None)
        if manifest.get("recipe") != recipe() or not _same_cards(manifest["catalogue"], catalogue):
            return None
        seen, dropped = _sums(manifest, ledger)
    except (OSError, ValueError, TypeError, KeyError):
        return None
    wanted = chosen_model(languages, identity)
    if not is_served(model, main) or (second is None) != (wanted is None):
        return None
    if wanted is not None and second is not None and not is_served(wanted, second):
        return None
    return BuildReport(
        folder=index.paths.root.parent,
        cards=len(catalogue),
        passages=main["passages"],
        embedded=0,
        reused=len(catalogue),
        tokens_seen=seen,
        tokens_dropped=dropped,
        ledger_file=ledger,
        model=identity,
        exported=main["exported"],
        seconds=0.0,
        notices=(*main["serving"], UNCHANGED),
        unchanged=True,
    )


def _sums(manifest: Mapping[str, Any], file: Path) -> tuple[int, int]:
    """Return how many tokens were seen and dropped: of a large catalogue the ledger itself would take gigabytes."""
    kept = manifest.get("ledger")
    if kept is not None:
        return int(kept["seen"]), int(kept["dropped"])
    ledger = read_ledger(file)  # of an index that an earlier version built
    return sum(entry.seen for entry in ledger), sum(entry.dropped for entry in ledger)


def _same_cards(stored: dict[str, Any], catalogue: Catalogue) -> bool:
    origin = catalogue.origin
    now = {"name": origin.name, "revision": origin.revision, "demo": origin.demo}
    return stored == {**now, "fingerprint": catalogue.fingerprint, "cards": len(catalogue)}
