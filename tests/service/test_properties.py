"""Whatever is sent, the service answers as its schema says, and never with a fault of its own.

The ordinary run sends some 1,000 inputs; `pytest -m nightly` sends more than 20,000.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tried import inputs, tried

from ale_semantic.errors import FilterError
from ale_semantic.filters import parse

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


# --- the filter language -------------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    [
        "domain", "tier", "os", "software", "inputs", "domian", "legal", "last-exam", "numpy", "3", "-1",
        "1e400", "0x1f",
        "and", "or", "not", "in", "AND", "=", "!=", ">=", "<", "<=", ">", "~", "(", ")", "((", "[", "]", ",", ":", ";",
        '"', "'", "`", '"a b"', "'x\" or tier = \"last-exam'", "\\", "&&", "||", "*", "%", "\x00", "\ud800", "\u202e",
        "年报", "é", "\U0001f600", "--", "/*", "has", "missing", "true", "null", "..", "2-5", "\n", "\t",
    ]
)  # fmt: skip
FILTERS = st.one_of(
    st.lists(WORDS, max_size=12).map(" ".join),
    st.lists(WORDS, max_size=12).map("".join),
    st.text(max_size=60),
    st.lists(st.tuples(st.sampled_from(["domain", "tier", "os"]), st.text(max_size=6)), min_size=1, max_size=5).map(
        lambda pairs: " or ".join(f"{field} = {json.dumps(value)}" for field, value in pairs)
    ),
)


def refusal(expression: str) -> FilterError | None:
    try:
        parse(expression)
    except FilterError as fault:
        return fault
    return None


@inputs(500, 12_000)
def test_a_filter_is_understood_or_refused_with_its_place(number: int) -> None:
    def check(expression: str) -> None:
        fault = refusal(expression)
        if fault is not None:
            assert str(fault)
            assert fault.position is None or 0 <= fault.position <= len(expression)
            assert "\n" in fault.pointer() or not fault.pointer()

    tried(FILTERS, number, check)


@pytest.mark.parametrize(
    "expression", ["(" * 20_000, "not " * 20_000, "domain = legal and " * 5_000 + "os = linux", '"' * 9_999]
)
def test_a_deep_or_long_filter_is_no_fault(expression: str, api: TestClient) -> None:
    assert answered(api, "POST", "/api/v1/tasks", json.dumps({"where": expression}).encode()).status_code in (200, 422)


@inputs(120, 2_000)
def test_a_filter_over_http_is_answered_or_refused(number: int, api: TestClient) -> None:
    def check(expression: str) -> None:
        encoded = expression.encode("utf-8", "replace")
        answer = api.get("/api/v1/tasks", params={"where": encoded, "k": 1})
        assert answer.status_code in (200, 422), answer.text
        if answer.status_code == 422:
            assert answer.json()["detail"]

    tried(FILTERS, number, check)


# --- bodies --------------------------------------------------------------------------------------------------------

IDS = ["legal/lease_review", "science/orbit_fit", "nowhere/nothing"]
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(min_value=-(2**70), max_value=2**70),
    st.floats(),
    st.text(max_size=20),
    st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)
LIKELY: dict[str, st.SearchStrategy[Any]] = {
    "query": st.sampled_from(["lease", "", "年报", "C++", "\x00", "a" * 5_000]),
    "where": FILTERS,
    "k": st.integers(min_value=-1, max_value=300),
    "offset": st.integers(min_value=-1, max_value=20),
    "mode": st.sampled_from(["hybrid", "dense", "lexical", "magic"]),
    "min_band": st.sampled_from(["strong", "weak", "none", "best"]),
    "cursor": st.text(max_size=30),
    "facets": st.lists(st.sampled_from(["domain", "tier", "os", "nothing"]), max_size=3),
    "fields": st.lists(st.sampled_from(["title", "summary", "nothing"]), max_size=3),
    "task_id": st.sampled_from(IDS),
    "task_ids": st.lists(st.sampled_from(IDS), max_size=4),
    "like": st.lists(st.sampled_from(IDS), max_size=4),
    "unlike": st.lists(st.sampled_from(IDS), max_size=2),
    "text": st.text(max_size=30),
    "input": st.one_of(
        st.text(max_size=40),
        st.lists(st.text(max_size=10), max_size=5),
        st.lists(st.integers(min_value=-5, max_value=40_000), max_size=5),
        st.lists(st.lists(st.integers(min_value=0, max_value=9), max_size=3), max_size=3),
    ),
    "model": st.sampled_from(["hash", "text-embedding-3-small", ""]),
    "encoding_format": st.sampled_from(["float", "base64", "hex"]),
    "dimensions": st.integers(min_value=-1, max_value=100),
    "input_type": st.sampled_from(["query", "document", "passage"]),
}
PATHS = (
    "search",
    "similar",
    "facets",
    "tasks",
    "tasks/batch",
    "curriculum/path",
    "curriculum/subset",
    "curriculum/split",
)
ROUTES = st.sampled_from([f"/api/v1/{path}" for path in PATHS] + ["/v1/embeddings"] * 3)


@st.composite
def bodies(draw: st.DrawFn) -> bytes:
    """Draw a body: fields that routes know with likely or odd values, any JSON, or bytes that are none."""
    kind = draw(st.integers(min_value=0, max_value=9))
    if kind == 0:
        return draw(st.binary(max_size=80))
    if kind == 1:
        return json.dumps(draw(st.recursive(ODD, lambda inner: st.lists(inner, max_size=3), max_leaves=8))).encode()
    names = draw(st.lists(st.sampled_from(sorted(LIKELY)), unique=True, max_size=6))
    values = {name: draw(LIKELY[name] if draw(st.integers(0, 5)) else ODD) for name in names}
    text = json.dumps(values).encode()
    return text[: draw(st.integers(0, len(text)))] if kind == 2 else text


def answered(client: TestClient, method: str, path: str, body: bytes, media: str = "application/json") -> Any:
    """Send a body; any answer is well formed and no fault of the service's."""
    answer = client.request(method, path, content=body, headers={"content-type": media})
    assert answer.status_code < 500, (path, body, answer.text)
    told = answer.json()
    if answer.status_code >= 400:
        assert told["error"]["message"] if path.startswith("/v1/") else told["detail"]
    return answer


