"""The models that texts are embedded with: their names, their dimensions, the second one of an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from embedding_toys import TEXT, PrefixedEncoder, embed, vector_of
from fastapi.testclient import TestClient
from service_toys import build_toys, client_of, toy_service
from toy import HashEncoder

from ale_semantic.embeddings.encoder import TextKind
from ale_semantic.service import embedding_models
from ale_semantic.service.holder import EngineHolder
from ale_semantic.service.problems import NotReadyError
from ale_semantic.service.second_model import SecondModel


@pytest.fixture(scope="module")
def client(toy_index: Path) -> Iterator[TestClient]:
    with client_of(toy_service(toy_index)) as client:
        yield client


def test_dimensions_are_refused_where_a_cut_vector_means_nothing(client: TestClient) -> None:
    assert len(embed(client, TEXT, dimensions=64)["data"][0]["embedding"]) == 64
    for wanted in (32, 65):
        error = embed(client, TEXT, dimensions=wanted, status=400)["error"]
        assert (error["param"], error["code"]) == ("dimensions", "dimensions_not_supported")
        assert "64" in error["message"]
    assert embed(client, TEXT, dimensions=0, status=422)["error"]["param"] == "dimensions"


def test_dimensions_are_honoured_where_the_model_was_trained_for_it(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding_models, "MATRYOSHKA", {"hash": 16})  # as of a model whose settings don't say
    whole = vector_of(embed(client, TEXT)["data"][0])
    cut = vector_of(embed(client, TEXT, dimensions=20, encoding_format="base64")["data"][0])
    np.testing.assert_allclose(cut, whole[:20] / np.linalg.norm(whole[:20]), rtol=1e-6)
    assert "16 to 64" in embed(client, TEXT, dimensions=15, status=400)["error"]["message"]
    assert client.get("/v1/models/hash").json()["min_dimensions"] == 16


def test_the_models_own_settings_say_how_far_vectors_may_be_cut(
    toy_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tmp_path / "config.json"
    settings.write_text('{"matryoshka_dimensions": [32, 64]}', encoding="utf-8")
    monkeypatch.setattr(HashEncoder, "folder", tmp_path, raising=False)
    monkeypatch.setattr(embedding_models, "MATRYOSHKA", {"hash": 16})
    with client_of(toy_service(toy_index)) as client:
        settings.unlink()  # read when the index was opened
        assert client.get("/v1/models/hash").json()["min_dimensions"] == 32
        assert len(embed(client, TEXT, dimensions=32)["data"][0]["embedding"]) == 32
        assert "32 to 64" in embed(client, TEXT, dimensions=16, status=400)["error"]["message"]


class WindowEncoder(PrefixedEncoder):
    """A second model of an index, which tells its own tokens."""

    def first_windows(self, texts: Sequence[str], kind: TextKind) -> list[tuple[str, int]]:
        return [(text[:20], 7) for text in texts]


@pytest.fixture(scope="module")
def two_models(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    service = toy_service(build_toys(tmp_path_factory.mktemp("second") / "index"))
    loaded = WindowEncoder()
    ranker = SimpleNamespace(vectors=SimpleNamespace(encoder=loaded))
    engine: Any = SimpleNamespace(router=SimpleNamespace(multilingual=SimpleNamespace(get=lambda: ranker)))
    index = replace(service.holder.current, second=SecondModel(loaded.identity, engine))
    holder = EngineHolder(service.holder.folder, service.config, service.telemetry, index)
    with client_of(replace(service, holder=holder)) as client:
        yield client
    with pytest.raises(NotReadyError):
        index.second.encoder()  # type: ignore[union-attr]


def test_an_indexes_second_model_is_served_by_its_name(two_models: TestClient) -> None:
    listed = [card["id"] for card in two_models.get("/v1/models").json()["data"]]
    assert listed == ["hash", "prefixed"]
    assert two_models.get("/v1/models/prefixed").json()["id"] == "prefixed"
    body = two_models.post(
        "/v1/embeddings", json={"model": "prefixed", "input": ["a lease", TEXT], "input_type": "query"}
    ).json()
    assert (body["model"], body["usage"]["total_tokens"]) == ("prefixed", 14)
    assert [item["truncated"] for item in body["data"]] == [False, True]
    expected = PrefixedEncoder().encode(["a lease", TEXT[:20]], TextKind.QUERY)
    np.testing.assert_array_equal([vector_of(item) for item in body["data"]], expected)
    first = embed(two_models, TEXT)["data"][0]
    np.testing.assert_array_equal(vector_of(first), HashEncoder().encode([TEXT], TextKind.DOCUMENT)[0])
    whole = two_models.post("/v1/embeddings", json={"model": "prefixed", "input": TEXT, "truncation": False})
    assert whole.status_code == 400
    assert "input has more than 32 tokens" in whole.json()["error"]["message"]


def test_an_unknown_model_is_told_with_all_names(two_models: TestClient) -> None:
    answer = two_models.post("/v1/embeddings", json={"model": "text-embedding-3-small", "input": TEXT})
    assert answer.status_code == 404
    error = answer.json()["error"]
    assert (error["type"], error["code"], error["param"]) == ("invalid_request_error", "model_not_found", "model")
    assert "Served: 'hash', 'prefixed'" in error["message"]


def test_unknown_model_names_the_nearest(client: TestClient) -> None:
    answer = client.post("/v1/embeddings", json={"model": "hsh", "input": TEXT})
    assert answer.status_code == 404
    error = answer.json()["error"]
    assert (error["code"], error["param"]) == ("model_not_found", "model")
    assert "'hash'" in error["message"]


def test_models_are_listed(client: TestClient) -> None:
    body = client.get("/v1/models").json()
    assert body["object"] == "list"
    (card,) = body["data"]
    assert (card["id"], card["object"], card["dimensions"], card["max_tokens"]) == ("hash", "model", 64, 32)
    assert (card["min_dimensions"], card["default_input_type"]) == (64, "document")
    assert isinstance(card["created"], int)
    assert client.get("/v1/models/hash").json() == card
    missing = client.get("/v1/models/some/other")
    assert missing.status_code == 404
    assert missing.json()["error"]["code"] == "model_not_found"
