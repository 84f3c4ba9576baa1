"""Routes that design curricula: each as GET, whose answer may be kept, and as POST, for long requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_origin

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic_core import to_json

from ale_semantic.curriculum import (
    CatalogueDiff,
    LeakReport,
    LimitError,
    chart,
    markdown,
    task_list,
)
from ale_semantic.curriculum.records import Record, plain
from ale_semantic.engine import Engine

from . import curriculum_answers as answers
from . import curriculum_parameters as parameters
from .core import Service, Serving
from .curriculum_designs import DESIGNS, MEDIA_TYPES, Design
from .curriculum_parameters import MAX_DOCUMENT, ExportForm, Form, SubsetParameters
from .etags import etag_of
from .openapi_curriculum import described
from .parameters import Parameters
from .problems import PROBLEM_MEDIA_TYPE, ParameterError, problem_of, request_id_of
from .replies import CACHING, not_modified
from .strict_json import strict_json
from .strict_requests import StrictRoute

STAGE = "curriculum"
router = APIRouter(prefix="/api/v1/curriculum", tags=["curriculum"], route_class=StrictRoute)


@dataclass(frozen=True, slots=True)
class _Page:
    """The body of an answer, whatever its form."""

    body: bytes
    media_type: str = "application/json"
    status: int = 200


def _add(design: Design) -> None:
    """Add a design's two routes; FastAPI reads the type of the parameters from the annotation."""

    async def by_get(request: Request, service: Serving, asked: Any) -> Response:
        return await _reply(request, service, design, asked)

    async def by_post(request: Request, service: Serving, asked: Any) -> Response:
        return await _reply(request, service, design, asked)

    by_get.__annotations__ |= {"asked": Annotated[design.asked, Query()]}
    by_post.__annotations__ |= {"asked": strict_json(design.asked)}
    forms = [MEDIA_TYPES[form] for form in (Form.YAML, Form.TASKS, Form.MARKDOWN)] if design.curriculum else []
    once = Depends(_refuse_repeats(design.asked))
    for method, endpoint, suffix in (("GET", by_get, ""), ("POST", by_post, "_by_post")):
        router.add_api_route(
            f"/{design.name}",
            endpoint,
            methods=[method],
            operation_id=f"curriculum_{design.name}{suffix}",
            summary=design.summary,
            description=design.description,
            response_model=design.answered,
            responses=described(design.name, kept=method == "GET", media_types=forms),
            dependencies=[once] if method == "GET" else [],
        )


def _refuse_repeats(asked: type[Parameters]) -> Callable[[Request], None]:
    single = {name for name, field in asked.model_fields.items() if get_origin(field.annotation) is not list}

    def refuse(request: Request) -> None:
        names = [name for name, _ in request.query_params.multi_items() if name in single]
        for name in names:
            if names.count(name) > 1:
                raise ParameterError(f"{name} is given more than once", param=name)

    return refuse


async def _reply(request: Request, service: Service, design: Design, asked: Any) -> Response:
    if isinstance(asked, SubsetParameters) and asked.k > service.config.max_k:
        raise ParameterError(f"k may be at most {service.config.max_k}, not {asked.k}", param="k")
    is_get = request.method == "GET"
    if is_get:
        given = request.headers.get("if-none-match")
        known = await not_modified(service, given, lambda index: answers.check_asked(index.engine, asked))
        if known is not None:
            return known

    def question(engine: Engine) -> _Page:
        return _written(engine, design, design.find(engine, asked), getattr(asked, "form", Form.JSON))

    service.telemetry.note_query(_text(asked))
    page, index = await _asked(request, service, question)
    headers = {"etag": etag_of(index), "cache-control": CACHING} if is_get else {"cache-control": "no-store"}
    return Response(page.body, page.status, headers, page.media_type)


def _text(asked: Parameters) -> str:
    """Return what is searched for in everyday words, for the log if the settings ask for it."""
    given = (getattr(asked, name, "") for name in ("start", "goal", "skill", "topic"))
    return " ".join(text if isinstance(text, str) else "; ".join(text) for text in given).strip()


