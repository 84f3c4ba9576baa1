"""Routes that rank and count: search, similar, facets."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from . import search_answers
from .models import FacetsAnswer, SearchAnswer
from .openapi_responses import CACHED, PAGED, described
from .parameters import (
    FacetsBody,
    FacetsParameters,
    SearchBody,
    SearchParameters,
    SimilarBody,
    SimilarParameters,
)
from .quick_routes import QuickRoute
from .replies import Desk

router = APIRouter(prefix="/api/v1", tags=["search"], route_class=QuickRoute)


@router.get(
    "/search",
    operation_id="search",
    summary="Find tasks by meaning",
    response_model=SearchAnswer,
    responses=described("search", CACHED, PAGED),
)
async def search(desk: Desk, asked: Annotated[SearchParameters, Query()]) -> Response:
    """Rank the tasks that pass a filter by how likely they answer a query in everyday words.

    The ranking cuts nothing off: `total` counts all tasks that pass the filter, unless `min_band` asks for good
    hits alone. `verdict` says what the whole answer amounts to.
    """
    return await desk.reply("search", asked, search_answers.search, text=asked.query)


@router.post(
    "/search",
    operation_id="search_by_post",
    summary="Find tasks by meaning (long queries)",
    response_model=SearchAnswer,
    responses=described("search", PAGED),
)
async def search_by_post(desk: Desk, asked: SearchBody) -> Response:
    """Do the same as the GET, with the parameters in a JSON body."""
    return await desk.reply("search", asked, search_answers.search, text=asked.query)


@router.get(
    "/similar",
    operation_id="similar",
    summary="Find tasks like given ones",
    response_model=SearchAnswer,
    responses=described("similar", CACHED, PAGED, tasks=True),
)
async def similar(desk: Desk, asked: Annotated[SimilarParameters, Query()]) -> Response:
    """Rank tasks by how near they are to given tasks or to a pasted text, and how far from others.

    At least one of `like` and `text` is needed; the given tasks are left out.
    """
    return await desk.reply("similar", asked, search_answers.similar, text=asked.text)


@router.post(
    "/similar",
    operation_id="similar_by_post",
    summary="Find tasks like given ones (long texts)",
    response_model=SearchAnswer,
    responses=described("similar", PAGED, tasks=True),
)
async def similar_by_post(desk: Desk, asked: SimilarBody) -> Response:
    """Do the same as the GET, with the parameters in a JSON body."""
    return await desk.reply("similar", asked, search_answers.similar, text=asked.text)


@router.get(
    "/facets",
    operation_id="facets",
    summary="Count the values of the fields",
    response_model=FacetsAnswer,
    responses=described("facets", CACHED),
)
async def facets(desk: Desk, asked: Annotated[FacetsParameters, Query()]) -> Response:
    """Count every value of the fields, each under the other fields' selections, zeros included."""
    return await desk.reply("facets", asked, search_answers.facets, text=asked.query)


@router.post(
    "/facets",
    operation_id="facets_by_post",
    summary="Count the values of the fields (long queries)",
    response_model=FacetsAnswer,
    responses=described("facets"),
)
async def facets_by_post(desk: Desk, asked: FacetsBody) -> Response:
    """Do the same as the GET, with the parameters in a JSON body."""
    return await desk.reply("facets", asked, search_answers.facets, text=asked.query)
