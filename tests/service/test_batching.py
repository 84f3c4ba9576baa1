"""Many callers, one encoder: batches, fairness, faults that stay with their caller, deadlines."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from toy import HashEncoder

from ale_semantic.embeddings.encoder import TextKind, TokenVectors, Vectors
from ale_semantic.service.batching import BatchingEncoder
from ale_semantic.service.pool import WorkPool
from ale_semantic.service.problems import DeadlineError, NotReadyError

LONG = 60.0


class GatedEncoder(HashEncoder):
    """Records its batches; the first one waits until it is let go. A text with "poison" can't be encoded."""

    def __init__(self, *, gated: bool = True, prefix: str = "") -> None:
        super().__init__(query_prefix=prefix)
        self.batches: list[list[str]] = []
        self.kinds: list[TextKind] = []
        self.entered = threading.Event()
        self.open = threading.Event()
        if not gated:
            self.open.set()

    def encode_tokens(
        self, texts: Sequence[str], kind: TextKind, *, progress: bool = False
    ) -> tuple[Vectors, list[TokenVectors]]:
        self.batches.append(list(texts))
        self.kinds.append(kind)
        self.entered.set()
        assert self.open.wait(LONG)
        if any("poison" in text for text in texts):
            raise ValueError("poison")
        return super().encode_tokens(texts, kind, progress=progress)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(32) as pool:
        yield pool


def busy(encoder: GatedEncoder, batching: BatchingEncoder, threads: ThreadPoolExecutor) -> None:
    """Occupy the encoder with one text."""
    threads.submit(batching.encode, ["first"], TextKind.QUERY)
    assert encoder.entered.wait(LONG)


def wait_for(batching: BatchingEncoder, waiting: int) -> None:
    for _ in range(int(LONG / 0.005)):
        if batching.stats().waiting == waiting:
            return
        threading.Event().wait(0.005)
    raise AssertionError(f"{batching.stats()} never came to {waiting}")


def test_same_vectors_as_alone() -> None:
    texts = ["fit an orbit", "", "reconcile the supplier's invoices with the bank", "年报"]
    batching, plain = BatchingEncoder(HashEncoder()), HashEncoder()
    vectors, tokens = batching.encode_tokens(texts, TextKind.QUERY)
    expected, words = plain.encode_tokens(texts, TextKind.QUERY)
    np.testing.assert_array_equal(vectors, expected)
    for found, own in zip(tokens, words, strict=True):
        np.testing.assert_array_equal(found.vectors, own.vectors)
    np.testing.assert_array_equal(batching.encode(texts, TextKind.DOCUMENT), plain.encode(texts, TextKind.DOCUMENT))
    assert batching.encode([], TextKind.QUERY).shape == (0, plain.identity.dimension)
    assert batching.token_spans(texts) == plain.token_spans(texts)
    assert batching.identity == plain.identity
    batching.close()


def test_what_waits_goes_together(threads: ThreadPoolExecutor) -> None:
    encoder = GatedEncoder()
    batching = BatchingEncoder(encoder)
    busy(encoder, batching, threads)
    asked = [threads.submit(batching.encode, [f"query number {n}"], TextKind.QUERY) for n in range(20)]
    wait_for(batching, 20)
    encoder.open.set()
    found = [one.result(LONG)[0] for one in asked]
    assert [len(batch) for batch in encoder.batches] == [1, 20]
    for number, vector in enumerate(found):  # each caller has its own
        np.testing.assert_array_equal(vector, HashEncoder().encode([f"query number {number}"], TextKind.QUERY)[0])
    assert (batching.stats().texts, batching.stats().batches) == (21, 2)
    batching.close()


def test_kinds_and_lengths_do_not_mix(threads: ThreadPoolExecutor) -> None:
    encoder = GatedEncoder(prefix="query: ")
    batching = BatchingEncoder(encoder)
    busy(encoder, batching, threads)
    long = "word " * 24
    jobs = [
        threads.submit(batching.encode, [long, "a short text"], TextKind.DOCUMENT),
        threads.submit(batching.encode, ["a short query"], TextKind.QUERY),
        threads.submit(batching.encode, ["another text"], TextKind.DOCUMENT),
    ]
    wait_for(batching, 4)
    encoder.open.set()
    for job in jobs:
        job.result(LONG)
    assert sorted(map(sorted, encoder.batches[1:])) == [["a short query"], ["a short text", "another text"], [long]]
    batching.close()


