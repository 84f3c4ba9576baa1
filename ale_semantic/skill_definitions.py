"""The skills that tasks ask of an agent: the readable table `data/skills.toml`, checked when read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from importlib import resources
from typing import Any

from ale_semantic.errors import AleSemanticError, UnknownNameError

_FILE = "skills.toml"
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_TEXTS = ("id", "name", "family", "definition")
_LISTS = ("prototypes", "cues")
_LETTERS = re.compile(r"[a-z0-9 ]+")
_GROUPS = re.compile(r"\([^()]*\)|\[[^\]]*\]")
_LOOKING = re.compile(r"[$^]|\(\?|\\[AZB]")


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill.

    Attributes:
        id: slug for files, filters and addresses.
        name: what people read.
        family: the heading it stands under.
        definition: one sentence: what the agent itself has to do.
        prototypes: phrasings such as task descriptions use.
        cues: regular expressions on lower-case text, each from the start of a word.
    """

    id: str
    name: str
    family: str
    definition: str
    prototypes: tuple[str, ...]
    cues: tuple[str, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Return what is embedded for the skill: name with definition, and each prototype."""
        return (f"{self.name}: {self.definition}", *self.prototypes)

    def cues_in(self, text: str) -> list[str]:
        """Return what each cue first finds in a lower-case text; a cue that finds nothing is left out."""
        found = (_first(_pattern(cue), text) for cue in self.cues)
        return [match.group() for match in found if match is not None]

    def cue_counts(self, texts: Sequence[str], together: str) -> list[int]:
        """Return how many of the cues each of some lower-case texts holds; as `cues_in` says, but sooner.

        Most cues are in no text: each is looked for in all texts at once before it is in each.

        Args:
            texts: the texts.
            together: the same joined by line breaks.
        """
        counts = [0] * len(texts)
        for cue in self.cues:
            if _head(cue) not in together:
                continue
            pattern = _pattern(cue)
            if _sees_beyond(cue) or _first(pattern, together) is not None:
                for place, text in enumerate(texts):
                    counts[place] += _first(pattern, text) is not None
        return counts


@cache
def load_skills() -> tuple[Skill, ...]:
    """Return the skills of the project, in the order of their table.

    Raises:
        AleSemanticError: if the table isn't as it should be; the message names the skill and the cure.
    """
    text = (resources.files("ale_semantic") / "data" / _FILE).read_text(encoding="utf-8")
    return parse_skills(text, f"data/{_FILE}", cues_checked=True)  # by a test, as the file comes with the package


def parse_skills(text: str, where: str, *, cues_checked: bool = False) -> tuple[Skill, ...]:
    """Read a table of skills; `where` names it in errors. Checked cues are compiled when they are first looked for.

    Raises:
        AleSemanticError: if it is no TOML, a field is missing or wrong, or an id or name stands twice.
    """
    try:
        entries = tomllib.loads(text).get("skill")
    except tomllib.TOMLDecodeError as error:
        raise AleSemanticError(f"{where}: not a TOML file: {error}") from None
    if not isinstance(entries, list) or not entries:
        raise AleSemanticError(f"{where}: must hold at least one [[skill]]")
    return skills_from(entries, where, cues_checked=cues_checked)


def skills_from(entries: Sequence[Any], where: str, *, cues_checked: bool = False) -> tuple[Skill, ...]:
    """Make skills of plain mappings.

    Args:
        entries: one mapping a skill.
        where: names their origin in errors.
        cues_checked: the cues were checked before they were written: to compile them all takes longer than a query.

    Raises:
        AleSemanticError: if a field is missing or wrong, or an id or name stands twice.
    """
    skills = tuple(
        _skill(entry, f"{where}: skill {place}", cues_checked) for place, entry in enumerate(entries, start=1)
    )
    seen: dict[str, str] = {}
    for skill in skills:
        for key in {skill_key(skill.id), skill_key(skill.name)}:
            if key in seen:
                raise AleSemanticError(f"{where}: {key!r} stands for both {seen[key]!r} and {skill.id!r}: rename one")
            seen[key] = skill.id
    return skills


def plain_skills(skills: Sequence[Skill]) -> list[dict[str, Any]]:
    """Return skills as plain mappings, which `skills_from` reads."""
    return [asdict(skill) for skill in skills]


def definitions_digest(skills: Sequence[Skill]) -> str:
    """Return a digest of all that bears on how the skills are assigned."""
    parts = [part for skill in skills for part in (skill.id, *skill.texts, *skill.cues)]
    return sha256("\0".join(parts).encode()).hexdigest()


def skill_key(text: str) -> str:
    """Return a text as ids and names are compared: hyphens, case and spaces don't matter."""
    return " ".join(text.casefold().replace("-", " ").replace("_", " ").split())


def find_skill(skills: Sequence[Skill], text: str) -> Skill:
    """Return the skill that a text names by id or name.

    Raises:
        UnknownNameError: if there is none; the nearest names are given.
    """
    wanted = skill_key(text)
    for skill in skills:
        if wanted in (skill_key(skill.id), skill_key(skill.name)):
            return skill
    from ale_semantic.facet_columns import nearest

    raise UnknownNameError("skill", text, nearest(text, [skill.name for skill in skills]))


@cache
def _pattern(cue: str) -> re.Pattern[str]:
    return re.compile(cue)


@cache
def _head(cue: str) -> str:
    """Return letters that stand in all that a cue finds; blank if none are sure."""
    if "|" in _GROUPS.sub("", cue):
        return ""
    letters = _LETTERS.match(cue)
    head, rest = (letters.group(), cue[letters.end() :]) if letters else ("", cue)
    return head[:-1] if rest[:1] in ("?", "*", "{") else head


@cache
def _sees_beyond(cue: str) -> bool:
    """Tell whether what stands around a text may decide if a cue is in it: then it is looked for in each alone."""
    return bool(_LOOKING.search(cue.replace("[^", "[").replace("(?:", "(")))


def _first(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """Return the first match at the start of a word; three times as fast as to say so in the pattern."""
    start = 0
    while match := pattern.search(text, start):
        at = match.start()
        if not at or not (text[at - 1].isalnum() or text[at - 1] == "_"):
            return match
        start = at + 1
    return None


def _skill(entry: Any, where: str, cues_checked: bool) -> Skill:
    if not isinstance(entry, Mapping):
        raise AleSemanticError(f"{where}: must be a table")
    where = f"{where} ({entry['id']})" if isinstance(entry.get("id"), str) else where
    unknown = sorted(set(entry) - {*_TEXTS, *_LISTS})
    if unknown:
        raise AleSemanticError(f"{where}: unknown field {unknown[0]!r}; there are {', '.join((*_TEXTS, *_LISTS))}")
    for name in _TEXTS:
        if not isinstance(entry.get(name), str) or not entry[name].strip():
            raise AleSemanticError(f"{where}: field {name!r} must be a text that isn't blank")
    for name in _LISTS:
        values = entry.get(name)
        if not isinstance(values, list | tuple) or not values or not all(isinstance(v, str) and v for v in values):
            raise AleSemanticError(f"{where}: field {name!r} must be a list of at least one text")
    if not _ID.fullmatch(entry["id"]):
        raise AleSemanticError(f"{where}: the id must be lower-case words joined by hyphens")
    if not cues_checked:
        _check_cues(entry["cues"], where)
    skill_id, name, family, definition = (entry[field].strip() for field in _TEXTS)
    return Skill(skill_id, name, family, definition, tuple(entry["prototypes"]), tuple(entry["cues"]))


def _check_cues(cues: Sequence[str], where: str) -> None:
    for cue in cues:
        try:
            pattern = _pattern(cue)
        except re.error as error:
            raise AleSemanticError(f"{where}: cue {cue!r} is no regular expression: {error}") from None
        if pattern.search(""):
            raise AleSemanticError(f"{where}: cue {cue!r} matches nothing at all: it must name a word")
