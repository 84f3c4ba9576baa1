"""The service under load, beside the bare one of benchmarks/bare_service.py, on loopback.

    python benchmarks/load.py throughput --index INDEX            ours and the bare one at 1, 8, 32, 128 clients
    python benchmarks/load.py saturation --index INDEX            many more clients than there are places
    python benchmarks/load.py memory --index INDEX --minutes 10   memory under a steady load
    python benchmarks/load.py restart --index INDEX               workers killed, service restarted under load
    python benchmarks/load.py swap --index INDEX                  another generation of the index every few seconds

Prints a table in Markdown; --json FILE writes the figures. The load comes in two kinds: `distinct` (no query ever
comes again: what the caches can't help with) and `repeated` (a population of 1,000 queries, the n-th most usual one
asked in proportion to 1/n). Load generator and services share the machine, so the figures are those of the whole.
`cpu_ms` is the service's own processor time per good answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from load_client import Connection, Seen, Target, distinct_queries, load, repeated_queries
from load_services import Running, bare, ours

_WARM_UP = 2.0
_CHECKED = 60  # queries whose right answers are known
_SAME = 1e-4  # a score may differ by so much: a query that shares its batch gets a vector 1e-7 away
Row = dict[str, Any]


def measured(running: Running, queries: Iterator[str], *, clients: int, seconds: float, **more: Any) -> Row:
    """Return the figures of one run."""
    before = running.cpu()
    seen = asyncio.run(load(running.target, queries, clients=clients, seconds=seconds, **more))
    cpu = (running.cpu() - before) * 1e3 / max(len(seen.times), 1)
    return {"clients": clients, **seen.row(), "cpu_ms": round(cpu, 1), "memory_mb": round(running.memory())}


def services(index: Path, workers: list[int]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield each service's name and how to start it."""
    yield "bare", lambda: bare(index)
    for count in workers:
        yield f"ours, {count} worker{'s' if count > 1 else ''}", lambda count=count: ours(index, workers=count)


def throughput(asked: argparse.Namespace) -> list[Row]:
    """Compare ours with the bare service at each number of clients, each with queries of its own."""
    rows: list[Row] = []
    for name, start in services(asked.index, asked.workers):
        with start() as running:
            asyncio.run(load(running.target, distinct_queries(1), clients=4, seconds=_WARM_UP))
            for kind, make in (("distinct", distinct_queries), ("repeated", repeated_queries)):
                for clients in asked.clients:
                    queries = make(1000 + clients)
                    row = measured(running, queries, clients=clients, seconds=asked.seconds)
                    rows.append({"service": name, "load": kind, **row})
                    tell(rows[-1])
    first = {(row["load"], row["clients"]): row["requests_per_second"] for row in rows if row["service"] == "bare"}
    for row in rows:
        row["times_bare"] = round(row["requests_per_second"] / max(first[row["load"], row["clients"]], 0.01), 2)
    return rows


def saturation(asked: argparse.Namespace) -> list[Row]:
    """Load far more clients than there are places."""
    rows = []
    for workers in asked.workers:
        with ours(asked.index, workers=workers) as running:
            asyncio.run(load(running.target, distinct_queries(1), clients=4, seconds=_WARM_UP))
            for clients in (128, 256, 512):
                row = measured(running, distinct_queries(clients), clients=clients, seconds=asked.seconds)
                rows.append({"workers": workers, **row})
                tell(rows[-1])
            row = measured(running, distinct_queries(2), clients=8, seconds=asked.seconds)
            rows.append({"workers": workers, "note": "afterwards", **row})
            tell(rows[-1])
    return rows


def memory(asked: argparse.Namespace) -> list[Row]:
    """Watch the memory under a steady load of both kinds."""
    rows = []
    with ours(asked.index, workers=asked.workers[-1]) as running:
        parts = max(int(asked.minutes * 60 / asked.seconds), 2)
        for part in range(parts):
            queries = repeated_queries(part) if part % 2 else distinct_queries(part)
            row = measured(running, queries, clients=32, seconds=asked.seconds)
            rows.append({"minute": round((part + 1) * asked.seconds / 60, 2), **row})
            tell(rows[-1])
    return rows


