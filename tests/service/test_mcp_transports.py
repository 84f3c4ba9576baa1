"""MCP as clients reach it: a real process over stdin and stdout, a real server over loopback HTTP."""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx
import httpx2
import pytest
import uvicorn
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from service_toys import build_toys, toy_service
from toy import HashEncoder, toy_catalogue

from ale_semantic.cli.mcp import mcp
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.errors import BundleError, BundleMismatchError
from ale_semantic.service.application import create_app
from ale_semantic.service.core import Service
from ale_semantic.service.keys import KeyFile
from ale_semantic.service.mcp_stdio import open_local

pytestmark = pytest.mark.anyio

ORBIT = "science/orbit_fit"
# What `ale-semantic mcp` does, with the encoder of the toys, which no index folder can name.
TOY_SERVER = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from toy import HashEncoder
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.service.mcp_stdio import open_local, serve_stdio

VectorSpace.load_encoder = lambda space, **options: HashEncoder()

def open_index():
    print("noise of a library")
    return open_local(Path({folder!r}))

serve_stdio(open_index)
"""


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


def stdio_command(folder: Path) -> StdioServerParameters:
    script = TOY_SERVER.format(tests=str(Path(__file__).parents[1]), folder=str(folder))
    return StdioServerParameters(command=sys.executable, args=["-c", script])


async def test_a_process_serves_over_stdio(toy_index: Path, tmp_path: Path) -> None:
    with (tmp_path / "stderr").open("w+", encoding="utf-8") as errors:
        transport = stdio_client(stdio_command(toy_index), errlog=errors)
        async with Client(transport, mode="legacy") as client:
            assert client.server_info is not None
            assert client.server_info.name == "ale-semantic"
            assert "Filters (`where`)" in (client.instructions or "")
            assert len((await client.list_tools()).tools) == 9
            found = await client.call_tool("search", {"query": "orbit of a comet", "k": 2})
            refused = await client.call_tool("search", {"where": "domian = legal"})
        errors.seek(0)
        told = errors.read()
    assert found.structured_content is not None
    assert found.structured_content["hits"][0]["task_id"] == ORBIT
    assert refused.is_error
    assert "noise of a library" in told  # what goes to stdout lands beside the protocol, not in it
    assert "domian" not in told


async def test_an_index_that_was_built_anew_answers_the_next_call(tmp_path: Path) -> None:
    folder = build_toys(tmp_path / "index")
    cards = toy_catalogue().cards
    with (tmp_path / "stderr").open("w+", encoding="utf-8") as errors:
        async with Client(stdio_client(stdio_command(folder), errlog=errors)) as client:

            async def found() -> list[str]:
                answer = await client.call_tool("search", {"k": 50})
                assert answer.structured_content is not None, answer.content
                return [hit["task_id"] for hit in answer.structured_content["hits"]]

            assert len(await found()) == len(cards)
            kept = [card for card in cards if card.task_id != ORBIT]
            build_toys(folder, kept)
            assert sorted(await found()) == sorted(card.task_id for card in kept)
            gone = await client.call_tool("show", {"task_id": ORBIT})
            assert gone.is_error
            current = folder / "CURRENT"
            good = current.read_text(encoding="utf-8")
            current.write_text("g-000000000000\n", encoding="utf-8")
            assert [len(await found()) for _ in range(2)] == [len(kept)] * 2
            current.write_text(good, encoding="utf-8")
            build_toys(folder, cards)
            assert len(await found()) == len(cards)
        errors.seek(0)
        assert errors.read().count("index not opened; the earlier one stays") == 1


def test_an_index_of_another_model_than_the_one_named_is_refused(
    toy_index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(VectorSpace, "load_encoder", lambda space, **options: HashEncoder())
    with pytest.raises(BundleMismatchError, match="minilm"):
        open_local(toy_index, model="minilm")
    open_local(toy_index).close()


@contextmanager
def serving(service: Service) -> Iterator[str]:
    """Serve in a thread on a free port of loopback, and give the address."""
    bound = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(service), log_config=None, ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(60)
        bound.close()
    assert not thread.is_alive()


@asynccontextmanager
async def http_client(address: str, *, mode: str = "auto", key: str = "") -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=60) as http,
        Client(streamable_http_client(f"{address}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def address(toy_index: Path) -> Iterator[str]:
    with serving(toy_service(toy_index, max_body_bytes=20_000)) as address:
        yield address


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_server_serves_over_http(address: str, mode: str) -> None:
    async with http_client(address, mode=mode) as client:
        assert len((await client.list_tools()).tools) == 9
        found = await client.call_tool("similar", {"tasks": [ORBIT], "k": 2})
        path = await client.call_tool("curriculum_path", {"goal": ORBIT})
        refused = await client.call_tool("show", {"task_id": "science/orbit"})
    assert found.structured_content is not None
    assert len(found.structured_content["hits"]) == 2
    assert path.structured_content is not None
    assert path.structured_content["steps"][-1]["task_id"] == ORBIT
    assert refused.is_error
    assert f"'{ORBIT}'" in str(refused.content)


async def test_clients_side_by_side_get_their_own_answers(address: str) -> None:
    async with http_client(address) as first, http_client(address) as second:
        one = await first.call_tool("show", {"task_id": ORBIT})
        other = await second.call_tool("show", {"task_id": "legal/lease_review"})
        assert one.structured_content is not None
        assert other.structured_content is not None
        assert (one.structured_content["task_id"], other.structured_content["task_id"]) == (ORBIT, "legal/lease_review")


HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest.mark.parametrize(
    ("header", "value"),
    [("host", "evil.example"), ("origin", "http://evil.example"), ("host", "127.0.0.1.evil.example")],
)
def test_a_foreign_page_gets_nothing(address: str, header: str, value: str) -> None:
    answer = httpx.post(f"{address}/mcp", json=PING, headers={**HEADERS, header: value})
    assert answer.status_code in (403, 421)
    assert "search" not in answer.text


def test_a_body_that_is_too_large_is_refused(address: str) -> None:
    answer = httpx.post(f"{address}/mcp", json={**PING, "params": {"x": "y" * 20_000}}, headers=HEADERS)
    assert answer.status_code == 413


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"jsonrpc": "2.0"}', b"\xff", b"[" * 10_000, b'{"a": "\\ud800"}']
)
def test_a_body_that_is_no_request_is_refused(address: str, body: bytes) -> None:
    answer = httpx.post(f"{address}/mcp", content=body, headers=HEADERS)
    assert 400 <= answer.status_code < 500


def test_other_methods_and_paths_are_refused(address: str) -> None:
    assert httpx.delete(f"{address}/mcp").status_code in (400, 405)
    assert httpx.get(f"{address}/mcp/nothing").status_code == 404


def test_no_session_is_kept(address: str) -> None:
    opening = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}
    answer = httpx.post(f"{address}/mcp", json=body, headers=HEADERS)
    assert answer.status_code == 200
    assert "mcp-session-id" not in answer.headers


async def test_an_api_key_guards_mcp_too(toy_index: Path, tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    key, _ = KeyFile(keys).add("assistant")
    with serving(toy_service(toy_index, keys_file=keys)) as address:
        assert httpx.post(f"{address}/mcp", json=PING, headers=HEADERS).status_code == 401
        async with http_client(address, key=key) as client:
            assert (await client.call_tool("search", {"query": "leases"})).structured_content is not None


async def test_a_passed_deadline_is_told(toy_index: Path) -> None:
    with serving(toy_service(toy_index, deadline_seconds=1e-6)) as address:
        async with http_client(address) as client:
            found = await client.call_tool("search", {"query": "leases"})
    assert found.is_error
    assert "ask for less, or try again" in str(found.content)


def test_mcp_can_be_left_out(toy_index: Path) -> None:
    with serving(toy_service(toy_index, mcp=False)) as address:
        assert httpx.post(f"{address}/mcp", json=PING, headers=HEADERS).status_code == 404


def test_a_missing_index_is_told_before_anything_is_served(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="ale-semantic build"):
        mcp(index=tmp_path / "none")
