"""The skills of the tasks, as curriculum design needs them; an index may have none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from ale_semantic.errors import CurriculumError, UnknownNameError

if TYPE_CHECKING:
    from ale_semantic.engine import Engine

NO_SKILLS = "this index has no skills, so they take no part"


class SkillTable(Protocol):
    """Which skills each card of a catalogue needs; rows are those of the catalogue."""

    @property
    def ids(self) -> Sequence[str]:
        """Return the ids of all skills."""

    def name(self, skill_id: str, /) -> str:
        """Return the name of a skill."""

    def skills_of(self, row: int, /) -> Iterable[str]:
        """Return the ids of the skills that a card needs."""


def skills_of_engine(engine: Engine) -> SkillTable | None:
    """Return the skills of an engine's index, or None if it has none."""
    return cast("SkillTable | None", getattr(engine, "skills", None))


def require_skills(table: SkillTable | None, wanted_for: str) -> SkillTable:
    """Return the skills, or refuse what can't be done without.

    Raises:
        CurriculumError: if there are none.
    """
    if table is None:
        raise CurriculumError(
            f"{wanted_for} needs skills, and this index has none: leave it out, or use an index with skills"
        )
    return table


def find_skill(table: SkillTable, text: str) -> str:
    """Return the id of the skill that a text names by id or name, in any case.

    Raises:
        UnknownNameError: with the nearest names.
    """
    wanted = " ".join(text.casefold().split())
    for skill_id in table.ids:
        if wanted in (skill_id.casefold(), " ".join(table.name(skill_id).casefold().split())):
            return skill_id
    from rapidfuzz import fuzz, process

    names = [table.name(skill_id) for skill_id in table.ids]
    near = process.extract(text, names, scorer=fuzz.WRatio, limit=3, score_cutoff=50)
    raise UnknownNameError("skill", text, [name for name, _, _ in near])
