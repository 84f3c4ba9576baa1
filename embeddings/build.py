"""Building an index bundle; only cards that changed are embedded again."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from ale_semantic.catalogue import Catalogue
from ale_semantic.evidence import measure_background
from ale_semantic.lexical import LexicalIndex
from ale_semantic.settings import DEFAULT_MODEL
from ale_semantic.skills import assign_skills
from ale_semantic.types import TaskCard

from .atlas import draw_atlas, mean_vectors
from .backend import FaissBackend
from .bundle import RELATED, BundlePaths, current_root, library_versions, new_generation, seal
from .embedding import (
    CardVectors,
    SplitCard,
    earlier_index,
    embed_cards,
    split_cards,
)
from .encoder import Encoder, EncoderIdentity
from .export import serving_encoder
from .late import LateIndex
from .multilingual import add_multilingual, chosen_model
from .onnx_encoder import OnnxEncoder
from .passages import FieldTokens
from .relatedness import MOST_CARDS, card_relatedness
from .space import PassageTable, VectorSpace
from .tables import TableWriter

_SHORT_SAMPLES, _LONG_SAMPLES = 490, 10  # texts on which an exported encoder is compared with its original


@dataclass(frozen=True, slots=True)
class BuildReport:
    """What a build did; `embedded` and `reused` count cards."""

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
    folder: str | Path,
    *,
    model: str = DEFAULT_MODEL,
    encoder: Encoder | None = None,
    device: str | None = None,
    progress: bool = False,
    wait: float = 0.0,
    multilingual: bool | str | None = None,
) -> BuildReport:
    """Build the index bundle of a catalogue and make it the current one.

    Args:
        catalogue: the cards.
        folder: the index folder; an index already there gives the vectors of unchanged cards.
        model: registry name, Hub name or local folder of the encoder.
        encoder: an encoder to use as it is, instead of `model`.
        device: `cpu`, `cuda` ...; by default what is there.
        progress: show a progress bar.
        wait: seconds to wait for another build of the same folder.
        multilingual: also embed for queries in other languages, with the given model or the usual one; by default
            if its package is installed and no `encoder` is given.

    Raises:
        EncoderError: if a model can't be loaded.
        MissingExtraError: if a model is asked for whose package isn't installed.
        BundleError: if another build holds the folder, or it can't be written.
    """
    folder = Path(folder)
    started = time.monotonic()
    with new_generation(folder, wait=wait) as paths:
        earlier = earlier_index(folder)
        notices: tuple[str, ...] = ()
        chosen = encoder
        if chosen is None:
            chosen, notices = serving_encoder(model, earlier.encoder, _samples(catalogue.cards), device=device)
        split = split_cards(catalogue.cards, chosen)
        known = earlier.cards if earlier.identity == chosen.identity else {}
        new = [card for card in split if card.key not in known]
        made = dict(zip((card.key for card in new), embed_cards(new, chosen, progress=progress), strict=True))
        space = _space(chosen.identity, split, [made.get(card.key) or known[card.key] for card in split])
        copy = chosen.folder if isinstance(chosen, OnnxEncoder) else None
        ledger = tuple(entry for card in split for entry in card.ledger)
        skills = assign_skills(catalogue.cards, space, chosen, earlier=current_root(folder))
        skills.write(paths.root)
        tables = TableWriter(paths)
        tables.add(catalogue.cards)
        tables.finish(skills)
        background = asdict(measure_background(catalogue.cards, space, chosen))
        spaces = [space.write(paths, copy) | {"background": background}]
        second = chosen_model(False if encoder and multilingual is None else multilingual, chosen.identity)
        if second is not None:
            spaces.append(add_multilingual(paths, folder, catalogue.cards, second, device=device, progress=progress))
        _write(paths, catalogue, space, ledger, spaces)
    return BuildReport(
        folder=folder,
        cards=len(catalogue),
        passages=len(space.passages),
        embedded=len(new),
        reused=len(split) - len(new),
        tokens_seen=sum(entry.seen for entry in ledger),
        tokens_dropped=sum(entry.dropped for entry in ledger),
        ledger=ledger,
        model=chosen.identity,
        exported=copy is not None,
        seconds=time.monotonic() - started,
        notices=notices,
    )


def _samples(cards: Sequence[TaskCard]) -> list[str]:
    """Return texts on which an exported encoder must agree with the original: short ones, and some long."""
    short = [text for card in cards for text in (card.title, card.summary, *card.must_do)]
    step = max(1, len(short) // _SHORT_SAMPLES)
    return short[::step][:_SHORT_SAMPLES] + [card.prompt for card in cards[:: max(1, len(cards) // _LONG_SAMPLES)]]


def _space(identity: EncoderIdentity, split: Sequence[SplitCard], cards: Sequence[CardVectors]) -> VectorSpace:
    passages = [passage for card in split for passage in card.passages]
    tokens = tuple(card.tokens for card in cards)
    return VectorSpace.of(
        identity,
        PassageTable.of(passages),
        FaissBackend.of(np.concatenate([card.vectors for card in cards])),
        LateIndex.build(tokens, identity.dimension),
        cards=len(split),
        tokens=tokens,
    )


def _write(
    paths: BundlePaths,
    catalogue: Catalogue,
    space: VectorSpace,
    ledger: Sequence[FieldTokens],
    spaces: Sequence[dict[str, Any]],
) -> None:
    paths.ledger.write_text(json.dumps([asdict(entry) for entry in ledger]) + "\n", encoding="utf-8")
    LexicalIndex.build(catalogue.cards).write(paths.lexical)
    if len(catalogue) <= MOST_CARDS:
        about = [f"{card.title}. {card.subdomain or ''}" for card in catalogue]
        draw_atlas(mean_vectors(space.backend.vectors, space.starts), about).write(paths.root)
        np.save(paths.root / RELATED, card_relatedness(catalogue.cards, space), allow_pickle=False)
    manifest = {
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "catalogue": {
            "name": catalogue.origin.name,
            "revision": catalogue.origin.revision,
            "demo": catalogue.origin.demo,
            "fingerprint": catalogue.fingerprint,
            "cards": len(catalogue),
        },
        "spaces": spaces,
        "libraries": library_versions(),
    }
    seal(paths, manifest)
