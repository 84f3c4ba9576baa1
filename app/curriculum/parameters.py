"""The parameters of the Curriculum tab: `curriculum.goal` in the address is `goal` here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeVar

from ..state import State, Tab

PREFIX = "curriculum."
NAMES = frozenset(
    {"view", "start", "goal", "skill", "length", "start_tier", "goal_tier", "min_step", "max_step", "max_new_skills"}
    | {"max_tier_jump", "twins", "exclude", "task", "min_closeness", "k", "topic", "quota", "must", "test", "seed"}
    | {"domain", "topics", "wording", "closeness", "weak", "own", "kind"}
)
_Choice = TypeVar("_Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Parameters:
    """What the address says about the tab; what can't be used is told in `problems`."""

    pairs: tuple[tuple[str, str], ...]
    problems: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, state: State) -> Parameters:
        """Take the tab's own parameters out of a state."""
        own = [(name.removeprefix(PREFIX), value.strip()) for name, value in state.extra if name.startswith(PREFIX)]
        unknown = dict.fromkeys(name for name, _ in own if name not in NAMES)
        told = [f"{PREFIX}{name[:40]} is no parameter of this tab." for name in unknown]
        return cls(tuple(dict.fromkeys((name, value) for name, value in own if name in NAMES and value)), told)

    def has_any(self, *names: str) -> bool:
        """Tell whether any of the parameters is given."""
        return any(name in names for name, _ in self.pairs)

    def text(self, name: str) -> str:
        """Return a text, blank if it isn't given; the last one counts."""
        return next((value for given, value in reversed(self.pairs) if given == name), "")

    def all(self, name: str) -> tuple[str, ...]:
        """Return all values of a parameter that may be repeated."""
        return tuple(value for given, value in self.pairs if given == name)

    def flag(self, name: str) -> bool:
        """Tell whether something is switched on."""
        text = self.text(name).lower()
        if text not in ("", "yes", "no"):
            self._tell(name, text, "yes or no", "no")
        return text == "yes"

    def choice(self, kind: type[_Choice], name: str) -> _Choice | None:
        """Return one of an enum's values, None if it isn't given."""
        text = self.text(name)
        try:
            return kind(text) if text else None
        except ValueError:
            self._tell(name, text, f"one of {', '.join(kind)}", "any")
            return None

    def whole(self, name: str, least: int, most: int) -> int | None:
        """Return a whole number in a range, None if it isn't given."""
        text = self.text(name)
        if not text:
            return None
        number = int(text) if text.isascii() and text.isdigit() and len(text) < 9 else None
        if number is None or not least <= number <= most:
            self._tell(name, text, f"a whole number from {least} to {most}", "what is usual")
            return None
        return number

    def number(self, name: str, least: float, most: float) -> float | None:
        """Return a number in a range, None if it isn't given."""
        text = self.text(name)
        if not text:
            return None
        try:
            number = float(text)
        except ValueError:
            number = least - 1
        if not least <= number <= most:
            self._tell(name, text, f"a number from {least:g} to {most:g}", "what is usual")
            return None
        return number

    def _tell(self, name: str, text: str, valid: str, used: str) -> None:
        problem = f"{PREFIX}{name}={text[:40]} is not {valid}; {used} is taken."
        if problem not in self.problems:
            self.problems.append(problem)


def link(state: State, changes: Mapping[str, Any], **others: Any) -> str:
    """Return a link to a state with other parameters of the tab: a text, a number, several of them, or None for none.

    Args:
        state: where the link starts from.
        changes: the new values by name.
        others: changes of the state itself, such as other facets.
    """
    kept = [pair for pair in state.extra if pair[0].removeprefix(PREFIX) not in changes]
    added = [(PREFIX + name, text) for name, value in changes.items() for text in _texts(value)]
    return state.link(tab=Tab.CURRICULUM, extra=(*kept, *added), **others)


def fresh(state: State, view: str, **parameters: Any) -> str:
    """Return a link to a view of the tab with these parameters alone; the facets stay."""
    base = State(chosen=state.chosen, missing=state.missing, where=state.where)
    return link(base, {"view": view, **parameters})


def _texts(value: Any) -> Iterable[str]:
    if value is None or value is False or value == "":
        return ()
    if value is True:
        return ("yes",)
    if isinstance(value, (tuple, list)):
        return map(str, value)
    return (f"{value:g}" if isinstance(value, float) else str(value),)
