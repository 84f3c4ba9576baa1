"""Faults as answers: each kind has its status, the user's own are told, and nothing of this machine is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ale_semantic.errors import (
    AleSemanticError,
    BundleError,
    CurriculumError,
    EncoderError,
    FilterError,
    MissingExtraError,
    QueryError,
    UnknownNameError,
)
from ale_semantic.service.models import ProblemAnswer
from ale_semantic.service.problems import (
    CrowdedError,
    CursorError,
    CursorExpiredError,
    CursorMismatchError,
    DeadlineError,
    ForbiddenError,
    NotReadyError,
    ParameterError,
    QueueFullError,
    RateLimitError,
    ServiceError,
    TooLargeError,
    UnauthorisedError,
    problem_of,
    problem_of_status,
)

STATUSES: list[tuple[BaseException, int, str]] = [
    (UnknownNameError("task", "a/b", ["a/c"]), 404, "unknown-task"),
    (UnknownNameError("field", "domian", ["domain"], expression="domian = x", position=0), 422, "unknown-name"),
    (FilterError("no", expression="(", position=1), 422, "bad-filter"),
    (QueryError("too long"), 422, "bad-query"),
    (CurriculumError("no way"), 422, "bad-curriculum"),
    (ParameterError("no", param="k"), 422, "bad-parameter"),
    (CursorError("no"), 400, "bad-cursor"),
    (CursorMismatchError("no"), 409, "cursor-of-another-question"),
    (CursorExpiredError("no"), 410, "cursor-expired"),
    (UnauthorisedError("no"), 401, "unauthorised"),
    (ForbiddenError("no"), 403, "forbidden"),
    (TooLargeError("no"), 413, "too-large"),
    (QueueFullError("no"), 429, "queue-full"),
    (RateLimitError("no"), 429, "rate-limited"),
    (DeadlineError("no"), 503, "deadline"),
    (NotReadyError("no"), 503, "not-ready"),
    (CrowdedError("no"), 503, "too-many-connections"),
    (MissingExtraError("plots", "plots"), 501, "not-installed"),
    (BundleError("/home/me/index: damaged"), 503, "index-unavailable"),
    (EncoderError("/home/me/model: damaged"), 503, "index-unavailable"),
    (AleSemanticError("/home/me"), 500, "internal"),
    (RuntimeError("/home/me"), 500, "internal"),
]


@pytest.mark.parametrize(("fault", "status", "slug"), STATUSES, ids=lambda value: type(value).__name__)
def test_each_kind_of_fault_has_its_status(fault: BaseException, status: int, slug: str) -> None:
    problem = problem_of(fault)
    assert (problem.status, problem.slug) == (status, slug)
    assert problem.title
    assert "/home" not in json.dumps(problem.body(path="/api/v1/search", request_id="7"))


def test_no_kind_of_refusal_is_forgotten() -> None:
    def kinds(base: type[ServiceError]) -> set[type[ServiceError]]:
        return {base} | {kind for below in base.__subclasses__() for kind in kinds(below)}

    own = {kind for kind in kinds(ServiceError) if kind.__module__ == ServiceError.__module__}
    untold = own - {type(fault) for fault, _, _ in STATUSES}
    assert {kind.__name__ for kind in untold} == {"ServiceError", "RetryLaterError"}  # the bases


def test_a_body_is_the_documented_one() -> None:
    fault = UnknownNameError("field", "domian", ["domain"], expression="os = linux and domian = x", position=15)
    body = problem_of(fault).body(path="/api/v1/search", request_id="abc")
    assert body == {
        "type": "urn:ale-semantic:problem:unknown-name",
        "title": "Unknown name",
        "status": 422,
        "detail": "unknown field 'domian'; did you mean 'domain'?",
        "param": "where",
        "nearest": ["domain"],
        "position": 15,
        "request_id": "abc",
    }
    ProblemAnswer.model_validate(body)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (UnauthorisedError("no key"), "authentication_error"),
        (QueueFullError("busy"), "rate_limit_error"),
        (ParameterError("no", param="input"), "invalid_request_error"),
        (RuntimeError("secret"), "server_error"),
    ],
)
def test_below_v1_the_body_is_openais(fault: BaseException, kind: str) -> None:
    body: dict[str, Any] = problem_of(fault).body(path="/v1/embeddings", request_id="abc")
    assert body.keys() == {"error"}
    assert body["error"].keys() == {"message", "type", "param", "code"}
    assert body["error"]["type"] == kind
    assert "secret" not in body["error"]["message"]


def test_whoever_must_wait_is_told_how_long_in_whole_seconds() -> None:
    assert problem_of(QueueFullError("busy", retry_after=0.2)).headers["retry-after"] == "1"
    assert problem_of(DeadlineError("late", retry_after=2.1)).headers["retry-after"] == "3"


def test_an_answer_notes_what_was_refused_for_the_log() -> None:
    scope: dict[str, Any] = {"type": "http", "path": "/api/v1/search", "state": {"request_id": "abc"}}
    response = problem_of(QueryError("no")).response(scope)
    assert response.status_code == 422
    assert response.headers["content-type"] == "application/problem+json"
    assert json.loads(bytes(response.body))["request_id"] == "abc"
    assert scope["state"]["problem"] == "bad-query"


def test_a_message_that_repeats_a_book_is_cut() -> None:
    assert len(problem_of(QueryError("x" * 50_000)).detail) < 3_000


def test_a_bare_status_is_a_problem_too() -> None:
    wrong_method = problem_of_status(405, "Method Not Allowed", {"allow": "GET"})
    assert (wrong_method.slug, wrong_method.headers["allow"]) == ("method-not-allowed", "GET")
    assert wrong_method.detail == "this address takes GET only"
    assert "/docs" in problem_of_status(404, "Not Found").detail
    assert problem_of_status(404, "no such model").detail == "no such model"
