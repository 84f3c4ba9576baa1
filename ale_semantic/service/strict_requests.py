"""What FastAPI would pass over in silence: a name that JSON gives twice, a query string that nobody reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from .problems import OPENAI_PREFIX, ParameterError, ServiceError

_SHOWN = 100  # characters of a name


class UnreadableBodyError(ServiceError):
    """A body that isn't JSON as this service takes it."""

    status = 422
    slug = "bad-json"


class BodyFault(HTTPException):
    """Carries a fault out of FastAPI's reading of the body, which lets no other exception pass."""

    def __init__(self, fault: ServiceError) -> None:
        """Keep the fault."""
        super().__init__(fault.status)
        self.fault = fault


class StrictRoute(APIRoute):
    """A route whose body and query string say one thing only."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the usual handler over a stricter request."""
        handle = super().get_route_handler()
        reads_query = bool(self.dependant.query_params)

        async def strictly(request: Request) -> Response:
            # OpenAI's clients and gateways add parameters of their own, such as a version of the API.
            if request.url.query and not reads_query and not request.url.path.startswith(OPENAI_PREFIX):
                raise ParameterError("this address takes nothing in the query string; put it into the JSON body")
            return await handle(_StrictRequest(request.scope, request.receive))

        return strictly


class _StrictRequest(Request):
    async def json(self) -> Any:
        body = await self.body()
        try:
            return json.loads(body, object_pairs_hook=_object, parse_constant=_no_constant)
        except json.JSONDecodeError:
            raise  # FastAPI tells the place
        except UnicodeDecodeError as error:
            raise BodyFault(UnreadableBodyError(f"the body is no JSON: not UTF-8 at byte {error.start}")) from None
        except RecursionError:
            raise BodyFault(UnreadableBodyError("the body is no JSON: it is too deeply nested")) from None
        except _TwiceError as error:
            fault = ParameterError(f"{error.name[:_SHOWN]} is given more than once", param=error.name[:_SHOWN])
            raise BodyFault(fault) from None
        except _ConstantError as error:
            raise BodyFault(UnreadableBodyError(f"the body is no JSON: it has no number {error}")) from None
        except ValueError:  # Python reads no number of thousands of digits
            raise BodyFault(UnreadableBodyError("the body has a number of too many digits")) from None


class _TwiceError(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class _ConstantError(Exception):
    """NaN, Infinity or -Infinity, which Python's reader would take."""


def _no_constant(name: str) -> Any:
    raise _ConstantError(name)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise _TwiceError(name.encode("utf-8", "replace").decode())
            seen.add(name)
    return found
