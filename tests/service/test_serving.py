"""Real servers on loopback: the official OpenAI client, shutdown that lets answers end, several processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import openai
import pytest
import uvicorn
from service_toys import build_toys, toy_service
from toy import HashEncoder

from ale_semantic import Engine
from ale_semantic.embeddings.encoder import TextKind, TokenVectors, Vectors
from ale_semantic.errors import BundleError
from ale_semantic.service.application import create_app
from ale_semantic.service.batching import BatchingEncoder
from ale_semantic.service.config import ServiceConfig, ServiceConfigError
from ale_semantic.service.core import Service
from ale_semantic.service.holder import EngineHolder, OpenIndex
from ale_semantic.service.serving import Worker, _supervisor, address_of, bind, serve, uvicorn_config

LONG = 120.0  # seconds; nothing here waits so long unless it is broken
TEXTS = ["fit the orbit of a comet", "reconcile invoices"]


@contextmanager
def serving(service: Service) -> Iterator[tuple[str, uvicorn.Server]]:
    """Serve in a thread, as `serve` does in a process, and give the address."""
    bound = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn_config(service.config, create_app(service)))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        until(lambda: server.started)
        yield address_of(bound), server
    finally:
        server.should_exit = True
        thread.join(LONG)
        bound.close()
    assert not thread.is_alive()


def test_the_parent_of_workers_stops_listening_with_them() -> None:
    bound = bind("127.0.0.1", 0)
    config = ServiceConfig.exactly(workers=2, ui=False)
    _supervisor(uvicorn_config(config, Worker(config)), bound).terminate_all()
    assert bound.fileno() == -1  # else whoever came now would wait for nobody


def until(condition: Callable[[], bool]) -> None:
    for _ in range(int(LONG / 0.01)):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("it never happened")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("serving")
    index = build_toys(folder / "index")
    service = toy_service(index, mcp=False, deadline_seconds=LONG, keys_file=folder / "keys.json")
    with serving(service) as (address, _):
        yield address


@pytest.fixture
def client(address: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{address}/v1", api_key="none is asked for", max_retries=0) as client:
        yield client


def test_openai_client_with_its_defaults(client: openai.OpenAI) -> None:
    answer = client.embeddings.create(model="hash", input=TEXTS)
    expected = HashEncoder().encode(TEXTS, TextKind.DOCUMENT)
    np.testing.assert_array_equal(np.array([item.embedding for item in answer.data], dtype=np.float32), expected)
    assert [item.index for item in answer.data] == [0, 1]
    assert (answer.model, answer.usage.prompt_tokens) == ("hash", answer.usage.total_tokens)
    one = client.embeddings.create(model="hash", input=TEXTS[0], encoding_format="float", user="somebody")
    np.testing.assert_allclose(one.data[0].embedding, expected[0], rtol=1e-6)


def test_openai_client_lists_models(client: openai.OpenAI) -> None:
    assert [model.id for model in client.models.list()] == ["hash"]
    assert client.models.retrieve("hash").owned_by == "ale-semantic"


def test_openai_client_gets_its_own_kinds_of_errors(client: openai.OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="did you mean 'hash'") as missing:
        client.embeddings.create(model="hashh", input=TEXTS)
    assert (missing.value.code, missing.value.param) == ("model_not_found", "model")
    with pytest.raises(openai.BadRequestError, match="token ids"):
        client.embeddings.create(model="hash", input=[[1, 2, 3]])
    with pytest.raises(openai.BadRequestError, match="dimensions"):
        client.embeddings.create(model="hash", input=TEXTS, dimensions=12)
    with pytest.raises(openai.APIStatusError) as large:
        client.embeddings.create(model="hash", input=["x"] * 300)
    assert large.value.status_code == 413


def test_openai_client_sees_a_bad_item_and_what_was_cut(client: openai.OpenAI) -> None:
    answer = client.embeddings.create(
        model="hash", input=[TEXTS[0], "", "word " * 100], extra_body={"input_type": "query"}
    )
    good, bad, long = answer.data
    assert len(good.embedding) == len(long.embedding) == 64
    assert bad.embedding is None
    assert "input[1]" in bad.model_dump()["error"]["message"]
    assert [item.model_dump()["truncated"] for item in (good, long)] == [False, True]


def test_many_clients_at_once(address: str) -> None:
    queries = [f"fit the orbit of a comet {number}" for number in range(64)]
    with httpx.Client(base_url=address, timeout=LONG) as client, ThreadPoolExecutor(32) as threads:
        answers = list(threads.map(lambda query: client.get("/api/v1/search", params={"query": query}), queries))
    assert {answer.status_code for answer in answers} <= {200, 429}
    for query, answer in zip(queries, answers, strict=True):
        if answer.status_code == 200:
            assert answer.json()["query"] == query
            assert answer.json()["hits"][0]["task_id"] == "science/orbit_fit"


class GatedEncoder(HashEncoder):
    """Waits with each query until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.entered = threading.Event()
        self.open = threading.Event()
        self.open.set()

    def encode_tokens(
        self, texts: Sequence[str], kind: TextKind, *, progress: bool = False
    ) -> tuple[Vectors, list[TokenVectors]]:
        self.entered.set()
        assert self.open.wait(LONG)
        return super().encode_tokens(texts, kind, progress=progress)


