"""What a user may ask, checked once at the edge of the engine."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeVar

from ale_semantic.embeddings.encoder import EncoderIdentity
from ale_semantic.embeddings.space import describe
from ale_semantic.errors import BundleMismatchError, QueryError
from ale_semantic.filters import Condition, parse

MAX_QUERY_CHARACTERS = 20_000  # a long pasted prompt fits; a whole book is a mistake

Where = str | Condition | None
_Choice = TypeVar("_Choice", bound=StrEnum)


def clean_query(query: str) -> str:
    """Return the query without control characters and outer blanks.

    Raises:
        QueryError: if it is too long.
    """
    if len(query) > MAX_QUERY_CHARACTERS:
        raise QueryError(f"the query has {len(query)} characters; at most {MAX_QUERY_CHARACTERS} are taken")
    return "".join(char if char.isprintable() else " " for char in query).strip()


def condition_of(where: Where) -> Condition | None:
    """Return a filter as a condition.

    Raises:
        FilterError: if an expression can't be understood.
    """
    return parse(where) if isinstance(where, str) else where


def choice(kind: type[_Choice], value: _Choice | str, name: str) -> _Choice:
    """Return the member of an enumeration that a value names.

    Raises:
        QueryError: naming the valid values.
    """
    try:
        return kind(value)
    except ValueError:
        raise QueryError(f"unknown {name} {value!r}; valid are {', '.join(kind)}") from None


def require_model(model: str, identity: EncoderIdentity) -> None:
    """Refuse unless an index was built with the model of a name.

    Raises:
        BundleMismatchError: naming both.
        EncoderError: if there is no such model.
    """
    from ale_semantic.embeddings.registry import find_model

    spec = find_model(model)
    if spec.name != identity.name:
        raise BundleMismatchError(
            f"the index was built with {describe(identity)}, not with {spec.name!r}: "
            f"leave out --model, or rebuild with: ale-semantic build --model {model}"
        )
