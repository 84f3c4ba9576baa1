"""Synthetic passages: clustered unit vectors and facet values with the shape of a real catalogue, of any size.

Cards lie around topics, topics around domains, a card's passages around the card. The spectra and the mean cosines
are those of MiniLM on task cards: passages have a cosine of about 0.5 with the mean of their card, and vary in
some 90 directions. Everything is drawn from seeds, chunk by chunk, so that memory stays small.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ale_semantic.types import InputFile, OperatingSystem, SoftwareUse, TaskCard, Tier

DIMENSION = 384
PASSAGES_A_CARD = 10  # in the mean
DOMAINS, TOPICS_A_DOMAIN = 55, 40
SOFTWARE = 2000
SELECTIVITIES = (1.0, 0.5, 0.05, 0.001)
_CHUNK_CARDS = 10_000
# Lengths of the parts whose sum is a passage: what all texts share, domain, topic, card, passage.
_SHARED, _DOMAIN, _TOPIC, _CARD, _PASSAGE = 0.33, 0.25, 0.3, 0.35, 0.8
_CARD_DECAY, _PASSAGE_DECAY = 0.5, 0.35  # standard deviation of the i-th direction: i ** -decay

Vectors = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Passage vectors on disk, (passages, DIMENSION), the first passage of each card and the end, and its topic."""

    vectors: Vectors
    starts: NDArray[np.int64]
    topics: NDArray[np.int32]

    @property
    def cards(self) -> int:
        """Return the number of cards."""
        return len(self.topics)

    @property
    def domains(self) -> NDArray[np.int32]:
        """Return the domain of each card, shape (cards,)."""
        return self.topics // TOPICS_A_DOMAIN


@dataclass(frozen=True, slots=True)
class _World:
    centres: Vectors  # (topics, DIMENSION)
    card_directions: Vectors
    passage_directions: Vectors

    @classmethod
    def drawn(cls, seed: int) -> _World:
        random = np.random.default_rng([seed, 0])
        rotation = np.linalg.qr(random.standard_normal((DIMENSION, DIMENSION)))[0].astype(np.float32)
        card, passage = (_spectrum(decay)[:, None] * rotation for decay in (_CARD_DECAY, _PASSAGE_DECAY))
        shared = _unit(random.standard_normal((1, DIMENSION), dtype=np.float32) @ card)
        domains = _unit(random.standard_normal((DOMAINS, DIMENSION), dtype=np.float32) @ card)
        topics = _unit(random.standard_normal((DOMAINS * TOPICS_A_DOMAIN, DIMENSION), dtype=np.float32) @ card)
        centres = _SHARED * shared + _DOMAIN * np.repeat(domains, TOPICS_A_DOMAIN, axis=0) + _TOPIC * topics
        return cls(centres, card * _CARD, passage * _PASSAGE)


def make_corpus(passages: int, folder: Path, *, seed: int = 7) -> Corpus:
    """Write a corpus of about so many passages into a folder, and return it memory-mapped."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng([seed, 1])
    cards = max(1, round(passages / PASSAGES_A_CARD))
    counts = 1 + random.poisson(PASSAGES_A_CARD - 1, size=cards)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    # Few large topics and many small ones, as in real catalogues.
    popularity = 1 / (1 + random.permutation(DOMAINS * TOPICS_A_DOMAIN)) ** 0.6
    topics = random.choice(DOMAINS * TOPICS_A_DOMAIN, size=cards, p=popularity / popularity.sum()).astype(np.int32)
    path = folder / "vectors.npy"
    if path.exists():  # of an earlier run of the same seed
        return Corpus(np.asarray(np.load(path, mmap_mode="r")), starts, topics)
    out = np.lib.format.open_memmap(path, "w+", np.float32, (int(starts[-1]), DIMENSION))
    world = _World.drawn(seed)
    for first in range(0, cards, _CHUNK_CARDS):
        last = min(first + _CHUNK_CARDS, cards)
        out[starts[first] : starts[last]] = _chunk(world, topics[first:last], counts[first:last], seed, first)
    out.flush()
    del out
    return Corpus(np.asarray(np.load(path, mmap_mode="r")), starts, topics)


def _chunk(world: _World, topics: NDArray[np.int32], counts: NDArray[np.int64], seed: int, first: int) -> Vectors:
    random = np.random.default_rng([seed, 2, first])
    own = random.standard_normal((len(topics), DIMENSION), dtype=np.float32) @ world.card_directions
    cards = world.centres[topics] + own
    noise = random.standard_normal((int(counts.sum()), DIMENSION), dtype=np.float32) @ world.passage_directions
    return _unit(np.repeat(cards, counts, axis=0) + noise)


def make_queries(corpus: Corpus, count: int, *, seed: int = 7) -> Vectors:
    """Return queries as people ask them: each as far from a card's passages as those are from each other."""
    random = np.random.default_rng([seed, 3])
    world = _World.drawn(seed)
    chosen = random.choice(corpus.cards, size=count, replace=corpus.cards < count)
    centres = np.stack([corpus.vectors[corpus.starts[row] : corpus.starts[row + 1]].mean(axis=0) for row in chosen])
    noise = random.standard_normal((count, DIMENSION), dtype=np.float32) @ world.passage_directions
    return _unit(centres + 0.6 * noise)


