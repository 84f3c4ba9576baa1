"""Curricula from the open engine: each answer a record of `ale_semantic.curriculum`, or the file it makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeVar

from ale_semantic.cards import card_from_raw
from ale_semantic.catalogue import Catalogue
from ale_semantic.curriculum import (
    CatalogueDiff,
    CheckResult,
    CoverageResult,
    Curriculum,
    DuplicateReport,
    LadderRequest,
    LadderResult,
    LeakReport,
    PathRequest,
    PathResult,
    PrerequisiteResult,
    SplitRequest,
    SplitResult,
    SubsetRequest,
    SubsetResult,
    check,
    compare,
    coverage,
    duplicates,
    ladders,
    leaks,
    path,
    prerequisites,
    split,
    subset,
)
from ale_semantic.curriculum.records import require_tasks
from ale_semantic.curriculum.time_limit import require_time, time_limit
from ale_semantic.engine import Engine
from ale_semantic.errors import AleSemanticError, CardError, CurriculumError, TimeLimitError
from ale_semantic.fields import RawCard
from ale_semantic.sources import Origin
from ale_semantic.types import TaskCard

from .curriculum_parameters import (
    CoverageParameters,
    DiffParameters,
    DuplicateParameters,
    LadderParameters,
    LeakParameters,
    PathParameters,
    PoolParameters,
    PrerequisiteParameters,
    SplitParameters,
    SubsetParameters,
)
from .parameters import Parameters
from .pool import time_left
from .problems import DeadlineError, ParameterError

_SHARE = 0.9  # of the time that is left
_CHUNK = 8  # own tasks that are compared between two looks at the clock
_MAX_ENTRIES = 500  # tasks of one curriculum file
_MAX_QUOTAS = 50
_Result = TypeVar("_Result")


@contextmanager
def in_time() -> Iterator[None]:
    """Let a curriculum take what its caller may still wait for, and a little less, so that the caller is told why.

    Raises:
        DeadlineError: if that isn't enough.
    """
    left = time_left()
    try:
        with time_limit(None if left is None else left * _SHARE):
            yield
    except TimeLimitError as fault:
        raise DeadlineError(str(fault)) from None


def check_asked(engine: Engine, asked: Parameters) -> None:
    """Refuse what no curriculum can be designed from, as far as that takes no design."""
    facets, catalogue = engine.facet_table, engine.catalogue
    match asked:
        case PathParameters():
            _path_request(asked)
        case SubsetParameters():
            for task_id in asked.must:
                catalogue.row(task_id)
            for name in (*asked.cover, *(quota.field for quota in asked.quotas())):
                facets.values(name)
        case SplitParameters():
            for name in asked.balance:
                facets.values(name)
        case LadderParameters() if asked.task.strip():
            catalogue.row(asked.task.strip())
        case PrerequisiteParameters():
            catalogue.row(asked.task)
    if isinstance(asked, PoolParameters):
        pool = asked.pool()
        require_tasks(pool.mask(catalogue, facets), pool)


def find_ladders(engine: Engine, asked: LadderParameters) -> LadderResult:
    """Return ladders of the pool, or the one of a task."""
    return ladders(engine, LadderRequest(task=asked.task, pool=asked.pool(), min_closeness=asked.min_closeness))


def ladder_curriculum(result: LadderResult) -> Curriculum:
    """Return the one ladder of a result as a curriculum.

    Raises:
        CurriculumError: if it holds none or several.
    """
    if len(result.ladders) != 1:
        raise CurriculumError(f"there are {len(result.ladders)} ladders, and a curriculum holds one: name a task")
    return Curriculum.of_ladder(result.ladders[0], result.provenance)


def find_path(engine: Engine, asked: PathParameters) -> PathResult:
    """Return the best path."""
    return path(engine, _path_request(asked))


def _path_request(asked: PathParameters) -> PathRequest:
    return PathRequest(
        start=asked.start,
        goal=asked.goal,
        skill=asked.skill,
        length=asked.length,
        start_tier=asked.start_tier,
        goal_tier=asked.goal_tier,
        min_step=asked.min_step,
        max_step=asked.max_step,
        max_new_skills=asked.max_new_skills,
        max_tier_jump=asked.max_tier_jump,
        pool=asked.pool(),
        allow_twins=asked.allow_twins,
    )


def find_subset(engine: Engine, asked: SubsetParameters) -> SubsetResult:
    """Return the tasks that stand for the pool best."""
    request = SubsetRequest(
        k=asked.k,
        pool=asked.pool(),
        topic=asked.topic,
        quotas=asked.quotas(),
        must=tuple(asked.must),
        cover=tuple(asked.cover),
        allow_twins=asked.allow_twins,
    )
    return subset(engine, request)


def find_split(engine: Engine, asked: SplitParameters) -> SplitResult:
    """Return a split that doesn't leak."""
    request = SplitRequest(
        test=asked.test,
        pool=asked.pool(),
        balance=tuple(asked.balance),
        wording=asked.wording,
        closeness=asked.closeness,
        seed=asked.seed,
    )
    return split(engine, request)


