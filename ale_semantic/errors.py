"""The error tree: every fault a user can cause or cure.

    AleSemanticError
    ├── CardError            a card can't be read: names the file and the field
    │   └── DuplicateTaskError   two cards with one id
    ├── SourceError          a catalogue can't be found, reached or recognised
    ├── FilterError          a filter expression is wrong: carries the position
    │   └── UnknownNameError     an unknown field, value or task id: carries the nearest names
    ├── QueryError           a query, k, page or mode that can't be served
    ├── EncoderError         a model can't be loaded or isn't the one promised
    ├── BundleError          an index bundle is missing, damaged or of another make
    │   └── BundleMismatchError  it was built with another model, layout or format
    ├── JudgmentError        a qrels file or a run can't be read
    ├── CurriculumError      a curriculum can't be made or read under its constraints
    │   ├── LimitError           nothing meets all limits: carries them and the nearest result
    │   │   └── EmptyPoolError       the filter and the exclusions leave no task to choose from
    │   └── TimeLimitError       it would take longer than it may
    ├── MissingExtraError    an optional package isn't installed: carries the pip line
    └── ServiceError         what only the service refuses: service/problems.py, with the status of each

Each message names the thing and the cure. The command line prints it on one line and exits with 2; the
service turns it into a 4xx answer. Any other exception is a bug and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ale_semantic.types import FailedLimit

EXIT_CODE = 2


class AleSemanticError(Exception):
    """Base of every fault that the user can cause or cure."""


class CardError(AleSemanticError):
    """A card that can't be read."""

    def __init__(self, where: str, field: str, problem: str) -> None:
        """Name the file (or row), the field and the problem."""
        super().__init__(f"{where}: field '{field}' {problem}")
        self.where = where
        self.field = field
        self.problem = problem


class DuplicateTaskError(CardError):
    """Two cards with one task id."""


class SourceError(AleSemanticError):
    """A catalogue source that can't be found, reached or recognised."""


class FilterError(AleSemanticError):
    """A filter expression that can't be understood; `position` is a 0-based character offset."""

    def __init__(self, message: str, *, expression: str = "", position: int | None = None) -> None:
        """Keep the expression and the position so that an edge can point at it."""
        super().__init__(message)
        self.expression = expression
        self.position = position

    def pointer(self) -> str:
        """Return the expression with a caret under the position, or an empty string."""
        if self.position is None or not self.expression:
            return ""
        return f"{self.expression}\n{' ' * self.position}^"


class UnknownNameError(FilterError):
    """A field, value or task id that doesn't exist, with the nearest ones that do."""

    def __init__(
        self,
        kind: str,
        name: str,
        nearest: Iterable[str] = (),
        *,
        expression: str = "",
        position: int | None = None,
    ) -> None:
        """Say what kind of name is unknown and which valid ones are nearest."""
        self.kind = kind
        self.name = name
        self.nearest = tuple(nearest)
        hint = f"; did you mean {', '.join(repr(n) for n in self.nearest)}?" if self.nearest else ""
        super().__init__(f"unknown {kind} {name!r}{hint}", expression=expression, position=position)


class QueryError(AleSemanticError):
    """A query, k, page or mode that can't be served."""


class EncoderError(AleSemanticError):
    """A model that can't be loaded, or isn't the one that was promised."""


class BundleError(AleSemanticError):
    """An index bundle that is missing, damaged or locked."""


class BundleMismatchError(BundleError):
    """An index bundle built with another model, passage layout or format."""


class JudgmentError(AleSemanticError):
    """A relevance-judgment file that can't be read."""


class CurriculumError(AleSemanticError):
    """A curriculum that can't be made or read under its constraints."""


class LimitError(CurriculumError):
    """Nothing meets all limits; `failed` says which of them stand in the way, `nearest` is the best result, if any."""

    def __init__(self, message: str, *, failed: Sequence[FailedLimit] = (), nearest: object | None = None) -> None:
        """Keep the failed limits and the offer beside the message."""
        super().__init__(message)
        self.failed = tuple(failed)
        self.nearest = nearest


class EmptyPoolError(LimitError):
    """The filter and the exclusions leave no task to choose from."""


class TimeLimitError(CurriculumError):
    """A curriculum that would take longer than the time given to it."""


class MissingExtraError(AleSemanticError):
    """An optional package that isn't installed."""

    def __init__(self, feature: str, extra: str) -> None:
        """Name the feature and print the pip line that brings it."""
        super().__init__(f"{feature} needs an optional package: pip install 'ale-semantic[{extra}]'")
        self.extra = extra
