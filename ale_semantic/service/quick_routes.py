"""GETs whose parameters are one model: what is valid is read by pydantic alone, which takes a fraction of the time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, get_origin, get_type_hints

from fastapi import Request, Response
from pydantic import BaseModel, ValidationError
from starlette.datastructures import QueryParams

from .replies import Replies, replies_of
from .strict_requests import StrictRoute


class QuickRoute(StrictRoute):
    """A route as any other where its function takes more than `Replies` and one model, or makes no response."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return a handler that goes the usual way only to tell what is wrong."""
        usual = super().get_route_handler()
        names = self._names()
        if names is None:
            return usual
        desk_name, asked_name, model = names
        lists = frozenset(name for name, field in model.model_fields.items() if get_origin(field.annotation) is list)

        async def quickly(request: Request) -> Response:
            desk = Replies(request)
            try:
                asked = model.model_validate(_values(request.query_params, lists))
            except ValidationError:
                return await usual(request)
            answer: Response = await self.endpoint(**{desk_name: desk, asked_name: asked})
            return answer

        return quickly

    def _names(self) -> tuple[str, str, type[BaseModel]] | None:
        """Return the names of the function's `Replies` and parameters, and their model; None if it takes more."""
        takes = self.dependant
        more = [*takes.path_params, *takes.header_params, *takes.cookie_params, *takes.body_params]
        if more or len(takes.query_params) != 1 or len(takes.dependencies) != 1:
            return None
        (asked,), (desk,) = takes.query_params, takes.dependencies
        model: Any = asked.field_info.annotation
        made = get_type_hints(self.endpoint).get("return")
        if desk.call is not replies_of or desk.name is None or made is not Response:
            return None
        return (desk.name, asked.name, model) if isinstance(model, type) and issubclass(model, BaseModel) else None


def _values(given: QueryParams, lists: frozenset[str]) -> dict[str, Any]:
    return {name: given.getlist(name) if name in lists else value for name, value in given.items()}
