"""Subsets: k tasks that stand for the catalogue, a filter or a topic, under quotas and lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ale_semantic.curriculum.facility import Chosen, Weights, kernel, lazy_greedy, random_value, swap_improve
from ale_semantic.curriculum.material import Material
from ale_semantic.curriculum.quotas import EACH, Quota, Requirements, expand
from ale_semantic.curriculum.records import EVERYTHING, Pool, Record, TaskRef, require_tasks
from ale_semantic.curriculum.relevance import topic_relevance
from ale_semantic.curriculum.skills import NO_SKILLS
from ale_semantic.errors import CurriculumError, LimitError
from ale_semantic.fusion import Mask
from ale_semantic.types import Provenance

if TYPE_CHECKING:
    from ale_semantic.engine import Engine

_GAPS_SHOWN = 15
_GAP_FIELDS = ("domain", "tier", "os")


@dataclass(frozen=True, slots=True, kw_only=True)
class SubsetRequest(Record):
    """What to choose.

    Attributes:
        k: the number of tasks.
        pool: which tasks may be taken; these are also the ones to stand for.
        topic: weigh the tasks to stand for by their nearness to this topic.
        quotas: what must be kept.
        must: ids that are taken in any case.
        cover: fields of which each value is to be met at least once where k allows it.
        allow_twins: near twins may both be taken.
    """

    k: int
    pool: Pool = EVERYTHING
    topic: str = ""
    quotas: tuple[Quota, ...] = ()
    must: tuple[str, ...] = ()
    cover: tuple[str, ...] = ("domain",)
    allow_twins: bool = False


@dataclass(frozen=True, slots=True)
class Pick(Record):
    """One chosen task: what it added to the coverage, how many tasks it stands for best, and why it is there."""

    task: TaskRef
    gain: float
    represents: int
    reason: str


@dataclass(frozen=True, slots=True)
class UncoveredTask(Record):
    """A task that the choice stands for badly, with the nearest chosen one."""

    task: TaskRef
    coverage: float
    nearest: str


@dataclass(frozen=True, slots=True)
class MissingValues(Record):
    """The values of a field that tasks of the pool have and no chosen task has."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SubsetResult(Record):
    """A choice. `coverage` is its value over the most there is; `random` is the mean value of random choices."""

    request: SubsetRequest
    picks: tuple[Pick, ...]
    value: float
    coverage: float
    random: float
    uncovered: tuple[UncoveredTask, ...]
    uncovered_total: int
    missing: tuple[MissingValues, ...]
    provenance: Provenance | None
    notices: tuple[str, ...] = field(default=())

    @property
    def task_ids(self) -> tuple[str, ...]:
        """Return the ids of the chosen tasks in the order they were taken."""
        return tuple(pick.task.task_id for pick in self.picks)


def subset(engine: Engine, request: SubsetRequest) -> SubsetResult:
    """Choose k tasks that stand for all others best.

    Raises:
        LimitError: if k, quotas and lists can't be met together; it names what fails and offers the nearest.
        UnknownNameError: if a task, field or value is unknown.
    """
    material = Material.of(engine)
    allowed = request.pool.mask(material.catalogue, material.facets)
    require_tasks(allowed, request.pool)
    if request.k < 1:
        raise CurriculumError(f"k must be at least 1, not {request.k}")
    must = _must_rows(material, request, allowed)
    needs, notices = _requirements(material, request, allowed, must)
    similarity = kernel(material.near())
    weights = _weights(engine, request, allowed)
    chosen = _choose(needs, similarity, weights)
    if material.skills is None:
        notices += (NO_SKILLS,)
    return _result(material, request, allowed, similarity, weights, chosen, notices)