def test_a_query_does_not_wait_for_the_end_of_a_long_list(threads: ThreadPoolExecutor) -> None:
    encoder = GatedEncoder()
    batching = BatchingEncoder(encoder, round_tokens=64)
    busy(encoder, batching, threads)
    many = threads.submit(batching.encode, [f"text number {n}" for n in range(100)], TextKind.DOCUMENT)
    wait_for(batching, 100)
    query = threads.submit(batching.encode, ["a query"], TextKind.QUERY)
    wait_for(batching, 101)
    encoder.open.set()
    query.result(LONG)
    many.result(LONG)
    place = next(place for place, batch in enumerate(encoder.batches) if "a query" in batch)
    assert sum(map(len, encoder.batches[:place])) < 40
    assert len(encoder.batches) > 5
    batching.close()


def test_fault_stays_with_its_caller(threads: ThreadPoolExecutor) -> None:
    encoder = GatedEncoder()
    batching = BatchingEncoder(encoder)
    busy(encoder, batching, threads)
    good = [threads.submit(batching.encode, [f"query {n}"], TextKind.QUERY) for n in range(5)]
    bad = threads.submit(batching.encode, ["some poison"], TextKind.QUERY)
    wait_for(batching, 6)
    encoder.open.set()
    with pytest.raises(ValueError, match="poison"):
        bad.result(LONG)
    for number, one in enumerate(good):
        expected = HashEncoder().encode([f"query {number}"], TextKind.QUERY)
        np.testing.assert_array_equal(one.result(LONG), expected)
    with pytest.raises(ValueError, match="poison"):
        batching.encode(["fine", "poison", *["also fine"] * 100], TextKind.QUERY)
    assert batching.encode(["still alive"], TextKind.QUERY).shape == (1, 64)
    batching.close()


def test_time_that_runs_out_takes_the_rest_off_the_queue() -> None:
    encoder = GatedEncoder()
    batching = BatchingEncoder(encoder)

    async def scenario() -> None:
        pool = WorkPool(threads=2, queue=4, deadline=0.2)
        with pytest.raises(DeadlineError):
            await pool.run(lambda: batching.encode(["first"], TextKind.QUERY))
        with pytest.raises(DeadlineError):
            await pool.run(lambda: batching.encode(["second"] * 50, TextKind.QUERY))
        await asyncio.to_thread(wait_for, batching, 0)
        await pool.close(LONG)

    asyncio.run(scenario())
    encoder.open.set()
    assert batching.encode(["third"], TextKind.QUERY).shape == (1, 64)
    assert [batch[0] for batch in encoder.batches] == ["first", "third"]
    batching.close()


def test_closed_encoder_says_so(threads: ThreadPoolExecutor) -> None:
    encoder = GatedEncoder()
    batching = BatchingEncoder(encoder)
    busy(encoder, batching, threads)
    waiting = threads.submit(batching.encode, ["waiting"], TextKind.QUERY)
    wait_for(batching, 1)
    batching.close()
    with pytest.raises(NotReadyError):
        waiting.result(LONG)
    with pytest.raises(NotReadyError):
        batching.encode(["too late"], TextKind.QUERY)
    encoder.open.set()


def test_many_threads_get_their_own_rows(threads: ThreadPoolExecutor) -> None:
    batching = BatchingEncoder(GatedEncoder(gated=False))
    texts = [[f"text {n} of caller {caller}" for n in range(1 + caller % 5)] for caller in range(200)]
    found = list(threads.map(lambda own: batching.encode(own, TextKind.QUERY), texts))
    plain = HashEncoder()
    for own, vectors in zip(texts, found, strict=True):
        np.testing.assert_array_equal(vectors, plain.encode(own, TextKind.QUERY))
    batching.close()
