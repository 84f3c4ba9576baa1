"""Texts on which an exported encoder is compared with its original."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice

from ale_semantic.texts import sentences
from ale_semantic.types import TaskCard

SAMPLES = 500  # texts, however few the cards
_SAMPLED_CARDS = 500  # the first cards, from which they come
_LONG_SAMPLES = 10  # of them whole prompts


def sample_texts(cards: Iterable[TaskCard]) -> list[str]:
    """Return `SAMPLES` different texts: fields and sentences of the first cards, and whole prompts.

    What a small catalogue lacks comes from the demo cards.
    """
    first = list(islice(cards, _SAMPLED_CARDS))
    short = _short_texts(first)
    chosen = _spread(first, short, SAMPLES)
    if len(chosen) < SAMPLES:
        from ale_semantic.catalogue import Catalogue

        demo = list(Catalogue.load("demo").cards)
        short = [text for text in _short_texts(demo) if text not in chosen]
        chosen |= _spread(demo, short, SAMPLES - len(chosen))
    return list(chosen)


def _spread(cards: Sequence[TaskCard], short: Sequence[str], most: int) -> dict[str, None]:
    """Return at most so many different texts: whole prompts, some of the long ones, and short ones, evenly spread."""
    prompts = [card.prompt for card in cards[:: max(1, len(cards) // _LONG_SAMPLES)]][:_LONG_SAMPLES]
    long = dict.fromkeys(prompts[:most])
    others = [text for text in short if text not in long]
    wanted = most - len(long)
    return dict.fromkeys(others[:: max(1, len(others) // max(1, wanted))][:wanted]) | long


def _short_texts(cards: Iterable[TaskCard]) -> list[str]:
    """Return each title, summary, step and sentence of a prompt once, in their order."""
    found: dict[str, None] = {}
    for card in cards:
        found |= dict.fromkeys((card.title, card.summary, *card.must_do))
        found |= dict.fromkeys(card.prompt[start:end] for start, end in sentences(card.prompt))
    return list(found)