@pytest.fixture
def gated(tmp_path: Path) -> Iterator[tuple[Service, GatedEncoder]]:
    """Return a service with one thread and one place, whose encoder can be held up."""
    encoder = GatedEncoder()
    batching = BatchingEncoder(encoder)
    folder = build_toys(tmp_path / "index")
    service = toy_service(
        folder, mcp=False, threads=1, queue=1, deadline_seconds=LONG, keys_file=tmp_path / "keys.json"
    )
    service.holder.close()
    index = OpenIndex.of(Engine.open(folder, encoder=batching), batching, vector_cache=8)
    encoder.entered.clear()
    yield replace(service, holder=EngineHolder(folder, service.config, service.telemetry, index)), encoder
    encoder.open.set()


@contextmanager
def closing(encoder: GatedEncoder) -> Iterator[None]:
    """Hold the encoder up for a block, at most; whatever fails in it, nobody waits for ever."""
    encoder.open.clear()
    try:
        yield
    finally:
        encoder.open.set()


def test_shutdown_lets_answers_end(gated: tuple[Service, GatedEncoder]) -> None:
    service, encoder = gated
    with serving(service) as (address, server), ThreadPoolExecutor(1) as threads, closing(encoder):
        asked = threads.submit(httpx.get, f"{address}/api/v1/search?query=asked+before", timeout=LONG)
        assert encoder.entered.wait(LONG)
        server.should_exit = True
        until(lambda: refused(address))
        assert not asked.done()
        encoder.open.set()
        assert asked.result(LONG).json()["query"] == "asked before"
    assert not service.pool.is_open


def refused(address: str) -> bool:
    try:
        httpx.get(f"{address}/healthz", timeout=1.0)
    except httpx.TransportError:
        return True
    return False


def test_too_many_questions_are_told_when_to_come_again(gated: tuple[Service, GatedEncoder]) -> None:
    service, encoder = gated
    with serving(service) as (address, _), ThreadPoolExecutor(2) as threads, closing(encoder):
        asked = [threads.submit(httpx.get, f"{address}/api/v1/search?query=one", timeout=LONG)]
        assert encoder.entered.wait(LONG)
        asked.append(threads.submit(httpx.get, f"{address}/api/v1/search?query=two", timeout=LONG))
        until(lambda: service.pool.stats().waiting == 1)
        too_many = httpx.get(f"{address}/api/v1/search?query=three")
        assert too_many.status_code == 429
        assert int(too_many.headers["retry-after"]) >= 1
        assert httpx.get(f"{address}/healthz").status_code == 200  # the event loop is free all the while
        encoder.open.set()
        assert [one.result(LONG).status_code for one in asked] == [200, 200]


