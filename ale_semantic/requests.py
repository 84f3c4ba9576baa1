"""What a user may ask, checked once at the edge of the engine."""

from __future__ import annotations

from collections.abc import Collection
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


def require_likeness(likes: Collection[str], unlike: Collection[str], text: str, variant: str | None) -> None:
    """Refuse unless there is something to be near to, and to differ from where a variant is asked for.

    Raises:
        QueryError: saying what is missing, or which task is on both sides.
    """
    if not likes and not text:
        raise QueryError("similar needs at least one task id or a text to be near to")
    both = sorted(set(likes) & set(unlike))
    if both:
        raise QueryError(f"{both[0]!r} is asked for both as like and as unlike")
    if variant is not None and not likes:
        raise QueryError(f"variant {variant} needs a task to differ from")


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
