"""How long a new process takes to answer its first query, and how much memory: against the bare script, in turn.

    python benchmarks/cold.py --index INDEX [--rounds 7] [--page] [--check]

Each round starts each process once, one after the other, so that whatever else the machine does meets them alike.
Prints a table in Markdown: median wall time, processor time (both cores together) and peak memory, and the ratios to
the bare script. `--page` also measures how long the page takes to be there and to answer. `--check` fails if a promise
isn't kept.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
QUERY = "reconcile supplier invoices with bank statements"
SEARCH, BARE = "ale-semantic search", "bare sentence-transformers + FAISS"
FILTERED, HELP, IMPORT = "the same with --where", "ale-semantic --help", "import ale_semantic"
MOST_SECONDS = {SEARCH: 1.0, HELP: 0.25, IMPORT: 0.15}
MOST_MEGABYTES = {SEARCH: 250.0}
TIMES_FASTER, TIMES_LIGHTER = 6.0, 2.5
PAGE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Run:
    """One process: seconds on the clock, seconds of the processor, and the most memory it had at once, in MB."""

    wall: float
    processor: float
    memory: float


def run(command: Sequence[str], environment: dict[str, str]) -> Run:
    """Run a process to its end and measure it.

    Raises:
        SystemExit: if it fails.
    """
    started = time.perf_counter()
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed")
    divisor = 1e6 if sys.platform == "darwin" else 1e3  # bytes there, kilobytes here
    return Run(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / divisor)


def median(runs: Sequence[Run]) -> Run:
    """Return the medians of runs."""
    wall, processor, memory = zip(*((one.wall, one.processor, one.memory) for one in runs), strict=True)
    return Run(statistics.median(wall), statistics.median(processor), statistics.median(memory))


def page_seconds(index: Path, environment: dict[str, str]) -> tuple[float, float]:
    """Return how long `ale-semantic app` takes until a browser gets the page, and until it has answered a search."""
    command = [*program(), "app", "--index", str(index), "--port", "0"]
    started = time.perf_counter()
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None  # it is a pipe
        try:
            found = next((match for line in process.stderr if (match := re.search(r"https?://\S+", line))), None)
            if found is None:
                raise SystemExit("the page did not start")
            urllib.request.urlopen(found.group()).read()
            there = time.perf_counter() - started
            ask(found.group())
            return there, time.perf_counter() - started
        finally:
            process.kill()


def ask(address: str) -> None:
    """Search through the page's own endpoint.

    Raises:
        SystemExit: if it doesn't answer with tasks.
    """
    place = f"{address.rstrip('/')}/gradio_api/call/search"
    question = json.dumps({"data": [QUERY, "", 10, 0, "hybrid", ""]}).encode()
    asked = urllib.request.Request(place, question, {"Content-Type": "application/json"})
    event = json.load(urllib.request.urlopen(asked))["event_id"]
    if b"task_id" not in urllib.request.urlopen(f"{place}/{event}").read():
        raise SystemExit("the page did not answer a search")


def program() -> list[str]:
    """Return how to start the command line."""
    beside = Path(sys.executable).with_name("ale-semantic")
    return [str(beside)] if beside.is_file() else [sys.executable, "-c", "from ale_semantic.cli import main; main()"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    # Both as they are installed: with their modules compiled, which the first, unmeasured start sees to.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    with tempfile.TemporaryDirectory() as folder:
        # In a process of its own: what this one has in memory would count as the least that its children need.
        subprocess.run([sys.executable, str(HERE / "bare.py"), str(options.index), folder], check=True)
        bare = [sys.executable, str(HERE / "bare_search.py"), *Path(folder, "arguments").read_text().splitlines()]
        search = [*program(), "search", QUERY, "--index", str(options.index)]
        commands = {
            SEARCH: search,
            FILTERED: [*search, "--where", "os = linux"],
            BARE: [*bare, QUERY],
            HELP: [*program(), "--help"],
            IMPORT: [sys.executable, "-c", "import ale_semantic"],
        }
        for command in commands.values():  # the files come into the system's memory
            run(command, environment)
        runs: dict[str, list[Run]] = {name: [] for name in commands}
        for _ in range(options.rounds):
            for name, command in commands.items():
                runs[name].append(run(command, environment))
    medians = {name: median(found) for name, found in runs.items()}
    report(medians)
    broken = promises(medians)
    if options.page:
        times = zip(*(page_seconds(options.index, environment) for _ in range(3)), strict=True)
        seconds, answered = map(statistics.median, times)
        print(
            f"\nThe page is there after {seconds:.1f} s (limit {PAGE_SECONDS:.0f} s), "
            f"its first answer after {answered:.1f} s."
        )
        broken += [f"page: {seconds:.1f} s"] if seconds > PAGE_SECONDS else []
    if options.check and broken:
        raise SystemExit("not kept: " + "; ".join(broken))


def report(medians: dict[str, Run]) -> None:
    """Print the table and the ratios."""
    print("| process | wall, s | processor, s | peak memory, MB |\n|---|---:|---:|---:|")
    for name, found in medians.items():
        print(f"| {name} | {found.wall:.2f} | {found.processor:.2f} | {found.memory:.0f} |")
    ours, bare = medians[SEARCH], medians[BARE]
    print(
        f"\nThe search is {bare.wall / ours.wall:.1f} times faster than the bare script "
        f"({bare.processor / ours.processor:.1f} times in processor time) and "
        f"{bare.memory / ours.memory:.1f} times lighter."
    )


def promises(medians: dict[str, Run]) -> list[str]:
    """Return the promises that the medians don't keep."""
    ours, bare = medians[SEARCH], medians[BARE]
    broken = [f"{name}: {medians[name].wall:.2f} s" for name, most in MOST_SECONDS.items() if medians[name].wall > most]
    broken += [
        f"{name}: {medians[name].memory:.0f} MB" for name, most in MOST_MEGABYTES.items() if medians[name].memory > most
    ]
    if bare.wall / ours.wall < TIMES_FASTER:
        broken.append(f"{bare.wall / ours.wall:.1f} times faster")
    if bare.memory / ours.memory < TIMES_LIGHTER:
        broken.append(f"{bare.memory / ours.memory:.1f} times lighter")
    return broken


if __name__ == "__main__":
    main()
