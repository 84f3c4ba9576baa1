"""The API's documentation: its OpenAPI schema, and the two pages that show it, wholly from this server."""

from __future__ import annotations

import asyncio
from functools import cache
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.openapi.docs import get_redoc_html, get_swagger_ui_html
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from ale_semantic import __version__

from .models import ProblemAnswer
from .openapi_responses import refusals_everywhere

TITLE = "ALE Semantic"
STATIC = "/static-docs"
SCHEMA = "/openapi.json"
_SUMMARY = "Semantic search over agent-benchmark task cards"
_DESCRIPTION = """
Find tasks of a benchmark by meaning, filter and count them, fetch their cards.

- **Filter.** `where` takes conditions such as `domain = legal and os = linux and inputs >= 3`, also with `or`, `not`,
  `in ("a", "b")`, `contains`, `is missing`. `/api/v1/catalogue` lists the fields, what may be asked of each, and all
  values. An unknown field or value is refused with the nearest valid ones.
- **Pages.** Each page's `next` is the `cursor` of the one after it. A cursor belongs to its question and to one build
  of the index; with another it is refused.
- **Caching.** GETs carry an ETag; with `If-None-Match` an answer that still holds costs a 304.
- **Refusals** have the media type `application/problem+json`; programs tell them apart by `type`. 429 and 503 say in
  `Retry-After` when to come again.
- **Key.** Where the service asks for one: `Authorization: Bearer KEY`.
- Assistants use the same by MCP at `/mcp`.
"""
_TAGS = [
    {"name": "search", "description": "Rank tasks by meaning, find tasks alike, count values."},
    {"name": "tasks", "description": "The cards themselves."},
    {"name": "catalogue", "description": "What there is to search, and which build of it is served."},
    {"name": "curriculum", "description": "Ladders, paths, subsets and splits of tasks."},
    {"name": "embeddings", "description": "Vectors of texts, in OpenAI's shape."},
    {"name": "operations", "description": "Health and measurements."},
]
_MEDIA_TYPES = {
    "swagger-ui-bundle.js": "text/javascript",
    "swagger-ui.css": "text/css",
    "redoc.standalone.js": "text/javascript",
    "favicon.png": "image/png",
}
# ReDoc asks its maker's server for the logo in its corner.
_OUTSIDE_LOGO = b"https://cdn.redoc.ly/redoc/logo-mini.svg"
_NO_LOGO = b"data:image/gif;base64,R0lGODlhAQABAAAAACH5BAEAAAAALAAAAAABAAEAAAIA"
# The browser itself then refuses every request to another server. Both pages need inline scripts and styles.
_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data:",
        "font-src 'self' data:",
        "worker-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
_HEADERS = {"content-security-policy": _POLICY, "x-content-type-options": "nosniff", "referrer-policy": "no-referrer"}
_FASTAPIS_OWN = "HTTPValidationError"

router = APIRouter(include_in_schema=False)


@router.get("/docs")
async def swagger_page() -> Response:
    """Return the page on which requests can be tried."""
    page = get_swagger_ui_html(
        openapi_url=SCHEMA,
        title=f"{TITLE} API",
        swagger_js_url=f"{STATIC}/swagger-ui-bundle.js",
        swagger_css_url=f"{STATIC}/swagger-ui.css",
        swagger_favicon_url=f"{STATIC}/favicon.png",
        swagger_ui_parameters={"validatorUrl": None, "tryItOutEnabled": True},  # no badge from a server elsewhere
    )
    page.headers.update(_HEADERS)
    return page


@router.get("/redoc")
async def redoc_page() -> Response:
    """Return the page that reads like a manual."""
    page = get_redoc_html(
        openapi_url=SCHEMA,
        title=f"{TITLE} API",
        redoc_js_url=f"{STATIC}/redoc.standalone.js",
        redoc_favicon_url=f"{STATIC}/favicon.png",
        with_google_fonts=False,
    )
    page.headers.update(_HEADERS)
    return page


@router.get(SCHEMA)
async def openapi(request: Request) -> Response:
    """Return the schema; it is made once, which takes a while, so that is done off the event loop."""
    return JSONResponse(await asyncio.to_thread(request.app.openapi))


@router.get(STATIC + "/{name}")
async def static(name: str) -> Response:
    """Return one of the pages' own files."""
    if name not in _MEDIA_TYPES:
        raise HTTPException(404)
    headers = {**_HEADERS, "cache-control": "max-age=86400"}
    return Response(_content(name), headers=headers, media_type=_MEDIA_TYPES[name])


@cache
def _content(name: str) -> bytes:
    content = (files("fastapi_offline") / "static" / name).read_bytes()
    return content.replace(_OUTSIDE_LOGO, _NO_LOGO)


def schema(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI schema of an application; it is made once."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=TITLE,
            version=__version__,
            summary=_SUMMARY,
            description=_DESCRIPTION,
            routes=app.routes,
            tags=_TAGS,
        )
        parts = made.setdefault("components", {})
        parts.setdefault("schemas", {})[ProblemAnswer.__name__] = ProblemAnswer.model_json_schema()
        _add_refusals(made)
        parts["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer", "description": "An API key."}}
        made["security"] = [{}, {"key": []}]  # none, where the service asks for none
        app.openapi_schema = made
    return app.openapi_schema


def _add_refusals(made: dict[str, Any]) -> None:
    """Describe what any route may refuse, instead of FastAPI's own shape of bad input, which is never answered."""
    everywhere = refusals_everywhere()
    for path, methods in made["paths"].items():
        for operation in methods.values():
            told = operation["responses"]
            if _FASTAPIS_OWN in str(told.get("422")):
                del told["422"]
            if path.startswith("/api/"):
                operation["responses"] = dict(sorted({**everywhere, **told}.items()))
    for name in (_FASTAPIS_OWN, "ValidationError"):
        made["components"]["schemas"].pop(name, None)