def test_equal_questions_at_once_are_answered_by_one_search(gated: tuple[Service, GatedEncoder]) -> None:
    service, encoder = gated
    with (
        serving(service) as (address, _),
        httpx.Client(base_url=address, timeout=LONG) as client,
        ThreadPoolExecutor(16) as threads,
        closing(encoder),
    ):
        asked = [threads.submit(client.get, "/api/v1/search?query=same") for _ in range(16)]
        until(lambda: service.answers.stats().joined == 15)
        encoder.open.set()
        assert {one.result(LONG).content for one in asked} == {asked[0].result(LONG).content}
        assert encoder.encoded.count("same") == 1


@pytest.fixture
def client_of_any_worker() -> Iterator[httpx.Client]:
    """Return a client that connects anew for each request: whichever worker is free may take it."""
    with httpx.Client(timeout=LONG, limits=httpx.Limits(max_keepalive_connections=0)) as client:
        yield client


@pytest.mark.skipif(sys.platform != "linux", reason="looks for the worker processes in /proc")
def test_several_processes_survive_the_death_of_one(tmp_path: Path, client_of_any_worker: httpx.Client) -> None:
    client = client_of_any_worker
    index = build_toys(tmp_path / "index")
    script = Path(__file__).parents[1] / "service_process.py"
    process = subprocess.Popen(
        [sys.executable, str(script), str(index), "2"], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        right = asked(client, address, "comet orbit")["hits"]
        assert right[0]["task_id"] == "science/orbit_fit"
        until(lambda: len(workers_of(process.pid)) == 2)
        first, second = workers_of(process.pid)
        os.kill(first, signal.SIGKILL)
        for number in range(20):
            assert asked(client, address, "comet orbit")["hits"] == right
            assert (
                asked(client, address, f"reconcile supplier invoices with bank payments {number}")["hits"][0]["task_id"]
                == "business_finance/invoice_matching"
            )
        until(lambda: len(set(workers_of(process.pid)) - {first, second}) == 1)
        process.terminate()
        assert process.wait(LONG) == 0
        with pytest.raises(httpx.TransportError):
            client.get(f"{address}/healthz")
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate(timeout=LONG)


def asked(client: httpx.Client, address: str, query: str) -> dict[str, Any]:
    """Ask until there is an answer: a worker that dies takes the connections that it had accepted with it."""
    for _ in range(int(LONG / 0.05)):
        try:
            answer = client.get(f"{address}/api/v1/search", params={"query": query})
        except httpx.TransportError:
            time.sleep(0.05)
            continue
        assert answer.status_code == 200, answer.text
        body: dict[str, Any] = answer.json()
        return body
    raise AssertionError(f"{address} never answered")


def workers_of(pid: int) -> list[int]:
    """Return the worker processes of a parent, without what multiprocessing itself starts."""
    found = []
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        found += [int(child) for child in tasks.read_text(encoding="ascii").split()]
    return [child for child in found if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


def config(folder: Path, **settings: Any) -> ServiceConfig:
    return ServiceConfig.exactly(**{"index": folder, "port": 0, "keys_file": folder / "keys.json", **settings})


def test_settings_that_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(ServiceConfigError, match="--no-ui"):
        serve(config(tmp_path, workers=2))
    with pytest.raises(ServiceConfigError, match="watch_seconds"):
        serve(config(tmp_path, workers=2, ui=False, watch_seconds=0.0))


def test_no_index_is_told_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="no index"):
        serve(config(tmp_path, ui=False))


def test_taken_and_foreign_addresses_are_told() -> None:
    with bind("127.0.0.1", 0) as taken, pytest.raises(ServiceConfigError, match="choose another"):
        bind("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(ServiceConfigError, match=r"203\.0\.113\.1"):
        bind("203.0.113.1", 8000)
