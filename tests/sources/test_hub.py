"""The Hub, played by a server on this machine: found, pinned, cached, missing, broken and out of reach."""

from __future__ import annotations

import hashlib
import io
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import huggingface_hub
import pyarrow
import pyarrow.parquet
import pytest
from huggingface_hub import constants
from toy import toy_raw

from ale_semantic.errors import SourceError
from ale_semantic.sources.hub import DATA_SET, HubAddress, cached, fetch, reachable

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def table() -> bytes:
    stream = io.BytesIO()
    row = {name: value for name, value in toy_raw().items() if isinstance(value, (str, list)) and name != "input_files"}
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([row]), stream)
    return stream.getvalue()


class HubHandler(BaseHTTPRequestHandler):
    """Answers for one data set as the Hub does; names tell which fault to play."""

    content = table()

    def do_HEAD(self) -> None:
        self.answer(body=False)

    def do_GET(self) -> None:
        self.answer(body=True)

    def answer(self, *, body: bool) -> None:
        if "/owner/none/" in self.path:
            self.fault(401, "RepoNotFound")
        elif "/owner/empty/" in self.path:
            self.fault(404, "EntryNotFound")
        elif "/owner/ill/" in self.path:
            self.fault(500, "Internal")
        elif f"/resolve/{COMMIT}/" in self.path or "/resolve/main/" in self.path:
            self.send_response(200)
            self.send_header("X-Repo-Commit", COMMIT)
            self.send_header("ETag", f'"{hashlib.sha256(self.content).hexdigest()}"')
            self.send_header("Content-Length", str(len(self.content)))
            self.end_headers()
            if body:
                self.wfile.write(self.content[: 10 if "/owner/cut/" in self.path else None])
        else:
            self.fault(404, "RevisionNotFound")

    def fault(self, status: int, code: str) -> None:
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty cache of the Hub's client, which is not set offline."""
    folder = tmp_path / "hub"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # the client waits between its attempts
    return folder


def point_to(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", endpoint + "/{repo_id}/resolve/{revision}/{filename}")


def closed_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture
def served(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Point the client to a server on this machine; return the cache."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), HubHandler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    point_to(monkeypatch, f"http://127.0.0.1:{server.server_port}")
    yield cache
    server.shutdown()
    server.server_close()


@pytest.fixture
def unplugged(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    point_to(monkeypatch, f"http://127.0.0.1:{closed_port()}")
    return cache


@pytest.mark.parametrize(
    ("text", "revision", "address"),
    [
        ("hub", None, HubAddress(DATA_SET, "main")),
        ("hub:", None, HubAddress(DATA_SET, "main")),
        ("hub", "v1", HubAddress(DATA_SET, "v1")),
        ("hub:own/set", None, HubAddress("own/set", "main")),
        ("hub:own/set@abc", None, HubAddress("own/set", "abc")),
        ("hub:own/set@abc", "v1", HubAddress("own/set", "v1")),
        ("hub:@abc", None, HubAddress(DATA_SET, "abc")),
    ],
)
def test_addresses(text: str, revision: str | None, address: HubAddress) -> None:
    assert HubAddress.parse(text, revision=revision) == address


def test_the_table_is_fetched_and_its_revision_is_the_commit(served: Path) -> None:
    source = fetch(HubAddress(), timeout=3)
    assert (source.origin.name, source.origin.revision) == (DATA_SET, COMMIT)
    assert source.path.read_bytes() == HubHandler.content
    assert source.path.is_relative_to(served)


def test_a_fetched_table_is_found_again_offline(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cached(HubAddress()) is None
    fetched = fetch(HubAddress(), timeout=3)
    point_to(monkeypatch, f"http://127.0.0.1:{closed_port()}")
    assert fetch(HubAddress(), timeout=3) == fetched
    assert cached(HubAddress()) == cached(HubAddress(revision=COMMIT)) == fetched
    assert cached(HubAddress(revision="v2")) is None


def test_a_snapshot_laid_out_by_another_program_is_found(unplugged: Path) -> None:
    folder = unplugged / f"datasets--{DATA_SET.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text(COMMIT)
    (folder / "snapshots" / COMMIT).mkdir(parents=True)
    (folder / "snapshots" / COMMIT / "task_cards.parquet").write_bytes(HubHandler.content)
    for source in (cached(HubAddress()), fetch(HubAddress(), timeout=3)):
        assert source is not None
        assert source.origin.revision == COMMIT


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        (HubAddress("owner/none"), r"the Hub has no data set 'owner/none' \(or it is private\)"),
        (HubAddress(revision="v9"), f"data set '{DATA_SET}' has no revision 'v9'"),
        (HubAddress("owner/empty"), r"data set owner/empty@main has no file 'task_cards.parquet'"),
        (HubAddress("not a name"), r"not a name@main can't be fetched from the Hub: "),
        (HubAddress("owner/cut"), r"owner/cut@main can't be fetched from the Hub: |can't be reached"),
        (HubAddress("owner/ill"), r"owner/ill@main"),
    ],
)
@pytest.mark.usefixtures("served")
def test_what_the_hub_doesnt_have_is_one_clear_error(address: HubAddress, problem: str) -> None:
    with pytest.raises(SourceError, match=problem) as caught:
        fetch(address, timeout=3)
    assert "\n" not in str(caught.value)


@pytest.mark.usefixtures("unplugged")
def test_out_of_reach_and_not_cached_says_what_to_do() -> None:
    with pytest.raises(SourceError, match=r"can't be reached and .* isn't in its cache: go online, or give --cards"):
        fetch(HubAddress(), timeout=1)


@pytest.mark.usefixtures("served")
def test_set_offline_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert reachable(timeout=5)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert not reachable(timeout=5)
    with pytest.raises(SourceError, match="isn't in its cache"):
        fetch(HubAddress(), timeout=1)


@pytest.mark.parametrize("fault", [RuntimeError(""), ValueError("odd\nlines"), KeyError("etag")])
def test_any_other_fault_of_the_client_is_one_line(monkeypatch: pytest.MonkeyPatch, fault: Exception) -> None:
    def download(*args: object, **kwargs: object) -> str:
        raise fault

    monkeypatch.setattr(huggingface_hub, "hf_hub_download", download)
    with pytest.raises(SourceError, match="can't be fetched from the Hub: ") as caught:
        fetch(HubAddress(), timeout=1)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "endpoint",
    ["http://127.0.0.1:{closed}", "https://hub.invalid", "http://127.0.0.1:port", "http://", "http://a..b", "nonsense"],
)
def test_an_endpoint_that_answers_nothing_is_not_reachable(monkeypatch: pytest.MonkeyPatch, endpoint: str) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", endpoint.format(closed=closed_port()))
    assert not reachable(timeout=5)


def test_a_name_server_that_hangs_doesnt_hold_it_up(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()

    def hang(*args: object, **kwargs: object) -> socket.socket:
        release.wait(30)
        raise OSError("no answer")

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket, "create_connection", hang)
    started = time.monotonic()
    assert not reachable(timeout=0.2)
    assert time.monotonic() - started < 5
    release.set()
