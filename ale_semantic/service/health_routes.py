"""Whether the service lives, whether it can answer, and its numbers."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

from .core import Serving

router = APIRouter(tags=["operations"])


class Alive(BaseModel):
    """The process answers."""

    status: str = Field("ok", examples=["ok"])


class Ready(BaseModel):
    """Whether questions can be answered; all but the status is told to those with a key alone."""

    status: str = Field(examples=["ready"])
    generation: str | None = Field(None, description="The index that is served.")
    tasks: int | None = Field(None, description="Cards in it.")
    model: str | None = Field(None, description="The encoder it was built with.")
    problem: str | None = Field(None, description="Why the newest index isn't served; the earlier one is.")


@router.get("/healthz", summary="Is the process alive?")
async def healthz() -> Alive:
    """Answer as long as the event loop runs; needs no key."""
    return Alive(status="ok")


@router.get(
    "/readyz",
    summary="Can questions be answered?",
    response_model=Ready,
    responses={503: {"model": Ready, "description": "Starting, or stopping"}},
)
async def readyz(request: Request, service: Serving) -> Response:
    """Answer 200 while an index is open and questions are taken, else 503; needs no key."""
    ready = service.pool.is_open
    state: dict[str, Any] = {"status": "ready" if ready else "stopping"}
    if request.scope.get("state", {}).get("trusted", True):
        index = service.holder.current
        state.update(
            generation=index.generation,
            tasks=len(index.engine.catalogue),
            model=index.encoder.identity.name,
            problem="the newest index can't be opened; the log says why" if service.holder.problem else None,
        )
    return JSONResponse(Ready(**state).model_dump(), 200 if ready else 503, {"cache-control": "no-store"})


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def metrics(request: Request, service: Serving) -> Response:
    """Return all metrics as text; needs a key where keys are asked for."""
    body, content_type = service.telemetry.metrics.exposition(request.headers.get("accept", ""))
    return Response(body, headers={"content-type": content_type, "cache-control": "no-store"})
