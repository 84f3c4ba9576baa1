"""Embeddings in OpenAI's shape: every form of input, refusals, and each item's own fault."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from embedding_toys import TEXT, PrefixedEncoder, embed, vector_of
from fastapi.testclient import TestClient
from service_toys import build_toys, client_of, toy_service
from toy import HashEncoder, toy_catalogue

from ale_semantic import Engine, build_index
from ale_semantic.embeddings.encoder import TextKind, Vectors
from ale_semantic.service.batching import BatchingEncoder
from ale_semantic.service.holder import EngineHolder, OpenIndex

LONG_TEXT = "word " * 100  # the toys' model takes 32 tokens


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = build_toys(tmp_path_factory.mktemp("embeddings") / "index")
    with client_of(toy_service(folder, max_batch=8)) as client:
        yield client


@pytest.fixture(scope="module")
def prefixed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("prefixed")
    build_index(toy_catalogue(), folder / "prefixed", encoder=PrefixedEncoder())
    encoder = BatchingEncoder(PrefixedEncoder())
    service = toy_service(build_toys(folder / "toys"))
    index = OpenIndex.of(Engine.open(folder / "prefixed", encoder=encoder), encoder, vector_cache=8)
    service.holder.close()
    holder = EngineHolder(folder, service.config, service.telemetry, index)
    with client_of(replace(service, holder=holder)) as client:
        yield client


def test_one_text(client: TestClient) -> None:
    body = embed(client, TEXT)
    assert (body["object"], body["model"], body["input_type"], body["failed"]) == ("list", "hash", "document", 0)
    (item,) = body["data"]
    assert (item["object"], item["index"], item["truncated"]) == ("embedding", 0, False)
    np.testing.assert_array_equal(vector_of(item), HashEncoder().encode([TEXT], TextKind.DOCUMENT)[0])
    assert body["usage"] == {"prompt_tokens": 8, "total_tokens": 8}  # six words and two special tokens


def test_many_texts_in_their_order(client: TestClient) -> None:
    texts = [f"text number {number}" for number in range(8)]
    items = embed(client, texts)["data"]
    assert [item["index"] for item in items] == list(range(8))
    expected = HashEncoder().encode(texts, TextKind.DOCUMENT)
    np.testing.assert_array_equal([vector_of(item) for item in items], expected)


def test_base64_and_float_hold_the_same_values(client: TestClient) -> None:
    as_text = embed(client, [TEXT, "another"], encoding_format="base64")["data"]
    as_numbers = embed(client, [TEXT, "another"], encoding_format="float")["data"]
    for one, other in zip(as_text, as_numbers, strict=True):
        assert isinstance(one["embedding"], str)
        np.testing.assert_array_equal(vector_of(one), vector_of(other))
        assert len(vector_of(one)) == 64


def test_too_long_is_told_or_refused(client: TestClient) -> None:
    one = embed(client, LONG_TEXT)
    many = embed(client, [LONG_TEXT, TEXT], encoding_format="base64")
    assert [one["data"][0]["truncated"], *(item["truncated"] for item in many["data"])] == [True, True, False]
    assert one["usage"]["total_tokens"] == 32
    refused = embed(client, LONG_TEXT, truncation=False, status=400)
    assert "100 tokens" in refused["error"]["message"]
    mixed = embed(client, [TEXT, LONG_TEXT], truncation=False)
    assert mixed["failed"] == 1
    assert mixed["data"][0]["embedding"] is not None
    assert mixed["data"][1]["error"]["code"] == "too_long"
    assert mixed["data"][1]["error"]["param"] == "input[1]"
    exact = embed(client, "word " * 30, truncation=False)["data"][0]  # as long as it may be
    assert (exact["tokens"], exact["truncated"]) == (32, False)


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        (None, "not_a_text"),
        (17, "not_a_text"),
        (True, "not_a_text"),
        ({"text": "x"}, "not_a_text"),
        (["nested"], "not_a_text"),
        ([1, 2, 3], "token_array"),
    ],
)
def test_bad_item_fails_by_itself(client: TestClient, bad: Any, code: str) -> None:
    body = embed(client, [TEXT, bad, "another"], encoding_format="base64")
    good, failed, other = body["data"]
    assert body["failed"] == 1
    assert failed["embedding"] is None
    assert (failed["index"], failed["error"]["code"], failed["error"]["param"]) == (1, code, "input[1]")
    assert "input[1]" in failed["error"]["message"]
    np.testing.assert_array_equal(vector_of(good), HashEncoder().encode([TEXT], TextKind.DOCUMENT)[0])
    np.testing.assert_array_equal(vector_of(other), HashEncoder().encode(["another"], TextKind.DOCUMENT)[0])


def test_half_a_surrogate_fails_by_itself(client: TestClient) -> None:
    raw = b'{"model": "hash", "input": ["fine", "half \\ud83d"]}'
    answer = client.post("/v1/embeddings", content=raw, headers={"content-type": "application/json"})
    assert answer.status_code in (200, 422), answer.text  # a JSON reader may refuse it before
    if answer.status_code == 200:
        assert answer.json()["data"][1]["error"]["code"] == "bad_text"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("", "blank"),
        ("   ", "blank"),
        ([], "empty list"),
        ([1, 2, 3], "token ids"),
        ([[1, 2], [3]], "token ids"),
        ([None], "null"),
        (["", " "], "input[0] is blank"),
    ],
)
def test_nothing_to_embed_is_refused(client: TestClient, given: Any, words: str) -> None:
    error = embed(client, given, status=400)["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert (error["type"], error["code"]) == ("invalid_request_error", "invalid_input")
    assert error["param"].startswith("input")
    assert words in error["message"]


def test_odd_texts_have_unit_vectors(client: TestClient) -> None:
    odd = [
        "\x00nul",
        "🙂",
        "年报 核心技术人员",
        "a\nb",
        "<img src=x onerror=alert(1)>",
        "'; drop table",
        "*",
        "x" * 20_000,
    ]
    body = embed(client, odd)
    assert body["failed"] == 0
    lengths = [np.linalg.norm(vector_of(item)) for item in body["data"]]
    np.testing.assert_allclose(lengths, 1.0, atol=1e-5)


def test_too_many_texts(client: TestClient) -> None:
    error = embed(client, ["x"] * 9, status=413)["error"]
    assert "at most 8" in error["message"]


def test_unknown_and_wrong_parameters_are_refused(client: TestClient) -> None:
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"dimension": 3}, "dimension"),
        ({"encoding_format": "hex"}, "encoding_format"),
        ({"input_type": "question"}, "input_type"),
        ({"truncation": "perhaps"}, "truncation"),
    ]
    for more, param in wrong:
        assert embed(client, TEXT, status=422, **more)["error"]["param"] == param
    bodies: list[Any] = [{"input": TEXT}, {"model": "hash"}, [], 3, None]
    for body in bodies:
        answer = client.post("/v1/embeddings", json=body)
        assert answer.status_code == 422
        assert answer.json()["error"]["type"] == "invalid_request_error"


def test_user_is_ignored(client: TestClient) -> None:
    assert embed(client, TEXT, user="somebody")["data"] == embed(client, TEXT)["data"]


def test_input_type_chooses_the_prefix(prefixed: TestClient) -> None:
    def vector(**more: str) -> Vectors:
        answer = prefixed.post("/v1/embeddings", json={"model": "prefixed", "input": TEXT, **more})
        return vector_of(answer.json()["data"][0])

    plain = PrefixedEncoder()
    query, document = (plain.encode([TEXT], kind)[0] for kind in (TextKind.QUERY, TextKind.DOCUMENT))
    assert not np.array_equal(query, document)
    np.testing.assert_array_equal(vector(input_type="query"), query)
    np.testing.assert_array_equal(vector(input_type="document"), document)
    np.testing.assert_array_equal(vector(), document)
    counted = prefixed.post("/v1/embeddings", json={"model": "prefixed", "input": TEXT})
    assert counted.json()["usage"]["total_tokens"] == 9  # the prefix counts


def test_text_that_the_model_chokes_on_fails_by_itself(prefixed: TestClient) -> None:
    body = prefixed.post("/v1/embeddings", json={"model": "prefixed", "input": [TEXT, "choke", "fine"]}).json()
    assert [item["embedding"] is None for item in body["data"]] == [False, True, False]
    fault = body["data"][1]["error"]
    assert (fault["code"], fault["param"]) == ("not_embedded", "input[1]")
    assert "path" not in fault["message"]


def test_openapi_describes_the_routes(client: TestClient) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    assert {"/v1/embeddings", "/v1/models", "/v1/models/{model_id}"} <= set(paths)
    assert {"200", "400", "404", "413", "429", "503"} <= set(paths["/v1/embeddings"]["post"]["responses"])
