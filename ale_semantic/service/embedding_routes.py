"""The embedding service in OpenAI's shape: `/v1/embeddings` and `/v1/models`."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Response

from .core import Serving
from .embedding_models import (
    EmbeddingAnswer,
    EmbeddingFault,
    EmbeddingRequest,
    ModelCard,
    ModelList,
    served_model,
    served_models,
)
from .embeddings import embed
from .strict_requests import StrictRoute

router = APIRouter(prefix="/v1", tags=["embeddings"], route_class=StrictRoute)


def _refusal(description: str, code: str, *, retry: bool = False) -> dict[str, Any]:
    """Return how OpenAPI describes one refusal in OpenAI's shape."""
    example = {"error": {"message": description, "type": "invalid_request_error", "param": None, "code": code}}
    schema = {"type": "object", "properties": {"error": EmbeddingFault.model_json_schema()}}
    found: dict[str, Any] = {
        "description": description,
        "content": {"application/json": {"schema": schema, "example": example}},
    }
    if retry:
        found["headers"] = {"Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}}}
    return found


_COMMON: dict[int | str, dict[str, Any]] = {
    401: _refusal("No valid API key, where one is asked for.", "unauthorised"),
    429: _refusal("Too many requests.", "queue_full", retry=True),
    503: _refusal("No index, or the deadline passed.", "deadline", retry=True),
}
_NO_MODEL: dict[int | str, dict[str, Any]] = {404: _refusal("No such model; the nearest is named.", "model_not_found")}


@router.post(
    "/embeddings",
    operation_id="create_embeddings",
    summary="Embed texts",
    response_model=EmbeddingAnswer,
    responses={
        400: _refusal("Nothing in the input can be embedded, or the dimensions aren't there.", "invalid_input"),
        413: _refusal("Too many texts, or too large a body.", "too_large"),
        422: _refusal("A parameter can't be taken.", "bad_parameter"),
        **_NO_MODEL,
        **_COMMON,
    },
)
async def create_embeddings(service: Serving, asked: EmbeddingRequest) -> Response:
    """Return a unit vector for each text, from an encoder of the index.

    A text that can't be embedded has an `error` instead of a vector; the request fails only if all texts do. A text
    that is longer than the model takes is cut and marked `truncated`, or refused with `truncation: false`.
    """
    several = isinstance(asked.input, list) and len(asked.input) > 1
    service.telemetry.note_query(asked.input if isinstance(asked.input, str) else _first_text(asked.input))
    body = await service.ask(
        "embed", lambda index: embed(index, asked, max_batch=service.config.max_batch), bulk=several
    )
    return Response(body, media_type="application/json", headers={"cache-control": "no-store"})


def _first_text(given: list[Any]) -> str:
    return next((one for one in given if isinstance(one, str)), "")


@router.get("/models", operation_id="list_models", summary="List the models", responses=_COMMON)
async def list_models(service: Serving) -> ModelList:
    """Return the models that texts can be embedded with: those that the index was built with."""
    return ModelList(data=[model.card for model in served_models(service.holder.current)])


@router.get(
    "/models/{model_id:path}",
    operation_id="get_model",
    summary="Describe a model",
    responses={**_NO_MODEL, **_COMMON},
)
async def get_model(service: Serving, model_id: str) -> ModelCard:
    """Return a model by its id or its name on the Hub."""
    return served_model(service.holder.current, model_id).card
