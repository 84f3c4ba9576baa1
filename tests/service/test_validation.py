"""Bad input is told by the name of each parameter, with the valid names near to an unknown one."""

from __future__ import annotations

from typing import Any

import pytest

from ale_semantic.service.validation import validation_problem


def fault(kind: str, *loc: str | int, msg: str = "Input should be a valid integer", **ctx: Any) -> dict[str, Any]:
    return {"type": kind, "loc": loc, "msg": msg, "input": "x", "ctx": ctx}


@pytest.mark.parametrize(
    ("given", "detail", "param"),
    [
        (fault("int_parsing", "query", "k"), "k must be a whole number such as 10, not the text 'x'", "k"),
        (fault("string_type", "body", "like", 2, msg="Must be text"), "like[2]: must be text", "like[2]"),
        (fault("missing", "body", "task_ids"), "task_ids is missing", "task_ids"),
        (fault("missing", "body"), "the body is missing", None),
        (fault("value_error", "body", "query", msg="Value error, is half"), "query: is half", "query"),
    ],
)
def test_a_fault_names_its_parameter(given: dict[str, Any], detail: str, param: str | None) -> None:
    problem = validation_problem([given], ["k"])
    assert (problem.status, problem.detail, problem.param) == (422, detail, param)


@pytest.mark.parametrize(("name", "near"), [("q", "query"), ("quary", "query"), ("filds", "fields"), ("wher", "where")])
def test_an_unknown_parameter_is_told_with_the_nearest(name: str, near: str) -> None:
    problem = validation_problem([fault("extra_forbidden", "query", name)], ["query", "where", "fields", "k"])
    assert problem.slug == "unknown-parameter"
    assert problem.detail.startswith(f"unknown parameter {name!r}; did you mean")
    assert near in problem.nearest


def test_an_unknown_parameter_like_no_other_is_told_alone() -> None:
    assert validation_problem([fault("extra_forbidden", "body", "zzzz")], ["query", "k"]).nearest == ()


def test_many_faults_are_counted() -> None:
    problem = validation_problem([fault("int_parsing", "body", f"n{number}") for number in range(8)], [])
    assert problem.detail.endswith("; and 3 more")


def test_a_body_that_is_no_json_is_told_with_the_place() -> None:
    problem = validation_problem([fault("json_invalid", "body", 7, error="Expecting value")], [])
    assert problem.detail == "the body is no JSON: Expecting value at character 7"
