"""YAML as curriculum files need it: plain values only, so that no file of a few bytes costs minutes or means code."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from ale_semantic.errors import CurriculumError

_DEEPEST = 20  # a curriculum file nests four levels
_TAG = "tag:yaml.org,2002:"
_KEPT = (f"{_TAG}bool", f"{_TAG}null")
# YAML 1.1 also takes 12:30 and 0777 for numbers, which nobody means.
_NUMBERS = (
    (f"{_TAG}int", re.compile(r"[-+]?(?:0|[1-9][0-9]*)$")),
    (f"{_TAG}float", re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?$")),
)


def read_yaml(text: str, *, name: str) -> Any:
    """Return the value of a YAML text: objects, lists, texts, numbers, truth values and nulls.

    A date or a time of day is a text. Aliases and tags are refused: through them a short text makes a huge value.

    Raises:
        CurriculumError: naming the line and the cure.
    """
    import yaml

    try:
        return yaml.load(text, Loader=_loader())
    except yaml.YAMLError as fault:
        raise CurriculumError(f"{name}: is not YAML: {' '.join(str(fault).split())}") from None
    except ValueError as fault:  # such as a number of 5,000 digits
        raise CurriculumError(f"{name}: holds a value that can't be read: {fault}") from None


@cache
def _loader() -> Any:
    """Return the loader's class, made when YAML is first needed."""
    import yaml

    class PlainLoader(yaml.SafeLoader):  # type: ignore[misc]
        """A safe loader without aliases, tags, dates and depths."""

        depth = 0

        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.peek_event()
            if isinstance(event, yaml.AliasEvent):
                raise yaml.MarkedYAMLError(
                    problem="aliases aren't taken: write the value out", problem_mark=event.start_mark
                )
            if event.tag is not None:
                raise yaml.MarkedYAMLError(problem="tags aren't taken: leave it out", problem_mark=event.start_mark)
            if isinstance(event, yaml.ScalarEvent) and not _is_whole(event.value):
                raise yaml.MarkedYAMLError(problem="half a character stands here", problem_mark=event.start_mark)
            if self.depth == _DEEPEST:
                raise yaml.MarkedYAMLError(problem="this is nested too deeply", problem_mark=event.start_mark)
            self.depth += 1
            node = super().compose_node(parent, index)
            self.depth -= 1
            return node

    PlainLoader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag in _KEPT]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    for tag, pattern in _NUMBERS:
        PlainLoader.add_implicit_resolver(tag, pattern, list("-+.0123456789"))
    return PlainLoader


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
