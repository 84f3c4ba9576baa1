"""One encoder for many callers: what waits while it is busy goes into the next batch together."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ale_semantic.embeddings.encoder import Encoder, EncoderIdentity, TextKind, TokenVectors, Vectors

from .pool import time_left
from .problems import DeadlineError, NotReadyError

ROUND_TOKENS = 1024  # of one round; what comes meanwhile waits for its end
_WIDEST = 2.0  # within a batch, no text is more than so many times as long as the shortest: little padding
_CHARACTERS_PER_TOKEN = 4  # of UTF-8 bytes; only an estimate, to put texts of like length together
_LONGEST_WAIT = 600.0  # seconds, where the caller has no deadline of its own


@dataclass(frozen=True, slots=True)
class BatchStats:
    """How many texts were encoded in how many batches, and how many wait."""

    texts: int
    batches: int
    waiting: int


@dataclass(eq=False, slots=True)
class _Job:
    """One caller's texts; rows are filled in as they are done."""

    texts: Sequence[str]
    kind: TextKind
    vectors: list[Vectors | None]
    tokens: list[TokenVectors | None]
    todo: deque[int]
    missing: int
    done: threading.Event = field(default_factory=threading.Event)
    fault: BaseException | None = None


@dataclass(frozen=True, slots=True)
class _Item:
    job: _Job
    row: int
    length: int

    @property
    def text(self) -> str:
        return self.job.texts[self.row]


class BatchingEncoder:
    """An `Encoder` that many threads share; one thread of its own does the work.

    Each round takes the texts that wait, one of each caller in turn, up to `ROUND_TOKENS`; so a query never waits
    for the end of another caller's long list. A text that fails does so for its own caller alone.
    """

    def __init__(self, encoder: Encoder, *, round_tokens: int = ROUND_TOKENS) -> None:
        """Start the encoder's thread."""
        self._encoder = encoder
        self._round_tokens = round_tokens
        self._jobs: deque[_Job] = deque()
        self._changed = threading.Condition()
        self._closed = False
        self._texts = 0
        self._batches = 0
        self._thread = threading.Thread(target=self._work, name="ale-encoder", daemon=True)
        self._thread.start()

    @property
    def identity(self) -> EncoderIdentity:
        """Return which model this is."""
        return self._encoder.identity

    @property
    def folder(self) -> Path | None:
        """Return the folder of the model, None if it has none."""
        return getattr(self._encoder, "folder", None)

    def encode(self, texts: Sequence[str], kind: TextKind, *, progress: bool = False) -> Vectors:
        """Return one unit row a text, float32 of shape (n, dimension)."""
        return self.encode_tokens(texts, kind, progress=progress)[0]

    def encode_tokens(
        self, texts: Sequence[str], kind: TextKind, *, progress: bool = False
    ) -> tuple[Vectors, list[TokenVectors]]:
        """Return one unit row a text and each text's words in context.

        Raises:
            DeadlineError: if the time of the work on this thread runs out.
            NotReadyError: if the encoder was closed.
        """
        count = len(texts)
        if not count:
            return np.zeros((0, self.identity.dimension), dtype=np.float32), []
        job = _Job(list(texts), kind, [None] * count, [None] * count, deque(range(count)), count)
        with self._changed:
            if self._closed:
                raise NotReadyError("the encoder was closed")
            self._jobs.append(job)
            self._changed.notify()
        left = time_left()
        if not job.done.wait(_LONGEST_WAIT if left is None else max(left, 0.0)):
            self._give_up(job)
            raise DeadlineError(f"{count} texts could not be encoded in time; send fewer at once")
        if job.fault is not None:
            raise job.fault
        return np.stack([row for row in job.vectors if row is not None]), [one for one in job.tokens if one is not None]

    def token_spans(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """Return the character span of each token of each text, nothing cut off, no special tokens."""
        spans: list[list[tuple[int, int]]] = self._encoder.token_spans(texts)
        return spans

    def first_windows(self, texts: Sequence[str], kind: TextKind) -> list[tuple[str, int]] | None:
        """Return what each text keeps if it is cut to the model's length, and how many tokens the model reads then.

        None if the model cuts texts by itself, by the tokens that `token_spans` tells.
        """
        cut = getattr(self._encoder, "first_windows", None)
        return None if cut is None else list(cut(texts, kind))

    def stats(self) -> BatchStats:
        """Return the counts."""
        with self._changed:
            return BatchStats(self._texts, self._batches, sum(len(job.todo) for job in self._jobs))

    def close(self) -> None:
        """Stop the thread after the round it is at; whoever still waits gets an error."""
        with self._changed:
            self._closed = True
            left, self._jobs = list(self._jobs), deque()
            self._changed.notify_all()
        for job in left:
            _fail(job, NotReadyError("the encoder was closed"))

    def _give_up(self, job: _Job) -> None:
        with self._changed:
            job.todo.clear()
            if job in self._jobs:
                self._jobs.remove(job)

    def _work(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._jobs or self._closed)
                if self._closed:
                    return
                items = self._round()
            for batch in _batches(items):
                self._encode(batch)

    def _round(self) -> list[_Item]:
        """Take texts off the jobs, one of each in turn, until the round is full; the lock must be held."""
        taken: list[_Item] = []
        room = self._round_tokens
        while self._jobs and (room > 0 or not taken):
            job = self._jobs.popleft()
            if not job.todo:  # it failed meanwhile
                continue
            row = job.todo.popleft()
            item = _Item(job, row, self._length(job.texts[row], job.kind))
            taken.append(item)
            room -= item.length
            if job.todo:
                self._jobs.append(job)
        return taken

    def _length(self, text: str, kind: TextKind) -> int:
        size = len(self.identity.prefix(kind)) + len(text.encode("utf-8", "replace"))
        most: int = self.identity.max_tokens
        return min(size // _CHARACTERS_PER_TOKEN + 2, most)

    def _encode(self, batch: Sequence[_Item]) -> None:
        """Encode a batch; if it fails, each text by itself, so that only the one at fault fails."""
        wanted = [item for item in batch if not item.job.done.is_set()]
        if not wanted:
            return
        try:
            vectors, tokens = self._encoder.encode_tokens([item.text for item in wanted], wanted[0].job.kind)
        except BaseException as fault:  # of whatever kind: it is the caller's, and this thread must live on
            if len(wanted) == 1:
                _fail(wanted[0].job, fault)
            else:
                for item in wanted:
                    self._encode([item])
            return
        with self._changed:
            self._texts += len(wanted)
            self._batches += 1
        for place, item in enumerate(wanted):
            job = item.job
            job.vectors[item.row], job.tokens[item.row] = vectors[place], tokens[place]
            job.missing -= 1
            if not job.missing:
                job.done.set()


def _fail(job: _Job, fault: BaseException) -> None:
    job.fault = fault
    job.todo.clear()
    job.done.set()


def _batches(items: Sequence[_Item]) -> Iterator[list[_Item]]:
    """Yield texts of one kind and like length together, the shortest first."""
    batch: list[_Item] = []
    for item in sorted(items, key=lambda one: (one.job.kind, one.length)):
        if batch and (item.job.kind is not batch[0].job.kind or item.length > _WIDEST * batch[0].length):
            yield batch
            batch = []
        batch.append(item)
    if batch:
        yield batch
