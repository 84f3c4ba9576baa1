"""From texts to vectors in OpenAI's shape; a bad text of a list fails by itself."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic_core import to_json

from ale_semantic.embeddings.encoder import TextKind, Vectors
from ale_semantic.embeddings.passages import text_room
from ale_semantic.embeddings.vectors import unit

from .embedding_models import EmbeddingRequest, EncodingFormat, ModelCard, served_model
from .problems import ServiceError, TooLargeError

if TYPE_CHECKING:
    from .batching import BatchingEncoder
    from .holder import OpenIndex

_INVALID = "invalid_request_error"
_TOKENS = "an array of token ids, which are those of another tokenizer: send the text itself"
_SPECIAL_TOKENS = 2


class EmbeddingInputError(ServiceError):
    """An input that can't be embedded."""

    status = 400
    slug = "invalid-input"


class DimensionsError(ServiceError):
    """Vectors of a length that the model doesn't give."""

    status = 400
    slug = "dimensions-not-supported"


@dataclass(frozen=True, slots=True)
class _Item:
    """One input: its text, or the code and message of what is wrong with it."""

    text: str = ""
    code: str = ""
    message: str = ""
    tokens: int = 0
    truncated: bool = False


def embed(index: OpenIndex, asked: EmbeddingRequest, *, max_batch: int) -> bytes:
    """Return the body of the answer to a request.

    Raises:
        ModelNotFoundError: if the model isn't served.
        DimensionsError: if its vectors can't be cut so.
        EmbeddingInputError: if there is nothing that can be embedded.
        TooLargeError: if there are more texts than a request may have.
    """
    model = served_model(index, asked.model)
    dimensions = _dimensions(model.card, asked.dimensions)
    checked = _checked(_inputs(asked.input, max_batch))
    encoder = model.encoder()
    items = _measured(encoder, checked, asked)
    vectors, items = _vectors(encoder, items, asked.input_type)
    failed = [place for place, item in enumerate(items) if item.code]
    if len(failed) == len(items):
        raise EmbeddingInputError(items[0].message, param=_param(asked, 0))
    vectors = _cut(vectors, dimensions)
    tokens = sum(item.tokens for item in items)
    answer = {
        "object": "list",
        "data": [_row(asked, place, item, vectors[place]) for place, item in enumerate(items)],
        "model": model.card.id,
        "input_type": asked.input_type,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        "failed": len(failed),
    }
    return to_json(answer)


def _dimensions(card: ModelCard, wanted: int | None) -> int:
    whole, fewest = card.dimensions, card.min_dimensions
    if wanted is None or wanted == whole:
        return whole
    if fewest == whole:
        raise DimensionsError(
            f"model {card.id} gives {whole} dimensions and wasn't trained to be cut shorter (Matryoshka); "
            f"leave dimensions out, or ask for {whole}",
            param="dimensions",
        )
    if not fewest <= wanted < whole:
        raise DimensionsError(f"model {card.id} gives {fewest} to {whole} dimensions, not {wanted}", param="dimensions")
    return wanted


def _inputs(given: str | list[Any], max_batch: int) -> list[Any]:
    if isinstance(given, str):
        return [given]
    if not given:
        raise EmbeddingInputError("input is an empty list; give at least one text", param="input")
    if all(_is_number(one) for one in given):
        raise EmbeddingInputError(f"input is {_TOKENS}", param="input")
    if len(given) > max_batch:
        raise TooLargeError(f"input has {len(given)} texts; at most {max_batch} are taken at once", param="input")
    return given


def _checked(given: Sequence[Any]) -> list[_Item]:
    return [_check(one, f"input[{place}]" if len(given) > 1 else "input") for place, one in enumerate(given)]


def _check(given: Any, name: str) -> _Item:
    if isinstance(given, list) and given and all(_is_number(one) for one in given):
        return _Item(code="token_array", message=f"{name} is {_TOKENS}")
    if not isinstance(given, str):
        return _Item(code="not_a_text", message=f"{name} must be a text, not {_kind(given)}")
    if not given.strip():
        return _Item(code="empty", message=f"{name} is blank; give a text")
    try:
        given.encode()
    except UnicodeEncodeError:
        return _Item(code="bad_text", message=f"{name} holds half of a surrogate pair, which is no character")
    return _Item(text=given)


