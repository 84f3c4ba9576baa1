"""Limits below the routes: heads of requests as they arrive, rates of callers, slow bodies."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ale_semantic.service import protocol
from ale_semantic.service.bodies import BodyLimit
from ale_semantic.service.config import ServiceConfig
from ale_semantic.service.guarding import Crowd
from ale_semantic.service.protocol import uvicorn_settings
from ale_semantic.service.rates import RateLimit
from ale_semantic.service.telemetry import Telemetry

HEAD = b"GET / HTTP/1.1\r\nhost: x\r\n"
Talk = Callable[..., Awaitable[bytes]]


async def greeting(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


def spoken(conversation: Callable[[Talk], Awaitable[None]], app: Any = greeting, **more: Any) -> None:
    """Serve a small application by uvicorn with the service's settings, and talk to it on a socket."""
    uvicorn = pytest.importorskip("uvicorn")
    config = ServiceConfig.exactly(receive_seconds=0.4, max_header_bytes=2_000, max_headers=20, **more)
    settings = {**uvicorn_settings(config), "log_config": None}

    async def run() -> None:
        server = uvicorn.Server(uvicorn.Config(app, port=0, lifespan="off", **settings))
        serving = asyncio.create_task(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]

        async def talk(*parts: bytes) -> bytes:
            """Send parts one after the other; return what comes back until the connection ends or is quiet."""
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            heard = b""
            try:
                for part in parts:
                    writer.write(part)
                    await writer.drain()
                    await asyncio.sleep(0.005)
                async with asyncio.timeout(1.0):
                    while chunk := await reader.read(65_536):
                        heard += chunk
            except (TimeoutError, ConnectionError):
                pass
            writer.close()
            return heard

        try:
            await conversation(talk)
        finally:
            server.should_exit = True
            await serving

    asyncio.run(run())


def test_heads_are_limited_in_size_number_and_time() -> None:
    async def conversation(talk: Talk) -> None:
        ordinary, long, many, endless, slow, address = await asyncio.gather(
            talk(HEAD + b"\r\n"),
            talk(HEAD + b"a: " + b"x" * 3_000 + b"\r\n\r\n"),
            talk(HEAD + b"".join(b"h%d: 1\r\n" % n for n in range(30)) + b"\r\n"),
            talk(HEAD + b"a: ", *[b"x" * 700] * 4),
            talk(HEAD + b"a: 1\r\n"),
            talk(b"GET /" + b"y" * 3_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n"),
        )
        assert ordinary.startswith(b"HTTP/1.1 200")
        assert long.startswith(b"HTTP/1.1 431")
        assert many.startswith(b"HTTP/1.1 431")
        assert not endless or endless.startswith(b"HTTP/1.1 431")  # the reset may overtake the answer
        assert slow.startswith(b"HTTP/1.1 408")
        assert address.startswith(b"HTTP/1.1 431")

    spoken(conversation)


def test_a_connection_goes_on_after_an_ordinary_head() -> None:
    async def conversation(talk: Talk) -> None:
        body = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 9000\r\n\r\n" + b"z" * 9_000
        once_more, large_body, silence, nonsense = await asyncio.gather(
            talk(HEAD + b"\r\n", HEAD + b"\r\n", HEAD + b"\r\n"), talk(body), talk(), talk(b"\x00\x01\r\n\r\n")
        )
        assert once_more.count(b"HTTP/1.1 200") == 3
        assert large_body.startswith(b"HTTP/1.1 200")
        assert silence == b""
        assert nonsense.startswith(b"HTTP/1.1 400")
        assert b"server:" not in once_more.lower()

    spoken(conversation)


class Told:
    """A small application that belongs to a service."""

    def __init__(self) -> None:
        self.telemetry = Telemetry(ServiceConfig.exactly())
        self.state = SimpleNamespace(service=SimpleNamespace(telemetry=self.telemetry))

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await Crowd(greeting)(scope, receive, send)

    def count(self, status: int) -> float | None:
        labels = {"method": "OTHER", "route": "unread", "status": str(status)}
        return self.telemetry.metrics.registry.get_sample_value("ale_requests_total", labels)


def test_what_is_refused_unread_is_counted_and_logged_without_its_content(caplog: pytest.LogCaptureFixture) -> None:
    app = Told()

    async def conversation(talk: Talk) -> None:
        await asyncio.gather(
            talk(b"GET /secret HTTP/1.1\r\nsecret\r\n\r\n"),
            talk(HEAD + b"secret: " + b"x" * 3_000 + b"\r\n\r\n"),
            talk(HEAD + b"secret: 1\r\n"),
            talk(),  # nothing was said, so nothing was refused
            talk(HEAD + b"\r\n"),
        )

    with caplog.at_level("INFO", "ale_semantic.service"):
        spoken(conversation, app)
    assert [app.count(status) for status in (400, 408, 431)] == [1, 1, 1]
    lines = [vars(record)["fields"] for record in caplog.records if record.name == "ale_semantic.service"]
    assert sorted((line["status"], line["problem"]) for line in lines) == [
        (400, "malformed-request"),
        (408, "head-too-slow"),
        (431, "head-too-large"),
    ]
    assert {line["client"] for line in lines} == {"127.0.0.1"}
    assert "secret" not in str(lines)


def test_without_the_fast_parser_malformed_requests_are_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "find_spec", lambda name: None)
    protocol._protocol_class.cache_clear()
    app = Told()
    heard: list[bytes] = []

    async def conversation(talk: Talk) -> None:
        heard.append(await talk(b"GET /\x00 HTTP/1.1\r\n\r\n"))
        heard.append(await talk(HEAD + b"\r\n"))

    try:
        spoken(conversation, app)
    finally:
        protocol._protocol_class.cache_clear()
    assert [one[:12] for one in heard] == [b"HTTP/1.1 400", b"HTTP/1.1 200"]
    assert app.count(400) == 1


