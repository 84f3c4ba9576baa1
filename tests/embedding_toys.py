"""Encoders and requests for the tests of the embedding service."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from fastapi.testclient import TestClient
from toy import HashEncoder

from ale_semantic.embeddings.encoder import TextKind, TokenVectors, Vectors

TEXT = "fit the orbit of a comet"


class PrefixedEncoder(HashEncoder):
    """A toy with prefixes that chokes on one word."""

    def __init__(self) -> None:
        super().__init__(name="prefixed", query_prefix="question ", document_prefix="passage ")

    def encode_tokens(
        self, texts: Sequence[str], kind: TextKind, *, progress: bool = False
    ) -> tuple[Vectors, list[TokenVectors]]:
        if any("choke" in text for text in texts):
            raise RuntimeError("a library choked in /some/path")
        return super().encode_tokens(texts, kind, progress=progress)


def embed(client: TestClient, given: Any, *, status: int = 200, **more: Any) -> dict[str, Any]:
    answer = client.post("/v1/embeddings", json={"model": "hash", "input": given, **more})
    assert answer.status_code == status, answer.text
    body: dict[str, Any] = answer.json()
    return body


def vector_of(item: dict[str, Any]) -> Vectors:
    found = item["embedding"]
    if isinstance(found, str):
        return np.frombuffer(base64.b64decode(found), dtype="<f4")
    return np.array(found, dtype=np.float32)
