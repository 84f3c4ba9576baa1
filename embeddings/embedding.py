"""Embedding cards: passages and their vectors, word vectors, token ledger; unchanged cards are taken over."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ale_semantic.errors import BundleError, CardError
from ale_semantic.texts import SEARCHED_FIELDS, field_text
from ale_semantic.types import Field, TaskCard

from .bundle import ENCODER, LATE, has_index, open_generation
from .encoder import Encoder, EncoderIdentity, TextKind, Vectors
from .late import CardTokens, TokenGroup
from .onnx_encoder import MODEL_FILE
from .passages import FieldTokens, Passage, PassageKind, card_passages, text_room, token_ledger
from .space import VectorSpace, read_cards

log = logging.getLogger(__name__)
_BLOCK = 24  # cards encoded together: enough passages to sort by length, few enough to hold in memory
_HEAD_FIELDS = (Field.OVERVIEW, Field.SOFTWARE, Field.SUBDOMAIN)


@dataclass(frozen=True, slots=True)
class CardVectors:
    """One card's passage vectors, shape (passages, dimension), and its tokens."""

    vectors: Vectors
    tokens: CardTokens


@dataclass(frozen=True, slots=True)
class SplitCard:
    """One card's passages and ledger; `key` is equal for equal passages."""

    passages: tuple[Passage, ...]
    ledger: tuple[FieldTokens, ...]
    key: str


@dataclass(frozen=True, slots=True)
class EarlierIndex:
    """What an index already in the folder has to give: vectors by card key, and its exported encoder."""

    cards: Mapping[str, CardVectors]
    identity: EncoderIdentity | None = None
    encoder: Path | None = None


def split_cards(cards: Sequence[TaskCard], encoder: Encoder) -> list[SplitCard]:
    """Split cards into passages that together hold every token of every field."""
    identity = encoder.identity
    prefix = identity.prefix(TextKind.DOCUMENT)
    room = text_room(identity.max_tokens, len(encoder.token_spans([prefix])[0]) if prefix else 0)
    split = []
    for row, card in enumerate(cards):
        spans = encoder.token_spans([field_text(card, field) for field in SEARCHED_FIELDS])
        tokens_of = dict(zip(SEARCHED_FIELDS, spans, strict=True)).__getitem__
        passages = tuple(card_passages(row, card, tokens_of, room=room))
        cut = [max(0, len(tokens) - room) for tokens in encoder.token_spans([one.text for one in passages])]
        ledger = tuple(token_ledger(card, tokens_of, passages, cut))
        split.append(SplitCard(passages, ledger, _key(passages)))
    return split


def embed_cards(cards: Sequence[SplitCard], encoder: Encoder, *, progress: bool = False) -> list[CardVectors]:
    """Embed cards, showing how far, how fast and how long still."""
    from tqdm.auto import tqdm

    embedded: list[CardVectors] = []
    with tqdm(total=len(cards), unit="card", desc="embedding", disable=not progress) as bar:
        for start in range(0, len(cards), _BLOCK):
            block = cards[start : start + _BLOCK]
            embedded.extend(_embed_block(block, encoder))
            bar.update(len(block))
    return embedded


def earlier_index(folder: Path) -> EarlierIndex:
    """Return what the index in a folder has to give; nothing if there is none that can be read."""
    if not has_index(folder):
        return EarlierIndex({})
    try:
        paths, manifest = open_generation(folder)
        space = VectorSpace.open(paths, manifest["spaces"][0])
        cards = read_cards(paths.cards)
        tokens = space.late.pooled(paths.space(space.identity.key) / LATE)
    except (BundleError, CardError, OSError, ValueError) as fault:
        log.warning("the earlier index can't be used, everything is embedded again: %s", fault)
        return EarlierIndex({})
    passages: list[list[Passage]] = [[] for _ in cards]
    for row in range(len(space.passages)):
        passage = space.passages.passage(row, cards)
        passages[passage.card].append(passage)
    vectors = space.backend.vectors.copy()  # the view would not outlive the index that it looks into
    found = {
        _key(own): CardVectors(vectors[space.starts[row] : space.starts[row + 1]], tokens[row])
        for row, own in enumerate(passages)
    }
    exported = paths.space(space.identity.key) / ENCODER
    return EarlierIndex(found, space.identity, exported if (exported / MODEL_FILE).is_file() else None)


def _embed_block(block: Sequence[SplitCard], encoder: Encoder) -> Iterator[CardVectors]:
    texts = list(dict.fromkeys(passage.text for card in block for passage in card.passages))
    vectors, tokens = encoder.encode_tokens(texts, TextKind.DOCUMENT)
    place = {text: row for row, text in enumerate(texts)}
    for card in block:
        rows = [place[passage.text] for passage in card.passages]
        grouped = [(_token_group(passage), tokens[row]) for passage, row in zip(card.passages, rows, strict=True)]
        late = [(group, words) for group, words in grouped if group is not None]
        pooled = CardTokens.pool(late, [tokens[row] for row in rows], encoder.identity.dimension)
        # Half precision, in which the bundle keeps them: a rebuild then equals a first build.
        half = pooled.vectors.astype(np.float16).astype(np.float32)
        yield CardVectors(vectors[rows], replace(pooled, vectors=half))


def _token_group(passage: Passage) -> TokenGroup | None:
    """Return the group in which a passage's words take part in late interaction, or None."""
    if passage.field in _HEAD_FIELDS and passage.kind is not PassageKind.SENTENCE:
        return TokenGroup.HEAD
    if passage.field is Field.MUST_DO and passage.kind is PassageKind.SENTENCE:
        return TokenGroup.STEPS
    return None


def _key(passages: Sequence[Passage]) -> str:
    digest = hashlib.sha256()
    for passage in passages:
        digest.update(f"{passage.field}\0{int(passage.kind)}\0{passage.start}\0{passage.text}\0".encode())
    return digest.hexdigest()