def test_a_connection_too_many_is_told_so_and_ended() -> None:
    heard: list[bytes] = []

    async def conversation(talk: Talk) -> None:
        idle = [asyncio.ensure_future(talk(HEAD)) for _ in range(3)]
        await asyncio.sleep(0.05)
        heard.append(await talk(HEAD + b"\r\n"))
        heard.append(await talk(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"))
        await asyncio.gather(*idle)
        heard.append(await talk(HEAD + b"\r\n"))

    spoken(conversation, Told(), max_connections=3)
    assert [one[:12] for one in heard] == [b"HTTP/1.1 503", b"HTTP/1.1 200", b"HTTP/1.1 200"]
    assert b"too-many-connections" in heard[0]
    assert b"retry-after: 1\r\n" in heard[0]
    assert [b"connection: close" in one for one in heard] == [True, True, False]


def test_the_servers_settings_travel_to_workers() -> None:
    config = ServiceConfig.exactly(max_headers=33)
    limits = pickle.loads(pickle.dumps(uvicorn_settings(config)))["http"]
    assert limits.max_headers == 33


def test_a_slow_body_is_refused_and_reaches_no_route() -> None:
    reached = []
    sent: list[Any] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope)

    async def never() -> Any:
        await asyncio.sleep(60)

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "path": "/api/v1/search", "headers": [(b"transfer-encoding", b"chunked")]}
    asyncio.run(BodyLimit(app, max_bytes=1_000, seconds=0.05)(scope, never, send))
    assert reached == []
    assert sent[0]["status"] == 408
    assert (b"connection", b"close") in sent[0]["headers"]


@pytest.mark.parametrize("shared", [False, True])
def test_a_moving_window_grants_no_more_than_its_rate(shared: bool, tmp_path: Path) -> None:
    limit = RateLimit("3/hour", folder=tmp_path if shared else None)
    assert [bool(limit.wait("a")) for _ in range(5)] == [False, False, False, True, True]
    assert 3_500 < limit.wait("a") <= 3_600
    assert limit.wait("b") == 0


@pytest.mark.parametrize("shared", [False, True])
def test_callers_that_have_gone_are_forgotten(shared: bool, tmp_path: Path) -> None:
    limit = RateLimit("5/second", folder=tmp_path if shared else None)
    storage: Any = limit._storage
    for number in range(999):
        limit.wait(f"caller {number}")

    def kept() -> int:
        if shared:
            return int(storage._base.execute("SELECT count(*) FROM hits").fetchone()[0])
        return len(storage.events)

    assert kept() == 999
    later = 1_000.0
    with pytest.MonkeyPatch.context() as patch:
        import time

        now = time.time
        patch.setattr(time, "time", lambda: now() + later)
        if not shared:
            storage._MemoryStorage__expire_events()  # what the library's timer does
        limit.wait("one more")
    assert kept() <= 1


def test_several_workers_share_one_rate(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from ale_semantic.service.rates import RateLimit\n"
        "limit = RateLimit('10/hour', folder=Path(sys.argv[1]))\n"
        "print(sum(limit.wait('a') == 0 for _ in range(8)))\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    workers = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sum(int(worker.communicate(timeout=120)[0]) for worker in workers) == 10