def _measured(encoder: BatchingEncoder, items: Sequence[_Item], asked: EmbeddingRequest) -> list[_Item]:
    """Return the items with their token counts; those that are too long are marked, or refused where asked."""
    read = _read(encoder, [item.text for item in items], asked.input_type)
    measured = []
    for place, (item, (text, tokens, too_long)) in enumerate(zip(items, read, strict=True)):
        if item.code:
            measured.append(item)
        elif not tokens:
            measured.append(_Item(code="empty", message=f"{_param(asked, place)} has nothing that the model reads"))
        elif too_long and not asked.truncation:
            measured.append(_Item(code="too_long", message=f"{_param(asked, place)} has {too_long}"))
        else:
            measured.append(_Item(text, tokens=tokens, truncated=bool(too_long)))
    return measured


def _read(encoder: BatchingEncoder, texts: Sequence[str], kind: TextKind) -> Iterator[tuple[str, int, str]]:
    """Yield what the model reads of each text: the text, its tokens, and how much too long it was, blank if it fits.

    Tokens are counted with the prefix and special ones; none if there is nothing else.
    """
    identity = encoder.identity
    cut = encoder.first_windows(texts, kind)
    *spans, before = encoder.token_spans([*texts, identity.prefix(kind)])
    room = text_room(identity.max_tokens, len(before))
    cure = "shorten it, or allow truncation"
    for place, (text, own) in enumerate(zip(texts, spans, strict=True)):
        if not own:
            yield text, 0, ""
        elif cut is not None:
            kept, tokens = cut[place]
            told = f"more than {identity.max_tokens} tokens, which is what the model takes: {cure}"
            yield kept, tokens, told if len(kept) < len(text) else ""
        else:
            told = f"{len(own)} tokens; the model takes {room}: {cure}"
            yield text, min(len(own), room) + len(before) + _SPECIAL_TOKENS, told if len(own) > room else ""


def _vectors(encoder: BatchingEncoder, items: Sequence[_Item], kind: TextKind) -> tuple[Vectors, list[_Item]]:
    """Return a row for each item, zero where it failed, and the items with those that the model failed on."""
    rows = np.zeros((len(items), encoder.identity.dimension), dtype=np.float32)
    good = [place for place, item in enumerate(items) if not item.code]
    found = list(items)
    if not good:
        return rows, found
    try:
        rows[good] = encoder.encode([items[place].text for place in good], kind)
    except ServiceError:
        raise  # out of time, or stopping
    except Exception:  # of whatever library is beneath: find out which text it is
        for place in good:
            try:
                rows[place] = encoder.encode([items[place].text], kind)[0]
            except ServiceError:
                raise
            except Exception:
                found[place] = _Item(code="not_embedded", message=f"the model can't read input[{place}]")
    return rows, found


def _cut(vectors: Vectors, dimensions: int) -> Vectors:
    """Return the head of each vector, of unit length again."""
    if dimensions == vectors.shape[1]:
        return vectors
    return unit(vectors[:, :dimensions])


def _row(asked: EmbeddingRequest, place: int, item: _Item, vector: Vectors) -> dict[str, Any]:
    row: dict[str, Any] = {"object": "embedding", "index": place, "embedding": None}
    if item.code:
        fault = {"message": item.message, "type": _INVALID, "param": _param(asked, place), "code": item.code}
        return {**row, "truncated": False, "tokens": 0, "error": fault}
    is_text = asked.encoding_format is EncodingFormat.BASE64
    row["embedding"] = base64.b64encode(vector.astype("<f4").tobytes()).decode() if is_text else vector.tolist()
    return {**row, "truncated": item.truncated, "tokens": item.tokens}


def _param(asked: EmbeddingRequest, place: int) -> str:
    many = isinstance(asked.input, list) and len(asked.input) > 1
    return f"input[{place}]" if many else "input"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _kind(value: Any) -> str:
    """Return what a JSON value is called."""
    match value:
        case None:
            return "null"
        case bool():
            return "a truth value"
        case int() | float():
            return "a number"
        case list():
            return "a list"
        case _:
            return "an object"
