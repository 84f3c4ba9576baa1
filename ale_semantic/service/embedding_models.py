"""Which models the embedding service offers, and the shapes of its requests and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from ale_semantic.embeddings.encoder import EncoderIdentity, TextKind
from ale_semantic.embeddings.registry import registry
from ale_semantic.facet_columns import nearest

from .problems import ServiceError
from .strict_json import strict_json

if TYPE_CHECKING:
    from .batching import BatchingEncoder
    from .holder import OpenIndex

# Models that were trained so that the head of a vector is a vector too (Matryoshka representation learning), by
# their names on the Hub, with the fewest dimensions that they are published with, where their own settings don't say.
# Of all others a cut vector means little, so it is refused.
MATRYOSHKA: Mapping[str, int] = {
    "Qwen/Qwen3-Embedding-0.6B": 32,
    "Snowflake/snowflake-arctic-embed-l-v2.0": 256,
    "Snowflake/snowflake-arctic-embed-m-v1.5": 256,
    "Snowflake/snowflake-arctic-embed-m-v2.0": 256,
    "google/embeddinggemma-300m": 128,
}
_OWNER = "ale-semantic"
_INPUT_SCHEMA = {
    "anyOf": [
        {"type": "string", "minLength": 1},
        {"type": "array", "items": {"type": "string"}, "minItems": 1},
    ],
    "description": "A text, or a list of texts. Arrays of token ids are refused: they are another tokenizer's.",
    "title": "Input",
}


class ModelNotFoundError(ServiceError):
    """A model that isn't served here."""

    status = 404
    slug = "model-not-found"


class EncodingFormat(StrEnum):
    """How a vector is written."""

    FLOAT = "float"
    BASE64 = "base64"


@strict_json
class EmbeddingRequest(BaseModel):
    """What is to be embedded, and how."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"model": "minilm", "input": ["reconcile invoices", "fit an orbit"], "input_type": "query"}]
        },
    )

    input: Annotated[str | list[Any], WithJsonSchema(_INPUT_SCHEMA)]
    model: Annotated[str, Field(max_length=500, description="A model of `GET /v1/models`.")]
    encoding_format: Annotated[
        EncodingFormat, Field(description="`base64` is the little-endian float32 values of a vector.")
    ] = EncodingFormat.FLOAT
    dimensions: Annotated[
        int | None, Field(ge=1, description="Cut the vectors; only models that were trained for it allow it.")
    ] = None
    input_type: Annotated[
        TextKind, Field(description="What the texts are to the model: it may put another prefix before a query.")
    ] = TextKind.DOCUMENT
    truncation: Annotated[
        bool, Field(description="Cut texts that are too long and say so (`truncated`); if false, they are refused.")
    ] = True
    user: Annotated[str | None, Field(description="Ignored.")] = None


class EmbeddingFault(BaseModel):
    """Why one text has no vector."""

    message: str
    type: str
    param: str | None
    code: str


class EmbeddingItem(BaseModel):
    """One text's vector, or why it has none."""

    object: str = "embedding"
    index: Annotated[int, Field(description="Place of the text in `input`.")]
    embedding: Annotated[list[float] | str | None, Field(description="A unit vector; null with an `error`.")]
    truncated: Annotated[bool, Field(description="The text was longer than the model takes; its end is left out.")]
    tokens: Annotated[int, Field(description="Tokens that the model saw, its prefix and special ones included.")]
    error: EmbeddingFault | None = None


class Usage(BaseModel):
    """Tokens that the model saw."""

    prompt_tokens: int
    total_tokens: int


class EmbeddingAnswer(BaseModel):
    """The vectors in the order of the texts."""

    object: str = "list"
    data: list[EmbeddingItem]
    model: str
    input_type: TextKind
    usage: Usage
    failed: Annotated[int, Field(description="Texts without a vector.")]


class ModelCard(BaseModel):
    """A model that is served."""

    id: str
    object: str = "model"
    created: Annotated[int, Field(description="Since when it is served here, in Unix seconds.")]
    owned_by: str = _OWNER
    root: Annotated[str, Field(description="Its name on the Hub, by which it may be asked for too.")]
    revision: str
    dimensions: int
    min_dimensions: Annotated[int, Field(description="What `dimensions` may be at least.")]
    max_tokens: Annotated[int, Field(description="Longest input, prefix and special tokens included.")]
    input_types: list[TextKind]
    default_input_type: TextKind = TextKind.DOCUMENT


class ModelList(BaseModel):
    """The models that are served."""

    object: str = "list"
    data: list[ModelCard]


def hub_name(identity: EncoderIdentity) -> str:
    """Return a model's name on the Hub, or its own name where it has none."""
    spec = registry().get(identity.name)
    return spec.hub if spec is not None and spec.hub else str(identity.name)


def min_dimensions(identity: EncoderIdentity, own: int | None) -> int:
    """Return how far a model's vectors may be cut: as its own settings say, else as is known of it."""
    whole = int(identity.dimension)
    return min(own if own is not None else MATRYOSHKA.get(hub_name(identity), whole), whole)


@dataclass(frozen=True, slots=True)
class ServedModel:
    """A model that texts can be embedded with; `encoder` loads it if need be."""

    card: ModelCard
    encoder: Callable[[], BatchingEncoder]


def served_models(index: OpenIndex) -> list[ServedModel]:
    """Return the models of an index: the one it is searched with first."""
    found = [ServedModel(_card(index, index.encoder.identity, index.fewest_dimensions), lambda: index.encoder)]
    if index.second is not None:
        found.append(ServedModel(_card(index, index.second.identity, None), index.second.encoder))
    return found


def served_model(index: OpenIndex, name: str) -> ServedModel:
    """Return the model of a name.

    Raises:
        ModelNotFoundError: with the names there are.
    """
    models = served_models(index)
    for model in models:
        if name in (model.card.id, model.card.root):
            return model
    names = [model.card.id for model in models]
    near = nearest(name, names)
    raise ModelNotFoundError(
        f"there is no model {name[:100]!r} here; did you mean {', '.join(map(repr, near))}? "
        f"Served: {', '.join(map(repr, names))}",
        param="model",
    )


def _card(index: OpenIndex, identity: EncoderIdentity, fewest: int | None) -> ModelCard:
    return ModelCard(
        id=identity.name,
        created=int(index.opened),
        root=hub_name(identity),
        revision=identity.revision,
        dimensions=identity.dimension,
        min_dimensions=min_dimensions(identity, fewest),
        max_tokens=identity.max_tokens,
        input_types=list(TextKind),
    )
