"""A load generator on loopback: closed-loop clients over kept-alive connections, and what they saw.

A client asks, waits for the whole answer, and asks again; on 429 it waits as long as it is told to.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import statistics
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import urlencode

# Everyday words of many trades; a query is eight of them, which the model reads as about twelve tokens.
_WORDS = """invoice supplier ledger audit lease clause patent claim orbit comet telescope spectrum soil moisture raster
map poster palette layout melody score engrave casting mould cooling pressure bracket thread drawing model mesh beam
bridge load survey contract budget payroll forecast stock order freight customs vaccine trial cohort genome protein
assay image scan lesion segment label track video subtitle archive letter census parish tax permit zoning traffic
signal route schedule shift roster menu recipe harvest yield irrigation pest forest timber turbine blade battery
charge circuit antenna noise filter sensor drift calibrate compile debug package release query table schema merge
duplicate reconcile export convert clean validate compare rank cluster estimate simulate optimise render annotate
translate summarise transcribe classify extract plot fit measure align register crop rotate""".split()
_WORDS_PER_QUERY = 8
_TIMEOUT = 30.0  # seconds for an answer; far above the service's own deadline
_RECONNECT = 0.05


def distinct_queries(seed: int) -> Iterator[str]:
    """Yield queries that never come again."""
    rng = random.Random(seed)
    while True:
        yield " ".join(rng.sample(_WORDS, _WORDS_PER_QUERY))


def repeated_queries(seed: int, *, population: int = 1000, exponent: float = 1.0) -> Iterator[str]:
    """Yield queries as people ask them: the n-th most usual one of a population is asked in proportion to 1/n."""
    rng = random.Random(seed)
    known = list(itertools.islice(distinct_queries(seed), population))
    weights = list(itertools.accumulate(1 / rank**exponent for rank in range(1, population + 1)))
    while True:
        yield rng.choices(known, cum_weights=weights)[0]


@dataclass(slots=True)
class Seen:
    """What the clients of one run saw: milliseconds of each good answer, and how often each outcome."""

    times: list[float] = field(default_factory=list)
    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)

    def row(self) -> dict[str, float | int | dict[str, int]]:
        """Return the run's figures."""
        cuts = statistics.quantiles(self.times, n=100, method="inclusive") if len(self.times) > 1 else [0.0] * 99
        return {
            "requests_per_second": round(len(self.times) / self.seconds, 1) if self.seconds else 0.0,
            "p50_ms": round(cuts[49], 1),
            "p95_ms": round(cuts[94], 1),
            "p99_ms": round(cuts[98], 1),
            "max_ms": round(max(self.times, default=0.0), 1),
            "outcomes": dict(self.outcomes),
            "wrong": len(self.wrong),
        }


class Connection:
    """One kept-alive HTTP/1.1 connection that speaks as much of it as both services do."""

    def __init__(self, host: str, port: int) -> None:
        """Name the address; the connection is made at the first request."""
        self._host, self._port = host, port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Return the status, headers and body of an answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection(self._host, self._port)
        reader, writer = self._streams
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        first, *lines = head[:-4].decode("latin-1").split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        if headers.get("connection") == "close":
            self.close()
        return int(first.split(" ")[1]), headers, body

    def close(self) -> None:
        """Close the connection; the next request makes another."""
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


@dataclass(frozen=True, slots=True)
class Target:
    """A service under load."""

    host: str
    port: int
    path: str

    def path_of(self, query: str) -> str:
        """Return the path that asks a query."""
        return f"{self.path}?{urlencode({'query': query, 'k': 10})}"


async def load(
    target: Target,
    queries: Iterator[str],
    *,
    clients: int,
    seconds: float,
    check: Callable[[str, bytes], str | None] | None = None,
) -> Seen:
    """Run clients for some seconds.

    Args:
        target: the service.
        queries: what they ask, shared among them.
        clients: how many ask at once.
        seconds: after this long no question is begun.
        check: returns what is wrong with the answer to a query, None if nothing.
    """
    seen = Seen()
    begun = time.perf_counter()
    end = begun + seconds
    await asyncio.gather(*(_client(target, queries, end, seen, check) for _ in range(clients)))
    seen.seconds = time.perf_counter() - begun
    return seen


async def _client(
    target: Target, queries: Iterator[str], end: float, seen: Seen, check: Callable[[str, bytes], str | None] | None
) -> None:
    connection = Connection(target.host, target.port)
    while (begun := time.perf_counter()) < end:
        query = next(queries)
        try:
            async with asyncio.timeout(_TIMEOUT):
                status, headers, body = await connection.get(target.path_of(query))
        except (OSError, EOFError, TimeoutError, ValueError) as fault:
            seen.outcomes[type(fault).__name__] += 1
            connection.close()
            await asyncio.sleep(_RECONNECT)
            continue
        seen.outcomes[str(status)] += 1
        if status == 200:
            seen.times.append((time.perf_counter() - begun) * 1e3)
            if check is not None and (problem := check(query, body)):
                seen.wrong.append(problem)
        elif status in (429, 503):
            with suppress(ValueError):
                await asyncio.sleep(min(float(headers.get("retry-after", "1")), max(end - time.perf_counter(), 0)))
    connection.close()