def _must_rows(material: Material, request: SubsetRequest, allowed: Mask) -> tuple[int, ...]:
    rows = tuple(material.catalogue.row(task_id) for task_id in dict.fromkeys(request.must))
    outside = [material.catalogue.cards[row].task_id for row in rows if not allowed[row]]
    if outside:
        raise LimitError(f"must-have {outside[0]!r} is left out by the filter or the exclusions: drop one of the two")
    if len(rows) > request.k:
        raise LimitError(f"{len(rows)} must-haves don't fit into k = {request.k}: raise k to {len(rows)} or more")
    return rows


def _requirements(
    material: Material, request: SubsetRequest, allowed: Mask, must: tuple[int, ...]
) -> tuple[Requirements, tuple[str, ...]]:
    """Return requirements that can be met; the wish to cover each value gives way where it must."""
    twins = None if request.allow_twins else material.twins()
    wishes = expand((Quota(name, EACH, 1) for name in request.cover), material.facets, allowed)

    def needs(quotas: Sequence[Quota]) -> Requirements:
        return Requirements.of(material.facets, size=request.k, allowed=allowed, must=must, quotas=quotas, twins=twins)

    wished = needs((*request.quotas, *wishes))
    if wished.is_free or wished.complete(()) is not None:
        return wished, ()
    asked = needs(request.quotas)
    if asked.complete(()) is not None:
        fields = ", ".join(request.cover)
        limits = f"with k = {request.k}{' and these quotas' if request.quotas else ''}"
        return asked, (f"{limits} not every value of {fields} can be met",)
    raise _refusal(material, asked, request)


def _refusal(material: Material, asked: Requirements, request: SubsetRequest) -> LimitError:
    rows, failed = asked.offer()
    picks = tuple(Pick(material.ref(row), 0.0, 0, "nearest choice") for row in rows)
    nearest = (
        SubsetResult(_loosened(request, asked, rows), picks, 0.0, 0.0, 0.0, (), 0, (), material.provenance)
        if picks
        else None
    )
    names = "; ".join(map(str, failed)) or "the must-haves and exclusions contradict each other"
    ids = ", ".join(pick.task.task_id for pick in picks[:5])
    offer = f". Nearest: {len(picks)} tasks ({ids}{', ...' if len(picks) > 5 else ''})" if picks else ""
    return LimitError(f"no choice meets all limits; in the way: {names}{offer}", failed=failed, nearest=nearest)


def _loosened(request: SubsetRequest, asked: Requirements, rows: Sequence[int]) -> SubsetRequest:
    """Return the request with the size and quotas that a choice of rows has; one for each value is dropped whole."""
    have = dict(zip(asked.quotas, asked.holds[:, list(rows)].sum(axis=1).tolist(), strict=True))
    missed = {quota.field for quota, count in have.items() if count < quota.least or count > _most(quota)}
    kept = []
    for quota in request.quotas:
        if quota.value == EACH:
            kept += [quota] if quota.field not in missed else []
            continue
        most = None if quota.most is None else max(quota.most, have[quota])
        looser = replace(quota, least=min(quota.least, have[quota]), most=most)
        kept += [looser] if looser.least or looser.most is not None else []
    return replace(request, k=max(1, len(rows)), quotas=tuple(kept))


def _most(quota: Quota) -> float:
    return np.inf if quota.most is None else quota.most


def _weights(engine: Engine, request: SubsetRequest, allowed: Mask) -> Weights:
    """Return the weight of each task to stand for: 1 in the pool, or its nearness to the topic.

    Raises:
        LimitError: if nothing in the pool fits the topic.
    """
    weights = allowed.astype(np.float64)
    if request.topic.strip():
        relevance = topic_relevance(engine, request.topic)
        weights = weights * relevance.scores * (relevance.levels > 0)
        if not weights.any():
            raise LimitError(f"no task of the pool fits the topic {request.topic!r}: use other words or a wider filter")
    return weights


