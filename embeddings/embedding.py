"""Embedding cards: passages and their vectors, word vectors, token ledger; what is known is taken from where it is.

An unchanged card is taken from the index that is there, else from the cache; of an edited one, what either still knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ale_semantic.texts import SEARCHED_FIELDS, field_text
from ale_semantic.types import Field, TaskCard

from .batches import LEAST_ROWS
from .cache import EmbeddingCache
from .cached import CachedEncoder
from .card_records import EmbeddedCard
from .earlier import EarlierCards
from .encoder import TextKind, TokenVectors, Vectors
from .late import CardTokens, TokenGroup
from .onnx_encoder import OnnxEncoder
from .passages import (
    LAYOUT_VERSION,
    FieldTokens,
    Passage,
    PassageKind,
    card_passages,
    passage_columns,
    text_room,
    token_ledger,
)
from .records import pack, unpack

_VERSION = "card 2"  # changed whenever the same card, layout and model give another record
_WORDS_VERSION = "words 1"  # the same of the words of some texts
_TEXTS = 2048  # embedded together: enough to find others of the same length, few enough to hold in memory
_HEAD_FIELDS = (Field.OVERVIEW, Field.SOFTWARE, Field.SUBDOMAIN)
_FIELDS = tuple(Field)


@dataclass(frozen=True, slots=True)
class SplitCard:
    """One card's passages and ledger."""

    passages: tuple[Passage, ...]
    ledger: tuple[FieldTokens, ...]


class CardEmbedder:
    """Embeds cards, each once as long as the index that is there or the cache holds it.

    Attributes:
        embedded: how many cards had to be embedded.
        encoder: what embeds.
    """

    def __init__(self, encoder: CachedEncoder, cache: EmbeddingCache, *, earlier: EarlierCards | None = None) -> None:
        """Keep what embeds, what remembers, and the cards of an earlier index."""
        self.embedded = 0
        self._earlier = earlier
        self.encoder = encoder
        self._cache = cache

    def embed(self, cards: Sequence[TaskCard]) -> list[EmbeddedCard]:
        """Return what the space holds of each card, in their order."""
        keys = [self._key(card) for card in cards]
        found = self._earlier.unchanged(keys) if self._earlier is not None else {}
        found |= self._cached([key for key in keys if key not in found])
        new = {key: card for key, card in zip(keys, cards, strict=True) if key not in found}
        split = dict(zip(new, split_cards(list(new.values()), self.encoder), strict=True))
        for block in _blocks(split):
            fresh: dict[bytes, bytes] = {}
            task_ids = [new[key].task_id for key in block]
            for card in self._embed_block({key: split[key] for key in block}, task_ids):
                found[card.key] = card
                fresh[card.key] = _written(card)
            self._cache.put(fresh)
        self.embedded += len(new)
        return [found[key] for key in keys]

    def _cached(self, keys: Sequence[bytes]) -> dict[bytes, EmbeddedCard]:
        """Return the cards that the cache holds with all of their words."""
        cards = {key: unpack(content) for key, content in self._cache.get(keys).items()}
        wanted = {key: [row.tobytes() for row in arrays["words"]] for key, arrays in cards.items()}
        words = {key: _read_words(own) for key, own in self._cache.get(chain.from_iterable(wanted.values())).items()}
        return {
            key: _read(key, arrays, [words[own] for own in wanted[key]])
            for key, arrays in cards.items()
            if all(own in words for own in wanted[key])
        }

    def _key(self, card: TaskCard) -> bytes:
        texts = (field_text(card, field) for field in SEARCHED_FIELDS)
        return self.encoder.key(_VERSION, str(LAYOUT_VERSION), *texts)

    def _known(self, task_ids: Sequence[str]) -> tuple[Mapping[str, Vectors], Mapping[bytes, CardTokens]]:
        """Return the vectors of texts, and the groups of words, that an earlier index holds for some cards."""
        vectors: dict[str, Vectors] = {}
        words: dict[bytes, CardTokens] = {}
        if self._earlier is not None:
            for task_id in task_ids:
                vectors |= self._earlier.vectors(task_id)
                words |= self._earlier.words(task_id)
        return vectors, words

    def _vectors(
        self, texts: Sequence[str], worded: set[str], known: Mapping[str, Vectors]
    ) -> tuple[Vectors, list[TokenVectors]]:
        """Return each text's vector and words; of known texts that aren't `worded`, the words' ids alone."""
        encoder = self.encoder.encoder
        old = [text for text in texts if text in known and text not in worded]
        if not old or not isinstance(encoder, OnnxEncoder):
            given = texts if len(texts) > 1 else [*texts] * LEAST_ROWS
            return encoder.encode_tokens(given, TextKind.DOCUMENT)
        skipped = set(old)
        new = [text for text in texts if text not in skipped]
        nothing = np.zeros((0, self.encoder.identity.dimension), dtype=np.float32)
        found = {
            text: (known[text], TokenVectors(ids, nothing))
            for text, ids in zip(old, encoder.word_ids(old, TextKind.DOCUMENT), strict=True)
        }
        if new:
            vectors, words = self._vectors(new, worded, {})
            found |= {text: (vectors[row], words[row]) for row, text in enumerate(new)}
        return np.array([found[text][0] for text in texts], dtype=np.float32), [found[text][1] for text in texts]

    def _embed_block(self, block: Mapping[bytes, SplitCard], task_ids: Sequence[str]) -> Iterator[EmbeddedCard]:
        """Yield the cards of some keys, of which an earlier index may know those of some ids."""
        texts = list(dict.fromkeys(passage.text for card in block.values() for passage in card.passages))
        grouped = [_grouped(card) for card in block.values()]
        known, pooled = self._known(task_ids)
        keys = [[self.encoder.key(_WORDS_VERSION, group.name, *own[group]) for group in TokenGroup] for own in grouped]
        missing = [key for key in chain.from_iterable(keys) if key not in pooled]
        pooled = {**pooled, **{key: _read_words(own) for key, own in self._cache.get(missing).items()}}
        wanted = {
            key: (group, own[group])
            for own, row in zip(grouped, keys, strict=True)
            for group, key in zip(TokenGroup, row, strict=True)
            if key not in pooled
        }
        vectors, tokens = self._vectors(texts, {text for _, own in wanted.values() for text in own}, known)
        place = {text: row for row, text in enumerate(texts)}
        dimension = self.encoder.identity.dimension
        fresh = {
            key: CardTokens.pool([(group, tokens[place[text]]) for text in own], [], dimension).halved()
            for key, (group, own) in wanted.items()
        }
        self._cache.put({key: _written_words(own) for key, own in fresh.items()})
        pooled |= fresh
        for (name, card), own in zip(block.items(), keys, strict=True):
            rows = [place[passage.text] for passage in card.passages]
            seen = CardTokens.pool([], [tokens[row] for row in rows], dimension).seen
            words = CardTokens.joined([pooled[key] for key in own], seen)
            numbers = np.frombuffer(b"".join(own), np.uint8).reshape(len(own), -1)
            columns = passage_columns(card.passages)
            yield EmbeddedCard(name, columns, vectors[rows], words, _ledger(card.ledger), numbers)