@inputs(300, 4_000)
def test_any_body_is_answered_or_refused(number: int, api: TestClient) -> None:
    statuses: Counter[int] = Counter()

    def check(case: tuple[str, bytes]) -> None:
        statuses[answered(api, "POST", *case).status_code] += 1

    tried(st.tuples(ROUTES, bodies()), number, check)
    assert statuses[200] > number / 100, "most of what is sent means nothing, but not all"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"query": "\\ud800"}',
        b'{"query": "\xed\xa0\x80"}',
        b'{"query": "a", "query": 3}',
        b'{"k": 1e999}',
        b'{"k": NaN}',
        b'{"k": ' + b"9" * 5_000 + b"}",
        b'\xef\xbb\xbf{"query": "a"}',
        '{"query": "a"}'.encode("utf-16"),
        b'{"query": "a"}\x00',
        b'{"query": "' + b"a" * 900_000 + b'"}',
        b'{"__proto__": {"k": 1}}',
        b'{"input": ' + json.dumps(["x"] * 5_000).encode() + b', "model": "hash"}',
    ],
    ids=range(16),
)
@pytest.mark.parametrize("path", ["/api/v1/search", "/v1/embeddings"])
def test_odd_bodies_are_no_fault(path: str, body: bytes, api: TestClient) -> None:
    answered(api, "POST", path, body)


@pytest.mark.parametrize(
    "media", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "a/b; charset=x"]
)
def test_odd_media_types_are_no_fault(media: str, api: TestClient) -> None:
    answered(api, "POST", "/api/v1/search", b'{"query": "lease"}', media)


# --- the schema ----------------------------------------------------------------------------------------------------


@inputs(5, 150)
def test_answers_are_what_the_schema_says(number: int, api: TestClient) -> None:
    schema = schemathesis.openapi.from_dict(api.app.openapi())  # type: ignore[attr-defined]
    operations: list[Any] = [found.ok() for found in schema.get_all_operations()]  # type: ignore[union-attr]
    assert len(operations) > 25

    def check(case: Any) -> None:
        sent = case.as_transport_kwargs(base_url=str(api.base_url))
        sent = {name: value for name, value in sent.items() if name not in ("cookies", "timeout")}
        if isinstance(sent.get("data"), str | bytes):  # a whole body, which this client calls otherwise
            sent["content"] = sent.pop("data")
        case.validate_response(api.request(**sent), checks=CHECKS)

    for operation in operations:
        strategy = operation.as_strategy()
        if operation.body or operation.query or operation.path_parameters:
            tried(strategy, number, check)
        else:
            tried(strategy, 1, check)