async def _asked(request: Request, service: Service, question: Callable[[Engine], _Page]) -> tuple[_Page, str]:
    """Return the answer to a question and the ETag of the index; a limit that can't be met is told with the offer."""

    def asked(engine: Engine) -> _Page:
        try:
            with answers.in_time():
                return question(engine)
        except LimitError as fault:
            problem = problem_of(fault)
            request.scope.setdefault("state", {})["problem"] = problem.slug
            told = {
                **problem.body(path=request.url.path, request_id=request_id_of(request.scope)),
                "failed": plain(fault.failed),
                "offer": plain(fault.nearest),
            }
            return _Page(to_json(told), PROBLEM_MEDIA_TYPE, problem.status)

    return await service.ask(STAGE, lambda index: (asked(index.engine), index.etag), bulk=True)


def _written(engine: Engine, design: Design, result: Record, form: Form) -> _Page:
    if form is Form.JSON or design.curriculum is None:
        return _json(result)
    curriculum = design.curriculum(result)
    match form:
        case Form.YAML:
            text = curriculum.to_yaml()
        case Form.TASKS:
            text = task_list(engine, curriculum)
        case _:
            text = markdown(engine, curriculum)
    return _Page(text.encode(), MEDIA_TYPES[form])


for _design in DESIGNS:
    _add(_design)


@router.post(
    "/leaks",
    operation_id="curriculum_leaks",
    summary="Your own tasks against the catalogue",
    response_model=LeakReport,
    responses=described("leaks"),
)
async def leaks(request: Request, service: Serving, asked: parameters.LeakParameters) -> Response:
    """Compare your own tasks with the catalogue: the nearest task of each, and whether it is a near twin."""
    page, _ = await _asked(request, service, lambda engine: _json(answers.find_leaks(engine, asked)))
    return _unkept(page)


@router.post(
    "/diff",
    operation_id="curriculum_diff",
    summary="Another catalogue against the one that is served",
    response_model=CatalogueDiff,
    responses=described("diff"),
)
async def diff(request: Request, service: Serving, asked: parameters.DiffParameters) -> Response:
    """Compare the catalogue that is served with another one: added, removed, changed text, moved tier or domain."""
    page, _ = await _asked(request, service, lambda engine: _json(answers.find_diff(engine, asked)))
    return _unkept(page)


async def document_of(request: Request) -> str:
    """Return the YAML that a request holds.

    Raises:
        ParameterError: if it is no text, or longer than any curriculum.
    """
    body = await request.body()
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise ParameterError(f"the body is not UTF-8 at byte {fault.start}") from None
    if len(text) > MAX_DOCUMENT:
        raise ParameterError(f"the curriculum has {len(text)} characters; at most {MAX_DOCUMENT} are taken")
    return text


Document = Annotated[str, Depends(document_of)]
_YAML_BODY = {"requestBody": {"required": True, "content": {"application/yaml": {"schema": {"type": "string"}}}}}


@router.post(
    "/check",
    operation_id="curriculum_check",
    summary="Check a curriculum file",
    response_model=answers.CheckAnswer,
    responses=described("check"),
    openapi_extra=_YAML_BODY,
)
async def check(request: Request, service: Serving, document: Document) -> Response:
    """Check a curriculum file (YAML) against the catalogue; `kept` tells whether all of its constraints are."""

    page, _ = await _asked(request, service, lambda engine: _json(answers.check_document(engine, document)))
    return _unkept(page)


@router.post(
    "/export",
    operation_id="curriculum_export",
    summary="A curriculum file in other forms",
    response_class=Response,
    responses=described(media_types=[MEDIA_TYPES[form] for form in ExportForm], only_text=True),
    openapi_extra=_YAML_BODY,
)
async def export(
    request: Request,
    service: Serving,
    document: Document,
    asked: Annotated[parameters.ExportParameters, Query()],
) -> Response:
    """Write a curriculum file (YAML) as ALE task list, Markdown with the reasons, or chart of skills by step."""

    def question(engine: Engine) -> _Page:
        curriculum = answers.read_document(document)
        match asked.form:
            case ExportForm.SVG:
                body = chart(engine, curriculum, form="svg")
            case ExportForm.MARKDOWN:
                body = markdown(engine, curriculum).encode()
            case _:
                body = task_list(engine, curriculum).encode()
        return _Page(body, MEDIA_TYPES[asked.form])

    page, _ = await _asked(request, service, question)
    return _unkept(page)


def _json(result: Record) -> _Page:
    return _Page(to_json(result.to_dict()))


def _unkept(page: _Page) -> Response:
    return Response(page.body, page.status, {"cache-control": "no-store"}, page.media_type)
