"""The services that benchmarks/load.py puts under load: started, measured from outside, stopped."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from load_client import Target

_HOST = "127.0.0.1"
_START = 300.0  # seconds for a service to come up, on a machine that is busy
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(slots=True)
class Running:
    """A service that was started."""

    process: subprocess.Popen[bytes]
    target: Target
    environment: dict[str, str]

    def restart(self) -> int:
        """Stop the service by SIGTERM, start it again, and return the exit code of the first."""
        self.process.terminate()
        code = self.process.wait(60)
        self.process = started(list(self.process.args), self.environment)  # type: ignore[arg-type]
        return code

    def processes(self) -> list[int]:
        """Return the ids of the process and its children."""
        found = [self.process.pid]
        for pid in found:
            tasks = Path(f"/proc/{pid}/task")
            for children in tasks.glob("*/children") if tasks.exists() else ():
                found += map(int, children.read_text().split())
        return found

    def memory(self) -> float:
        """Return the memory of all processes in MB; pages that they share count once."""
        total = 0
        for pid in self.processes():
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        return total / 1024

    def cpu(self) -> float:
        """Return the processor seconds that the processes have used."""
        fields = [Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split() for pid in self.processes()]
        return sum(int(one[11]) + int(one[12]) for one in fields) / _TICKS


@contextmanager
def serving(command: list[str], port: int, path: str, probe: str, **environment: str) -> Iterator[Running]:
    """Start a service, wait until it answers, and stop it in the end."""
    whole = {**os.environ, **environment}
    running = Running(started(command, whole), Target(_HOST, port, path), whole)
    try:
        wait_for(running, probe)
        yield running
    finally:
        running.process.terminate()
        running.process.wait(60)


def started(command: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start a process that nobody hears."""
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def wait_for(running: Running, probe: str) -> None:
    """Wait until a service answers."""
    end = time.monotonic() + _START
    while time.monotonic() < end:
        if running.process.poll() is not None:
            raise SystemExit(f"the service ended by itself: {running.process.args}")
        try:
            with urllib.request.urlopen(f"http://{_HOST}:{running.target.port}{probe}", timeout=30):
                return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the service did not come up")


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])


@contextmanager
def ours(index: Path, *, workers: int, **settings: str) -> Iterator[Running]:
    """Start our service without the page, with its defaults else."""
    port = free_port()
    start = "from ale_semantic.cli import main; main()"
    flags = ["serve", "--no-ui", "--index", str(index), "--port", str(port), "--workers", str(workers)]
    with tempfile.TemporaryDirectory() as folder:
        keys = {"ALE_SERVICE_KEYS_FILE": f"{folder}/keys.json"}
        command = [sys.executable, "-c", start, *flags]
        with serving(command, port, "/api/v1/search", "/readyz", **keys, **settings) as running:
            yield running


@contextmanager
def bare(index: Path) -> Iterator[Running]:
    """Start the bare service."""
    port = free_port()
    command = [sys.executable, "-m", "uvicorn", "--app-dir", str(Path(__file__).parent), "bare_service:app"]
    command += ["--port", str(port), "--no-access-log"]
    with serving(command, port, "/search", "/search?query=warm+up", ALE_INDEX=str(index)) as running:
        yield running