def _choose(needs: Requirements, similarity: NDArray[np.float64], weights: Weights) -> Chosen:
    witness: frozenset[int] = frozenset() if needs.is_free else needs.complete(()) or frozenset()

    def fits(rows: Sequence[int], row: int) -> bool:
        nonlocal witness
        if needs.is_free or row in witness:
            return True  # the witness holds the chosen rows, this one, and meets everything
        if needs.is_hopeless((*rows, row)):
            return False
        whole = needs.exchange(witness, rows, row) or needs.complete((*rows, row))
        if whole is None:
            return False
        witness = whole
        return True

    candidates = np.flatnonzero(needs.allowed).tolist()
    greedy = lazy_greedy(similarity, weights, needs.size, must=needs.must, candidates=candidates, fits=fits)
    return swap_improve(similarity, weights, greedy, fixed=needs.must, candidates=candidates, allowed=needs.met_by)


def _result(
    material: Material,
    request: SubsetRequest,
    allowed: Mask,
    similarity: NDArray[np.float64],
    weights: Weights,
    chosen: Chosen,
    notices: tuple[str, ...],
) -> SubsetResult:
    rows = list(chosen.rows)
    best = similarity[:, rows].max(axis=1)
    owner = np.asarray(rows)[similarity[:, rows].argmax(axis=1)]
    stands_for = (best > 0) & (weights > 0)
    uncovered = np.flatnonzero((best <= 0) & (weights > 0))
    worst = sorted(uncovered.tolist(), key=lambda row: (-weights[row], row))[:_GAPS_SHOWN]
    ids = [card.task_id for card in material.catalogue]
    near = material.near()
    return SubsetResult(
        request=request,
        picks=tuple(
            Pick(
                material.ref(row),
                gain,
                int(np.sum(stands_for & (owner == row))),
                _reason(material, request, rows, place),
            )
            for place, (row, gain) in enumerate(zip(rows, chosen.gains, strict=True))
        ),
        value=chosen.value,
        coverage=chosen.value / float(weights.sum()),
        random=random_value(similarity, weights, np.flatnonzero(allowed).tolist(), len(rows)),
        uncovered=tuple(
            UncoveredTask(material.ref(row), float(best[row]), ids[rows[int(near[row, rows].argmax())]])
            for row in worst
        ),
        uncovered_total=len(uncovered),
        missing=_missing(material, allowed, rows),
        provenance=material.provenance,
        notices=notices,
    )


def _reason(material: Material, request: SubsetRequest, rows: Sequence[int], place: int) -> str:
    """Return one line on what the task brings that those before it didn't."""
    card = material.catalogue.cards[rows[place]]
    before = [material.catalogue.cards[row] for row in rows[:place]]
    if card.task_id in request.must:
        return "must-have"
    if card.domain not in {other.domain for other in before}:
        return f"first of {card.domain}"
    if card.subdomain and card.subdomain not in {other.subdomain for other in before}:
        return f"first of {card.subdomain}"
    if set(card.tiers) - {tier for other in before for tier in other.tiers}:
        return f"first {card.tiers[-1]}"
    return "stands for tasks that none before it is near to"


def _missing(material: Material, allowed: Mask, rows: Sequence[int]) -> tuple[MissingValues, ...]:
    taken = np.zeros(len(allowed), dtype=bool)
    taken[list(rows)] = True
    found = []
    everywhere = material.facets.counts(matching=allowed, fields=_GAP_FIELDS)
    for facet, chosen in zip(everywhere, material.facets.counts(matching=taken, fields=_GAP_FIELDS), strict=True):
        have = {value.value for value in chosen.values if value.count}
        found.append(
            MissingValues(facet.field, tuple(v.value for v in facet.values if v.count and v.value not in have))
        )
    if material.skills is not None:
        trained = frozenset[str]().union(*(material.skills_of(row) for row in rows))
        needed = frozenset[str]().union(*(material.skills_of(int(row)) for row in np.flatnonzero(allowed)))
        found.append(MissingValues("skill", material.skill_names(needed - trained)))
    return tuple(found)
