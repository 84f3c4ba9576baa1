"""The difference of two catalogues, and what saved queries and curricula give on both."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ale_semantic.catalogue import Catalogue
from ale_semantic.curriculum.checks import CheckResult, check_material
from ale_semantic.curriculum.documents import Curriculum
from ale_semantic.curriculum.material import Material
from ale_semantic.curriculum.records import Record, TaskRef
from ale_semantic.curriculum.time_limit import require_time
from ale_semantic.texts import SEARCHED_FIELDS, field_text
from ale_semantic.types import Field, TaskCard

if TYPE_CHECKING:
    from ale_semantic.engine import Engine

_TEXTS = tuple(each for each in SEARCHED_FIELDS if each is not Field.OVERVIEW)  # that one is title and summary again
_MACHINE = ("os", "gpu", "licensed", "timeout")


@dataclass(frozen=True, slots=True)
class TextChange(Record):
    """A field whose text differs: the share of words that stayed, and lengths in characters."""

    field: str
    kept: float
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Moved(Record):
    """A value that differs."""

    field: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ChangedTask(Record):
    """A task that both catalogues have, and how it differs."""

    task: TaskRef
    texts: tuple[TextChange, ...]
    moved: tuple[Moved, ...]


@dataclass(frozen=True, slots=True)
class QueryDiff(Record):
    """A saved query on both sides: the tasks that came in, those that went out, and the new order."""

    query: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def came(self) -> tuple[str, ...]:
        """Return the tasks that only the new catalogue gives."""
        return tuple(task_id for task_id in self.after if task_id not in self.before)

    @property
    def went(self) -> tuple[str, ...]:
        """Return the tasks that only the old catalogue gives."""
        return tuple(task_id for task_id in self.before if task_id not in self.after)


@dataclass(frozen=True, slots=True)
class CurriculumDiff(Record):
    """A saved curriculum checked on both sides."""

    before: CheckResult
    after: CheckResult


@dataclass(frozen=True, slots=True)
class CatalogueDiff(Record):
    """What is new, gone and changed from one catalogue to another."""

    old: str
    new: str
    added: tuple[TaskRef, ...]
    removed: tuple[TaskRef, ...]
    changed: tuple[ChangedTask, ...]
    unchanged: int
    queries: tuple[QueryDiff, ...] = field(default=())
    curricula: tuple[CurriculumDiff, ...] = field(default=())

    @property
    def moved_tier(self) -> tuple[str, ...]:
        """Return the tasks whose tiers differ."""
        return self._moved("tiers")

    @property
    def moved_domain(self) -> tuple[str, ...]:
        """Return the tasks whose domain differs."""
        return self._moved("domain")

    @property
    def changed_text(self) -> tuple[str, ...]:
        """Return the tasks of which some text differs."""
        return tuple(change.task.task_id for change in self.changed if change.texts)

    def _moved(self, name: str) -> tuple[str, ...]:
        return tuple(c.task.task_id for c in self.changed if any(moved.field == name for moved in c.moved))


def compare(old: Catalogue, new: Catalogue, *, curricula: Sequence[Curriculum] = ()) -> CatalogueDiff:
    """Compare two catalogues, and check curricula on both by all that needs no index.

    Args:
        old: the catalogue before.
        new: the catalogue after.
        curricula: saved curricula.
    """
    before = {card.task_id: card for card in old}
    after = {card.task_id: card for card in new}
    both = [task_id for task_id in after if task_id in before]
    changes = [_change(before[task_id], after[task_id]) for task_id in both]
    changed = tuple(change for change in changes if change.texts or change.moved)
    sides = [Material.of_catalogue(side) for side in (old, new)] if curricula else []
    return CatalogueDiff(
        old=_name(old),
        new=_name(new),
        added=tuple(TaskRef.of(card) for task_id, card in after.items() if task_id not in before),
        removed=tuple(TaskRef.of(card) for task_id, card in before.items() if task_id not in after),
        changed=changed,
        unchanged=len(both) - len(changed),
        curricula=tuple(CurriculumDiff(*(check_material(side, saved) for side in sides)) for saved in curricula),
    )


def compare_engines(
    old: Engine, new: Engine, *, queries: Sequence[str] = (), curricula: Sequence[Curriculum] = (), k: int = 10
) -> CatalogueDiff:
    """Compare the catalogues of two indexes, with queries run and curricula checked on both.

    Args:
        old: the index before.
        new: the index after.
        queries: saved queries.
        curricula: saved curricula.
        k: how many hits of each query to compare.

    Raises:
        QueryError: if a query can't be served.
    """
    plain = compare(old.catalogue, new.catalogue)
    sides = (Material.of(old), Material.of(new))
    return CatalogueDiff(
        old=plain.old,
        new=plain.new,
        added=plain.added,
        removed=plain.removed,
        changed=plain.changed,
        unchanged=plain.unchanged,
        queries=tuple(QueryDiff(query, _hits(old, query, k), _hits(new, query, k)) for query in queries),
        curricula=tuple(CurriculumDiff(*(check_material(side, saved) for side in sides)) for saved in curricula),
    )


def _hits(engine: Engine, query: str, k: int) -> tuple[str, ...]:
    return tuple(hit.task_id for hit in engine.search(query, k=k, facets=False).hits)


def _name(catalogue: Catalogue) -> str:
    revision = f"@{catalogue.origin.revision}" if catalogue.origin.revision else ""
    return f"{catalogue.origin.name}{revision} ({len(catalogue)} tasks, {catalogue.fingerprint[:12]})"


def _change(before: TaskCard, after: TaskCard) -> ChangedTask:
    texts = [_text_change(each, field_text(before, each), field_text(after, each)) for each in _TEXTS]
    pairs = [
        ("domain", before.domain, after.domain),
        ("tiers", _joined(before.tiers), _joined(after.tiers)),
        ("formats", _joined(before.input_formats), _joined(after.input_formats)),
        *_machine(before, after),
    ]
    return ChangedTask(
        task=TaskRef.of(after),
        texts=tuple(change for change in texts if change is not None),
        moved=tuple(Moved(name, old, new) for name, old, new in pairs if old != new),
    )


def _machine(before: TaskCard, after: TaskCard) -> Iterator[tuple[str, str, str]]:
    """Yield what both catalogues tell of the machine: a table that leaves it out doesn't say that it changed."""
    for name in _MACHINE:
        old, new = getattr(before, name), getattr(after, name)
        if old is not None and new is not None:
            yield name, str(old), str(new)


def _text_change(name: Field, before: str, after: str) -> TextChange | None:
    if before == after:
        return None
    from rapidfuzz.distance import Indel

    require_time()
    kept = Indel.normalized_similarity(before.split(), after.split())
    return TextChange(str(name), kept, len(before), len(after))


def _joined(values: Sequence[str]) -> str:
    return ", ".join(map(str, values)) or "none"