class Checker:
    """Knows the right answers to some queries, asked before anything goes wrong."""

    def __init__(self, running: Running) -> None:
        """Ask each query once."""
        self.queries = list(islice(distinct_queries(7), _CHECKED))
        self.right = asyncio.run(self._ask(running.target))
        self.generations: set[str] = set()

    async def _ask(self, target: Target) -> dict[str, list[tuple[str, float]]]:
        connection = Connection(target.host, target.port)
        found = {query: self._hits((await connection.get(target.path_of(query)))[2]) for query in self.queries}
        connection.close()
        return found

    @staticmethod
    def _hits(body: bytes) -> list[tuple[str, float]]:
        return [(hit["task_id"], hit["score"]) for hit in json.loads(body)["hits"]]

    def stream(self) -> Iterator[str]:
        """Yield the queries at random, without end."""
        rng = random.Random(3)
        while True:
            yield rng.choice(self.queries)

    def __call__(self, query: str, body: bytes) -> str | None:
        """Return what is wrong with an answer."""
        self.generations.add(json.loads(body)["generation"])
        hits, right = self._hits(body), self.right[query]
        same = [task for task, _ in hits] == [task for task, _ in right] and all(
            abs(score - known) < _SAME for (_, score), (_, known) in zip(hits, right, strict=True)
        )
        return None if same else query


async def while_loaded(running: Running, checker: Checker, seconds: float, disturb: Callable[[], Any]) -> Seen:
    """Disturb a service while eight clients ask it and compare each answer."""
    asking = load(running.target, checker.stream(), clients=8, seconds=seconds, check=checker)
    seen, _ = await asyncio.gather(asking, asyncio.to_thread(disturb))
    return seen


def restart(asked: argparse.Namespace) -> list[Row]:
    """Kill workers, then stop and start a whole service, under load."""
    rows = []
    seconds = max(asked.seconds, 30.0)  # a service takes some to start
    with ours(asked.index, workers=2) as running:
        checker = Checker(running)

        def kill() -> None:
            for _ in range(2):
                time.sleep(seconds / 4)
                children = [pid for pid in running.processes()[1:] if b"spawn_main" in command_of(pid)]
                os.kill(children[0], signal.SIGKILL)

        seen = asyncio.run(while_loaded(running, checker, seconds, kill))
        rows.append({"what": "a worker of two killed, twice", **seen.row()})
        tell(rows[-1])
    with ours(asked.index, workers=1) as running:
        codes: list[int] = []

        def again() -> None:
            time.sleep(seconds / 4)
            codes.append(running.restart())

        seen = asyncio.run(while_loaded(running, checker, seconds, again))
        rows.append({"what": f"stopped by SIGTERM (exit code {codes[0]}) and started again", **seen.row()})
        tell(rows[-1])
    return rows


def command_of(pid: int) -> bytes:
    """Return the command line of a process."""
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def swap(asked: argparse.Namespace) -> list[Row]:
    """Put another generation of the index in place every two seconds under load."""
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        index.mkdir()
        source = asked.index / (asked.index / "CURRENT").read_text().strip()
        names = ["g-aaaaaaaaaaaa", "g-bbbbbbbbbbbb"]
        for name in names:
            shutil.copytree(source, index / name)
        point_to(index, names[0])
        rows = []
        for workers in asked.workers:
            with ours(index, workers=workers, ALE_SERVICE_WATCH_SECONDS="0.2") as running:
                checker = Checker(running)

                def disturb() -> None:
                    for turn in range(int(asked.seconds / 2)):
                        time.sleep(2)
                        point_to(index, names[(turn + 1) % 2])

                seen = asyncio.run(while_loaded(running, checker, asked.seconds + 3, disturb))
                memory_mb = round(running.memory())
                rows.append(
                    {"workers": workers, "generations": len(checker.generations), **seen.row(), "memory_mb": memory_mb}
                )
                tell(rows[-1])
        return rows


def point_to(index: Path, name: str) -> None:
    """Make a generation the current one, in one step."""
    (index / "next").write_text(name + "\n")
    (index / "next").replace(index / "CURRENT")


def tell(row: Row) -> None:
    """Print a row as soon as it is known."""
    print("  ".join(f"{name}={value}" for name, value in row.items()), file=sys.stderr, flush=True)


def table(rows: list[Row]) -> str:
    """Return the rows as a Markdown table."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    lines = [columns, ["---"] * len(columns), *([str(row.get(name, "")) for name in columns] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Run one mode."""
    modes = {one.__name__: one for one in (throughput, saturation, memory, restart, swap)}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=modes)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32, 128])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--seconds", type=float, default=10.0, help="of each run")
    parser.add_argument("--minutes", type=float, default=10.0, help="of the whole memory mode")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    rows = modes[asked.mode](asked)
    print(table(rows))
    if asked.json is not None:
        asked.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
