"""Building an index bundle: passages, vectors, lexical index, ledger; only what changed is embedded again."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from ale_semantic.cards import card_from_raw
from ale_semantic.catalogue import Catalogue, card_line
from ale_semantic.embeddings.backend import FaissBackend
from ale_semantic.embeddings.bundle import (
    BundlePaths,
    has_index,
    library_versions,
    new_generation,
    open_generation,
    seal,
)
from ale_semantic.embeddings.encoder import Encoder, EncoderIdentity, SentenceTransformerEncoder, TextKind, Vectors
from ale_semantic.embeddings.export import exported
from ale_semantic.embeddings.passages import (
    SEARCHED_FIELDS,
    FieldTokens,
    Passage,
    card_passages,
    field_text,
    text_room,
    token_ledger,
)
from ale_semantic.embeddings.space import PassageTable, VectorSpace
from ale_semantic.errors import BundleError, CardError, EncoderError
from ale_semantic.lexical import LexicalIndex
from ale_semantic.settings import DEFAULT_MODEL, cache_folder
from ale_semantic.sources.tables import TableSource
from ale_semantic.types import TaskCard

log = logging.getLogger(__name__)
_CHECKED_TEXTS = 500  # passages on which an exported encoder must agree with the original


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did."""

    folder: Path
    cards: int
    passages: int
    embedded: int
    reused: int
    tokens_seen: int
    tokens_dropped: int
    ledger: tuple[FieldTokens, ...]
    model: EncoderIdentity
    exported: bool
    seconds: float
    notices: tuple[str, ...]


def build_index(
    catalogue: Catalogue,
    folder: Path,
    *,
    model: str = DEFAULT_MODEL,
    encoder: Encoder | None = None,
    device: str | None = None,
    progress: bool = False,
    wait: float = 0.0,
) -> BuildReport:
    """Build the index bundle of a catalogue and make it the current one.

    Args:
        catalogue: the cards.
        folder: the index folder; an index already there gives the vectors of unchanged passages.
        model: registry name, Hub name or local folder of the encoder.
        encoder: an encoder to use as it is, instead of `model`.
        device: `cpu`, `cuda` ...; by default what is there.
        progress: show a progress bar.
        wait: seconds to wait for another build of the same folder.

    Raises:
        EncoderError: if the model can't be loaded.
        BundleError: if another build holds the folder, or it can't be written.
    """
    started = time.monotonic()
    with new_generation(folder, wait=wait) as paths:
        encoder = encoder or SentenceTransformerEncoder.load(model, device=device)
        passages, ledger = split_cards(catalogue.cards, encoder)
        known = _known_vectors(folder, encoder.identity)
        vectors, embedded = _embed([passage.text for passage in passages], encoder, known, progress=progress)
        space = VectorSpace(encoder.identity, PassageTable.of(passages), FaissBackend.of(vectors))
        copy, notices = _exported_copy(encoder, passages)
        _write(paths, catalogue, space, ledger, copy)
    return BuildReport(
        folder=folder,
        cards=len(catalogue),
        passages=len(passages),
        embedded=embedded,
        reused=len(passages) - embedded,
        tokens_seen=sum(entry.seen for entry in ledger),
        tokens_dropped=sum(entry.dropped for entry in ledger),
        ledger=tuple(ledger),
        model=encoder.identity,
        exported=copy is not None,
        seconds=time.monotonic() - started,
        notices=notices,
    )


def split_cards(cards: Sequence[TaskCard], encoder: Encoder) -> tuple[list[Passage], list[FieldTokens]]:
    """Return the passages of all cards, in the order of the cards, and the ledger of their tokens."""
    identity = encoder.identity
    prefix = identity.prefix(TextKind.DOCUMENT)
    room = text_room(identity.max_tokens, len(encoder.token_spans([prefix])[0]) if prefix else 0)
    passages: list[Passage] = []
    ledger: list[FieldTokens] = []
    for row, card in enumerate(cards):
        spans = encoder.token_spans([field_text(card, field) for field in SEARCHED_FIELDS])
        tokens_of = dict(zip(SEARCHED_FIELDS, spans, strict=True)).__getitem__
        own = list(card_passages(row, card, tokens_of, room=room))
        cut = [max(0, len(tokens) - room) for tokens in encoder.token_spans([passage.text for passage in own])]
        ledger.extend(token_ledger(card, tokens_of, own, cut))
        passages.extend(own)
    return passages, ledger


def _embed(
    texts: Sequence[str], encoder: Encoder, known: Mapping[str, Vectors], *, progress: bool
) -> tuple[Vectors, int]:
    """Return a vector for each text, shape (n, dimension), embedding each unknown text once."""
    new = list(dict.fromkeys(text for text in texts if text not in known))
    made = dict(zip(new, encoder.encode(new, TextKind.DOCUMENT, progress=progress), strict=True))
    vectors = np.zeros((len(texts), encoder.identity.dimension), dtype=np.float32)
    for row, text in enumerate(texts):
        vectors[row] = made[text] if text in made else known[text]
    return vectors, len(new)


def _known_vectors(folder: Path, identity: EncoderIdentity) -> dict[str, Vectors]:
    """Return the vectors of the index already in the folder, by passage text, if the same encoder made them."""
    if not has_index(folder):
        return {}
    try:
        paths, manifest = open_generation(folder)
        entries = [entry for entry in manifest["spaces"] if EncoderIdentity(**entry["encoder"]) == identity]
        if not entries:
            return {}
        space = VectorSpace.open(paths, entries[0])
        texts = space.passages.texts(read_cards(paths))
    except (BundleError, CardError) as fault:
        log.warning("the earlier index can't be used, everything is embedded again: %s", fault)
        return {}
    return dict(zip(texts, space.backend.vectors, strict=True))


def _exported_copy(encoder: Encoder, passages: Sequence[Passage]) -> tuple[Path | None, tuple[str, ...]]:
    """Return the folder of the exported encoder, or a notice that says why the original must serve."""
    if not isinstance(encoder, SentenceTransformerEncoder):
        return None, ()
    step = max(1, len(passages) // _CHECKED_TEXTS)
    samples = [passage.text for passage in passages[::step]][:_CHECKED_TEXTS]
    try:
        return exported(encoder, cache_folder() / "encoders", samples), ()
    except EncoderError as fault:
        return None, (f"{fault}; sentence-transformers will embed the queries, which is slower to start",)


def _write(
    paths: BundlePaths,
    catalogue: Catalogue,
    space: VectorSpace,
    ledger: Sequence[FieldTokens],
    exported_copy: Path | None,
) -> None:
    with paths.cards.open("w", encoding="utf-8") as lines:
        lines.writelines(card_line(card) + "\n" for card in catalogue)
    paths.ledger.write_text(json.dumps([asdict(entry) for entry in ledger]) + "\n", encoding="utf-8")
    LexicalIndex.build(catalogue.cards).write(paths.lexical)
    manifest = {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "catalogue": {
            "name": catalogue.origin.name,
            "revision": catalogue.origin.revision,
            "demo": catalogue.origin.demo,
            "fingerprint": catalogue.fingerprint,
            "cards": len(catalogue),
        },
        "spaces": [space.write(paths, exported_copy)],
        "libraries": library_versions(),
    }
    seal(paths, manifest)


def read_cards(paths: BundlePaths) -> list[TaskCard]:
    """Return the cards of a generation in their order.

    Raises:
        CardError: if one can't be read.
    """
    raws = TableSource(paths.cards).raw_cards()
    cards = []
    for raw in raws:
        if isinstance(raw, CardError):
            raise raw
        cards.append(card_from_raw(raw))
    return cards
