"""What the service tells of itself: stages, metrics, log lines, request ids, spans."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest
from fastapi import FastAPI, Request
from fastapi.testclient import TestClient
from starlette.routing import Mount

from ale_semantic.service import guarding, health_routes
from ale_semantic.service.config import LogFormat, ServiceConfig
from ale_semantic.service.keys import KeyFile
from ale_semantic.service.logs import JsonLines, TextLines, logging_config
from ale_semantic.service.metrics import MULTIPROCESS_VARIABLE
from ale_semantic.service.telemetry import RequestRecord, Telemetry
from ale_semantic.service.tracing import Tracing

HERE = "http://127.0.0.1:8000"


@pytest.fixture
def lines() -> Iterator[list[dict[str, Any]]]:
    """Return the log of the service as it grows, read back from its JSON."""
    written: list[dict[str, Any]] = []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            written.append(json.loads(self.format(record)))

    handler = Keep()
    handler.setFormatter(JsonLines())
    log = logging.getLogger("ale_semantic.service")
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield written
    log.removeHandler(handler)
    log.setLevel(level)


def served(tmp_path: Path, **settings: Any) -> TestClient:
    config = ServiceConfig.exactly(keys_file=tmp_path / "keys.json", **settings)
    telemetry = Telemetry(config)
    service: Any = SimpleNamespace(config=config, telemetry=telemetry)
    app = FastAPI()
    app.state.service = service

    @app.get("/api/v1/tasks/{task_id:path}")
    async def task(task_id: str, request: Request) -> str:
        with telemetry.stage("search"), telemetry.stage("encode"):
            telemetry.note_query(request.query_params.get("query", ""))
        if task_id == "broken":
            raise ValueError("the query was: private words")
        return task_id

    guarding.install(app, service)
    app.include_router(health_routes.router)
    page = FastAPI()

    @page.get("/p/{anything}")
    async def anything() -> int:
        return 1

    app.router.routes.append(Mount("/", page))
    return TestClient(app, base_url=HERE, raise_server_exceptions=False)


def sample(client: TestClient, name: str, **labels: str) -> float:
    """Return the value of one sample of the metrics, 0 if there is none."""
    telemetry: Telemetry = client.app.state.service.telemetry  # type: ignore[attr-defined]
    return telemetry.metrics.registry.get_sample_value(name, labels) or 0.0


def test_stages_add_up_and_reach_the_request_through_threads() -> None:
    telemetry = Telemetry(ServiceConfig.exactly())
    record = RequestRecord("id", "GET")

    def work() -> None:
        with telemetry.stage("search"):
            time.sleep(0.02)
            with telemetry.stage("encode"):
                time.sleep(0.05)

    with telemetry.request(record):
        telemetry.add("queue", 0.5)
        thread = Thread(target=copy_context().run, args=(work,))
        thread.start()
        thread.join()
    assert record.stages.keys() == {"queue", "search", "encode"}
    assert record.stages["encode"] >= 0.05
    assert record.stages["search"] >= 0.02
    total = telemetry.metrics.registry.get_sample_value("ale_stage_seconds_sum", {"stage": "search"})
    assert total == pytest.approx(record.stages["search"]), "the encoder's time isn't counted twice"


def test_a_stage_that_fails_is_booked_too() -> None:
    telemetry = Telemetry(ServiceConfig.exactly())
    with pytest.raises(KeyError), telemetry.stage("search"):
        raise KeyError
    assert telemetry.metrics.registry.get_sample_value("ale_stage_seconds_count", {"stage": "search"}) == 1


def test_labels_are_templates_never_what_was_asked(tmp_path: Path) -> None:
    client = served(tmp_path)
    for number in range(30):
        client.get(f"/api/v1/tasks/legal/{number}")
        client.get(f"/p/{number}")
        client.get(f"/nowhere/{number}")
    client.request("BREW", "/api/v1/tasks/x")
    text = client.get("/metrics").text
    lines = [line for line in text.splitlines() if line.startswith("ale_requests_total")]
    assert sample(client, "ale_requests_total", method="GET", route="/api/v1/tasks/{task_id:path}", status="200") == 30
    assert sample(client, "ale_requests_total", method="GET", route="page", status="200") == 30
    assert sample(client, "ale_requests_total", method="GET", route="page", status="404") == 30
    assert len(lines) <= 5
    assert "BREW" not in text


def test_metrics_tell_of_the_queue_caches_errors_index_and_memory(tmp_path: Path) -> None:
    client = served(tmp_path)
    telemetry: Telemetry = client.app.state.service.telemetry  # type: ignore[attr-defined]
    telemetry.queue(waiting=3, running=2)
    telemetry.cache("query_vectors", hits=2, misses=1)
    telemetry.reload("failed", problem="cut short")
    for generation in ("g-1", "g-2"):
        telemetry.index_opened(generation=generation, tasks=9, model="toy", revision="1", dimension=64)
    client.get("/api/v1/tasks/broken")
    text = client.get("/metrics").text
    for line in (
        "ale_queue_waiting 3.0",
        "ale_queue_running 2.0",
        'ale_cache_total{cache="query_vectors",outcome="hit"} 2.0',
        'ale_index_reloads_total{outcome="failed"} 1.0',
        'ale_index_info{generation="g-2",tasks="9"} 1.0',
        'ale_model_info{dimension="64",model="toy",revision="1"} 1.0',
        'ale_errors_total{type="internal"} 1.0',
        'ale_request_seconds_count{route="/api/v1/tasks/{task_id:path}"} 1.0',
        'ale_stage_seconds_count{stage="encode"} 1.0',
    ):
        assert line in text.splitlines(), line
    assert "g-1" not in text
    assert sample(client, "ale_process_memory_bytes") > 1_000_000
    openmetrics = client.get("/metrics", headers={"accept": "application/openmetrics-text"})
    assert openmetrics.text.endswith("# EOF\n")


def test_several_workers_count_together(tmp_path: Path) -> None:
    script = (
        "import os, sys\n"
        "from ale_semantic.service.config import ServiceConfig\n"
        "from ale_semantic.service.telemetry import Telemetry\n"
        "telemetry = Telemetry(ServiceConfig.exactly())\n"
        "telemetry.metrics.requests.labels('GET', '/x', '200').inc(int(sys.argv[1]))\n"
        "telemetry.queue(waiting=int(sys.argv[1]), running=0)\n"
        "telemetry.index_opened(generation='g-1', tasks=9, model='toy', revision='1', dimension=64)\n"
        "telemetry.index_opened(generation='g-2', tasks=9, model='toy', revision='1', dimension=64)\n"
        "if sys.argv[1] == '2': print(telemetry.metrics.exposition()[0].decode())\n"
    )
    env = {**os.environ, MULTIPROCESS_VARIABLE: str(tmp_path)}
    for number in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", script, number], env=env, capture_output=True, text=True, check=True
        )
    assert 'ale_requests_total{method="GET",route="/x",status="200"} 3.0' in done.stdout
    assert "ale_queue_waiting 2.0" in done.stdout, "the first worker has ended: nothing of its queue waits"
    assert 'ale_index_info{generation="g-2",tasks="9"} 1.0' in done.stdout
    assert 'ale_index_info{generation="g-1",tasks="9"} 0.0' in done.stdout
    assert done.stdout.count("ale_process_memory_bytes{") == 1


def test_each_request_has_one_line_without_what_was_asked(tmp_path: Path, lines: list[dict[str, Any]]) -> None:
    key, stored = KeyFile(tmp_path / "keys.json").add("notebook")
    client = served(tmp_path)
    headers = {"x-api-key": key, "x-request-id": "mine-1"}
    answer = client.get("/api/v1/tasks/legal/x?query=private", headers=headers)
    (line,) = lines
    assert answer.headers["x-request-id"] == line["request_id"] == "mine-1"
    assert (line["message"], line["level"], line["method"], line["status"]) == ("request", "info", "GET", 200)
    assert (line["route"], line["key"]) == ("/api/v1/tasks/{task_id:path}", stored.id)
    assert line["ms"] >= 0
    assert line["stages"].keys() == {"search", "encode"}
    whole = json.dumps(lines)
    assert "private" not in whole
    assert key not in whole
    assert key.rpartition("_")[2] not in whole


@pytest.mark.parametrize("given", ["", "a b", "x" * 65, "ä", '"}{"', "../x", "-", "a\tb"])
def test_an_odd_request_id_is_replaced(given: str, tmp_path: Path) -> None:
    answer = served(tmp_path).get("/api/v1/tasks/x", headers={b"x-request-id": given.encode()})
    assert len(answer.headers["x-request-id"]) == 32
    assert answer.headers.get_list("x-request-id") == [answer.headers["x-request-id"]]


def test_an_unexpected_fault_is_logged_where_it_was_without_its_words(
    tmp_path: Path, lines: list[dict[str, Any]]
) -> None:
    served(tmp_path).get("/api/v1/tasks/broken?query=private")
    fault, request = lines
    assert (fault["message"], fault["error"], fault["level"]) == ("unexpected fault", "ValueError", "error")
    assert any("test_telemetry.py" in frame for frame in fault["trace"])
    assert fault["request_id"] == request["request_id"]
    assert (request["status"], request["problem"]) == (500, "internal")
    assert "private" not in json.dumps(lines)


def test_queries_are_logged_when_asked_for(tmp_path: Path, lines: list[dict[str, Any]]) -> None:
    client = served(tmp_path, log_queries=True)
    client.get("/api/v1/tasks/x?query=" + "q" * 2_000)
    client.get("/api/v1/tasks/broken?query=words")
    assert lines[0]["query"] == "q" * 500
    assert lines[1]["detail"] == "the query was: private words"


def test_a_refusal_names_its_kind_and_where_it_came_from(tmp_path: Path, lines: list[dict[str, Any]]) -> None:
    KeyFile(tmp_path / "keys.json").add("notebook")
    client = served(tmp_path)
    client.get("/api/v1/tasks/x")
    assert (lines[0]["status"], lines[0]["problem"], lines[0]["client"]) == (401, "unauthorised", "testclient")
    assert sample(client, "ale_errors_total", type="unauthorised") == 1


def test_no_value_begins_a_line_of_its_own() -> None:
    record = logging.makeLogRecord(
        {"msg": "request", "fields": {"query": 'a\nb "c" \u2028', "ms": 1.5, "stages": {"s": 1}}}
    )
    for formatter in (JsonLines(), TextLines()):
        assert "\n" not in formatter.format(record)
    assert json.loads(JsonLines().format(record))["query"] == 'a\nb "c" \u2028'
    assert "ms=1.5" in TextLines().format(record)


def test_the_servers_own_lines_have_the_same_form() -> None:
    script = (
        "import logging, logging.config\n"
        "from ale_semantic.service.config import LogFormat, ServiceConfig\n"
        "from ale_semantic.service.logs import logging_config\n"
        "for kind in LogFormat:\n"
        "    logging.config.dictConfig(logging_config(ServiceConfig.exactly(log_format=kind)))\n"
        "    logging.getLogger('uvicorn.error').info('started')\n"
        "    logging.getLogger('uvicorn.access').info('GET /?q=private')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "private" not in done.stderr
    for format_, line in zip(LogFormat, done.stderr.splitlines(), strict=True):
        assert json.loads(line)["message"] == "started" if format_ is LogFormat.JSON else line.endswith("INFO started")
    assert logging_config(ServiceConfig.exactly())["disable_existing_loggers"] is False


def test_spans_hang_together_and_know_the_route(tmp_path: Path) -> None:
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    client = served(tmp_path)
    telemetry: Telemetry = client.app.state.service.telemetry  # type: ignore[attr-defined]
    telemetry.tracing = Tracing(exporter=exporter)
    client.get("/api/v1/tasks/x?query=private", headers={"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"})
    encode, search, request = exporter.get_finished_spans()
    assert request.name == "GET /api/v1/tasks/{task_id:path}"
    assert (encode.name, search.name) == ("encode", "search")
    assert f"{request.context.trace_id:x}" == "a" * 32
    assert encode.parent is not None
    assert search.parent is not None
    assert (encode.parent.span_id, search.parent.span_id) == (search.context.span_id, request.context.span_id)
    assert "private" not in request.to_json()
    telemetry.close()


def test_a_missing_package_for_spans_prints_its_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from ale_semantic.errors import MissingExtraError

    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'ale-semantic\[tracing\]'"):
        Telemetry(ServiceConfig.exactly(otlp_endpoint="http://127.0.0.1:4318"))