def split_cards(cards: Sequence[TaskCard], encoder: CachedEncoder) -> list[SplitCard]:
    """Split cards into passages that together hold every token of every field."""
    if not cards:
        return []
    identity = encoder.identity
    prefix = identity.prefix(TextKind.DOCUMENT)
    room = text_room(identity.max_tokens, len(encoder.token_spans([prefix])[0]) if prefix else 0)
    split = []
    for row, card in enumerate(cards):
        spans = encoder.token_spans([field_text(card, field) for field in SEARCHED_FIELDS])
        tokens_of = dict(zip(SEARCHED_FIELDS, spans, strict=True)).__getitem__
        passages = tuple(card_passages(row, card, tokens_of, room=room))
        cut = [max(0, len(tokens) - room) for tokens in encoder.token_spans([one.text for one in passages])]
        split.append(SplitCard(passages, tuple(token_ledger(card, tokens_of, passages, cut))))
    return split


def _blocks(split: dict[bytes, SplitCard]) -> Iterator[list[bytes]]:
    """Yield the keys of cards that together have about `_TEXTS` passages."""
    block: list[bytes] = []
    texts = 0
    for key, card in split.items():
        block.append(key)
        texts += len(card.passages)
        if texts >= _TEXTS:
            yield block
            block, texts = [], 0
    if block:
        yield block


def _token_group(passage: Passage) -> TokenGroup | None:
    """Return the group in which a passage's words take part in late interaction, or None."""
    if passage.field in _HEAD_FIELDS and passage.kind is not PassageKind.SENTENCE:
        return TokenGroup.HEAD
    if passage.field is Field.MUST_DO and passage.kind is PassageKind.SENTENCE:
        return TokenGroup.STEPS
    return None


def _grouped(card: SplitCard) -> dict[TokenGroup, list[str]]:
    """Return the texts of each group of words of a card, in their order, with repeats."""
    found: dict[TokenGroup, list[str]] = {group: [] for group in TokenGroup}
    for passage in card.passages:
        group = _token_group(passage)
        if group is not None:
            found[group].append(passage.text)
    return found


def _ledger(entries: Sequence[FieldTokens]) -> NDArray[np.int32]:
    rows = [(_FIELDS.index(one.field), one.seen, one.dropped) for one in entries]
    return np.array(rows, dtype=np.int32).reshape(len(rows), 3)


def _written(card: EmbeddedCard) -> bytes:
    return pack(
        {
            "passages": card.passages,
            "vectors": card.vectors,
            "ledger": card.ledger,
            "seen": card.tokens.seen.astype(np.int32),
            "words": card.words,
        }
    )


def _read(key: bytes, arrays: Mapping[str, NDArray[Any]], words: Sequence[CardTokens]) -> EmbeddedCard:
    tokens = CardTokens.joined(words, arrays["seen"])
    return EmbeddedCard(key, arrays["passages"], arrays["vectors"], tokens, arrays["ledger"], arrays["words"])


def _written_words(words: CardTokens) -> bytes:
    return pack(
        {
            "ids": words.ids.astype(np.int32),
            "groups": words.groups.astype(np.int8),
            "pooled": words.vectors,
        }
    )


def _read_words(content: bytes) -> CardTokens:
    arrays = unpack(content)
    ids, groups = (arrays[name].astype(np.int64) for name in ("ids", "groups"))
    return CardTokens(ids, groups, arrays["pooled"], np.zeros(0, np.int64))