def card_masks(corpus: Corpus, *, seed: int = 7) -> Iterator[tuple[float, NDArray[np.bool_]]]:
    """Yield for each selectivity a mask over the cards, as filters make them: along domains, and across them."""
    random = np.random.default_rng([seed, 4])
    draw = random.random(corpus.cards)
    for share in SELECTIVITIES:
        if share == 1.0:
            yield share, np.ones(corpus.cards, dtype=bool)
        elif share == 0.5:  # such as an operating system: some domains have it more often
            lean = 0.25 + 0.5 * ((corpus.domains * 7919) % 101) / 100
            yield share, draw < lean
        elif share == 0.05:  # such as a few domains on one system
            near = np.isin(corpus.domains, _domains_of(corpus, 0.1))
            yield share, near & (draw < 0.5)
        else:  # such as one rare software
            yield share, draw < share


def facet_cards(corpus: Corpus, *, seed: int = 7) -> Iterator[TaskCard]:
    """Yield cards without text that have facet values alone.

    Systems, tiers and GPU as often as the benchmark's cards have them; software and formats with few common and many
    rare values, none to four a card.
    """
    random = np.random.default_rng([seed, 5])
    systems = random.choice(3, corpus.cards, p=[0.6, 0.35, 0.05]).tolist()
    gpu = (random.random(corpus.cards) < 0.2).tolist()
    tiers = _several(random, corpus.cards, 3, most=2)
    software = _several(random, corpus.cards, SOFTWARE, most=4)
    formats = _several(random, corpus.cards, 80, most=4)
    for row, topic in enumerate(corpus.topics.tolist()):
        yield TaskCard(
            task_id=f"synthetic/{row}",
            title="",
            summary="",
            prompt="",
            domain=f"domain {topic // TOPICS_A_DOMAIN}",
            subdomain=f"topic {topic}",
            software=tuple(SoftwareUse(f"software {value}", None, "") for value in software[row]),
            inputs=tuple(InputFile("", "", "", "", (f"format {value}",)) for value in formats[row]),
            tiers=tuple(list(Tier)[value] for value in sorted(tiers[row])),
            os=list(OperatingSystem)[systems[row]],
            gpu=gpu[row],
        )


def _several(random: np.random.Generator, cards: int, distinct: int, *, most: int) -> list[list[int]]:
    popularity = 1 / np.arange(1, distinct + 1)
    drawn = random.choice(distinct, size=(cards, most), p=popularity / popularity.sum()).tolist()
    counts = random.integers(0, most + 1, size=cards).tolist()
    return [list(dict.fromkeys(row[:count])) for row, count in zip(drawn, counts, strict=True)]


def _domains_of(corpus: Corpus, share: float) -> NDArray[np.int64]:
    """Return domains that together hold about a share of the cards."""
    sizes = np.bincount(corpus.domains, minlength=DOMAINS)
    taken = np.cumsum(sizes) / corpus.cards
    return np.arange(max(1, int(np.searchsorted(taken, share)) + 1))


def _spectrum(decay: float) -> Vectors:
    deviations = np.arange(1, DIMENSION + 1) ** -decay
    return (deviations / np.sqrt((deviations**2).sum())).astype(np.float32)


def _unit(rows: NDArray[np.float32]) -> Vectors:
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True), dtype=np.float32)