def find_coverage(engine: Engine, asked: CoverageParameters) -> CoverageResult:
    """Return the counts of the pool, and its best tasks for topics."""
    return coverage(engine, pool=asked.pool(), topics=asked.topic)


def find_duplicates(engine: Engine, asked: DuplicateParameters) -> DuplicateReport:
    """Return the near-duplicate pairs of the pool."""
    return duplicates(
        engine, thresholds=asked.thresholds(), pool=asked.pool(), include_weak=asked.weak, most=asked.most
    )


def find_prerequisites(engine: Engine, asked: PrerequisiteParameters) -> PrerequisiteResult:
    """Return what a task needs, what trains it and what it opens up."""
    return prerequisites(engine, asked.task, pool=asked.pool(), shown=asked.shown)


def find_leaks(engine: Engine, asked: LeakParameters) -> LeakReport:
    """Compare the user's own tasks with the catalogue."""
    own = asked.own()
    parts = []
    for start in range(0, len(own), _CHUNK):
        require_time()
        parts.append(leaks(engine, own[start : start + _CHUNK], thresholds=asked.thresholds()))
    tasks = tuple(task for part in parts for task in part.tasks)
    return replace(parts[0], tasks=tasks, leaks=sum(part.leaks for part in parts))


@dataclass(frozen=True, slots=True)
class CheckAnswer(CheckResult):
    """What a check found; `kept` tells whether all that was checked is kept."""

    kept: bool


def check_document(engine: Engine, text: str) -> CheckAnswer:
    """Check a curriculum file."""
    found = check(engine, read_document(text))
    return CheckAnswer(found.title, found.tasks, found.problems, found.unchecked, found.notices, found.is_kept)


def read_document(text: str) -> Curriculum:
    """Return the curriculum of a file's text.

    Raises:
        CurriculumError: if it can't be read, or is larger than any curriculum.
    """
    curriculum = Curriculum.parse(text)
    if len(curriculum.tasks) > _MAX_ENTRIES:
        raise CurriculumError(f"the curriculum has {len(curriculum.tasks)} tasks; at most {_MAX_ENTRIES} are taken")
    if len(curriculum.constraints.quotas) > _MAX_QUOTAS:
        raise CurriculumError(
            f"the curriculum has {len(curriculum.constraints.quotas)} quotas; at most {_MAX_QUOTAS} are taken"
        )
    return curriculum


def find_diff(engine: Engine, asked: DiffParameters) -> CatalogueDiff:
    """Compare the catalogue that is served with another one."""
    curricula = [_numbered(place, text, read_document) for place, text in enumerate(asked.curricula)]
    try:
        other = _catalogue(asked.cards)
    except CardError as fault:
        raise ParameterError(str(fault), param="cards") from None
    sides = (other, engine.catalogue) if asked.served_is_new else (engine.catalogue, other)
    return compare(*sides, curricula=curricula)


def _catalogue(rows: Sequence[Mapping[str, object]]) -> Catalogue:
    cards: dict[str, TaskCard] = {}
    for place, row in enumerate(rows):
        card = card_from_raw(RawCard(where=f"cards[{place}]", data=row))
        if card.task_id in cards:
            raise CardError(f"cards[{place}]", "task_id", f"is {card.task_id!r}, as of a card before it")
        cards[card.task_id] = card
    return Catalogue.of(tuple(cards.values()), origin=Origin("the posted cards"))


def _numbered(place: int, text: str, read: Callable[[str], _Result]) -> _Result:
    try:
        return read(text)
    except AleSemanticError as fault:
        raise ParameterError(f"curricula[{place}]: {fault}", param=f"curricula[{place}]") from None
