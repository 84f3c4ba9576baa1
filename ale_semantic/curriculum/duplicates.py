"""Near-duplicates within the catalogue, and leaks between it and a user's own tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ale_semantic.curriculum.material import TWIN_CLOSENESS, TWIN_WORDING, Material
from ale_semantic.curriculum.own_tasks import OwnTask
from ale_semantic.curriculum.records import Pool, Record, TaskRef, require_tasks
from ale_semantic.curriculum.shared_text import shared_text
from ale_semantic.curriculum.similarity import closeness_of, text_similarity, worded_text
from ale_semantic.errors import CurriculumError
from ale_semantic.types import Band, Provenance

if TYPE_CHECKING:
    from ale_semantic.engine import Engine

WEAK_SHARE = 0.6  # of either threshold: from here on a pair is worth a look, though no near twin


_LEAST_THRESHOLD = 0.001  # closeness is told in three digits; what is far smaller would divide by zero


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinThresholds(Record):
    """From where on two tasks are near twins: either their shared wording or their closeness of meaning."""

    wording: float = TWIN_WORDING
    closeness: float = TWIN_CLOSENESS

    def __post_init__(self) -> None:
        """Refuse thresholds that mean nothing.

        Raises:
            CurriculumError: naming the threshold.
        """
        for name, value in (("wording", self.wording), ("closeness", self.closeness)):
            if not value >= _LEAST_THRESHOLD:
                raise CurriculumError(
                    f"the {name} threshold must be above 0 ({_LEAST_THRESHOLD:g} at least), not {value:g}; "
                    "above 1 switches it off"
                )

    def degree(self, wording: NDArray[np.float32], closeness: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return how far pairs reach the nearer threshold: 1 and more is a near twin."""
        return np.asarray(np.maximum(wording / self.wording, closeness / self.closeness), dtype=np.float64)


def band_of(degree: float) -> Band:
    """Return the band of a pair: strong for near twins, weak for those worth a look."""
    return Band.STRONG if degree >= 1 else Band.WEAK if degree >= WEAK_SHARE else Band.NONE


@dataclass(frozen=True, slots=True)
class TwinPair(Record):
    """Two near-duplicate tasks, with the evidence and the longest text they share."""

    first: TaskRef
    second: TaskRef
    band: Band
    closeness: float
    wording: float
    shared: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DuplicateReport(Record):
    """The pairs at these thresholds, most alike first, out of so many compared; `found` counts those left out too."""

    thresholds: TwinThresholds
    pairs: tuple[TwinPair, ...]
    compared: int
    found: int
    provenance: Provenance | None


@dataclass(frozen=True, slots=True)
class Leak(Record):
    """One of the user's own tasks with the task of the catalogue that is most alike."""

    own: str
    nearest: TaskRef
    band: Band
    closeness: float
    wording: float
    shared: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LeakReport(Record):
    """Each own task with its nearest, in the order of the file; `leaks` counts those that are near twins."""

    thresholds: TwinThresholds
    tasks: tuple[Leak, ...]
    leaks: int
    provenance: Provenance | None


def duplicates(
    engine: Engine,
    *,
    thresholds: TwinThresholds | None = None,
    pool: Pool | None = None,
    include_weak: bool = False,
    most: int | None = None,
) -> DuplicateReport:
    """List the near-duplicate pairs of the pool; other thresholds embed nothing again.

    Args:
        engine: the engine.
        thresholds: from where on a pair is listed.
        pool: which tasks are compared; None compares all.
        include_weak: also list pairs that are worth a look.
        most: list no more pairs than this; None lists all.
    """
    limits, chosen = thresholds or TwinThresholds(), pool or Pool()
    material = Material.of(engine)
    allowed = chosen.mask(material.catalogue, material.facets)
    require_tasks(allowed, chosen)
    degrees = limits.degree(material.overlap, material.near())
    degrees = np.triu(np.where(allowed[:, None] & allowed[None, :], degrees, 0.0), k=1)
    found = int(np.sum(degrees >= (WEAK_SHARE if include_weak else 1.0)))
    order = np.argsort(-degrees, axis=None, kind="stable")[: found if most is None else min(found, most)]
    pairs = tuple(
        _pair(material, int(first), int(second), float(degrees[first, second]))
        for first, second in zip(*np.unravel_index(order, degrees.shape), strict=True)
    )
    count = int(allowed.sum())
    return DuplicateReport(limits, pairs, count * (count - 1) // 2, found, material.provenance)


def _pair(material: Material, first: int, second: int, degree: float) -> TwinPair:
    found = material.likeness(first, second)
    texts = [worded_text(material.catalogue.cards[row]) for row in (first, second)]
    return TwinPair(
        first=material.ref(first),
        second=material.ref(second),
        band=band_of(degree),
        closeness=found.closeness if found.closeness is not None else 0.0,
        wording=found.wording,
        shared=shared_text(*texts),
    )


def leaks(engine: Engine, own: Sequence[OwnTask], *, thresholds: TwinThresholds | None = None) -> LeakReport:
    """Compare a user's own tasks with the catalogue.

    Args:
        engine: the engine.
        own: the user's tasks, see `read_own_tasks`.
        thresholds: from where on a task counts as a leak.

    Raises:
        CurriculumError: if there is no task.
    """
    if not own:
        raise CurriculumError("there is no task to compare")
    limits = thresholds or TwinThresholds()
    material = Material.of(engine)
    texts = [task.text for task in own]
    closeness = closeness_of(text_similarity(engine, texts), material.chance)
    wording = material.wording.with_texts(texts)
    degrees = limits.degree(wording, closeness)
    found = []
    for place, task in enumerate(own):
        row = int(np.argmax(degrees[place]))
        found.append(
            Leak(
                own=task.name,
                nearest=material.ref(row),
                band=band_of(float(degrees[place, row])),
                closeness=float(closeness[place, row]),
                wording=float(wording[place, row]),
                shared=shared_text(task.text, worded_text(material.catalogue.cards[row])),
            )
        )
    return LeakReport(limits, tuple(found), sum(leak.band is Band.STRONG for leak in found), material.provenance)
