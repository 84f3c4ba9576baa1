"""Building an index bundle, block by block; only what neither the index there nor the cache holds is embedded."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, nullcontext
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ale_semantic.catalogue import Catalogue
from ale_semantic.errors import BundleError
from ale_semantic.evidence import background_rows, measure_background
from ale_semantic.lexical import LexicalBuilder
from ale_semantic.settings import DEFAULT_MODEL, CacheSettings, encoders_folder
from ale_semantic.skill_definitions import load_skills
from ale_semantic.skills import assign_skills
from ale_semantic.texts import field_text
from ale_semantic.types import Field, TaskCard

from .atlas import Atlas
from .build_report import BuildReport, LedgerWriter, recipe, unchanged
from .bundle import ENCODER, SPACES, BundlePaths, current_root, library_versions, new_generation, seal
from .cache import EmbeddingCache
from .cached import CachedEncoder
from .card_analysis import CardAnalyser, CardAnalysis
from .digests import recording
from .earlier import EarlierIndex
from .embedding import CardEmbedder
from .encoder import Encoder, TextKind, TokenVectors, Vectors, checked_device
from .multilingual import MultilingualWriter, chosen_model, require_other
from .relatedness import MOST_CARDS
from .samples import sample_texts
from .sealing import Sealing
from .serving import EarlierExport, Exports, Serving, serving_encoder
from .small_catalogue import SmallCatalogue
from .space import VectorSpace
from .space_writer import SpaceWriter
from .tables import TableWriter

_BLOCK_CHARACTERS = 200_000  # of the cards that are read, embedded and written together
_BACKGROUND_CARDS = 1024  # on so many, evenly spread, the background is measured


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
    cache: bool = True,
    redraw: bool = False,
    opened: Callable[[], EarlierIndex | None] | None = None,
) -> BuildReport:
    """Build the index bundle of a catalogue and make it the current one.

    If the index in the folder is already of these cards and models, nothing is done. A build that was killed goes
    on where it was, by the cache.

    Args:
        catalogue: the cards; read in their order, a block at a time.
        folder: the index folder.
        model: registry name, Hub name or local folder of the encoder.
        encoder: an encoder to use as it is, instead of `model`.
        device: where passages are embedded; by default on the CPU, by the exported encoder. On a GPU (`cuda`, `mps`)
            the original does it, in half precision. Queries get the exported encoder all the same.
        progress: show a progress bar.
        wait: seconds to wait for another build of the same folder.
        multilingual: also embed for queries in other languages, with the given model or the usual one; by default
            if its package is installed and no `encoder` is given.
        cache: take from the embedding cache what it holds, and keep there what is embedded. With or without it, cards
            that are as they were are taken from the index in the folder, if it is of the same model. Without it
            nothing is read or kept outside the folder, but for what the Hub's own cache holds: neither the exported
            encoder nor digests of model files.
        redraw: build also if nothing has changed, and draw the map anew.
        opened: gives the index in the folder, whose files may have been read while the cards were.

    Raises:
        EncoderError: if a model can't be loaded, is asked for twice, or the device isn't there.
        MissingExtraError: if a model is asked for whose package isn't installed.
        BundleError: if another build holds the folder, or it can't be written.
    """
    folder, started = Path(folder), time.monotonic()
    checked_device(device)
    second = False if encoder and multilingual is None else multilingual
    index = opened() if opened is not None else EarlierIndex.open(folder)
    if index is not None and not index.is_current():  # it was opened a while ago
        index = EarlierIndex.open(folder)
    if not redraw:
        with recording(cache):
            same = unchanged(catalogue, index, encoder.identity if encoder else model, second)
        if same is not None:
            return replace(same, seconds=time.monotonic() - started)
    settings = CacheSettings.from_environment()
    with (
        recording(cache),
        new_generation(folder, wait=wait) as paths,
        EmbeddingCache.open(settings.folder if cache else None, limit=settings.limit) as memory,
    ):
        if index is None or not index.is_current():  # another build was quicker
            index = EarlierIndex.open(folder)
        exports = Exports(
            lambda identity: paths.space(identity.key) / ENCODER,
            EarlierExport.of(index),
            encoders_folder() if cache else None,
        )
        serve = partial(serving_encoder, exports=exports, samples=partial(sample_texts, catalogue.cards), device=device)
        serving = Serving.given(encoder) if encoder is not None else serve(model)
        cached = CachedEncoder(serving.encoder, memory, precision=serving.precision)
        name = chosen_model(second, cached.identity)
        languages = serve(name) if name is not None else None
        known = index.cards(cached.identity, serving.precision) if index is not None else None
        sealing = Sealing(paths.root, index.hashed if index is not None else None)
        with closing(_Build(paths, catalogue, CardEmbedder(cached, memory, earlier=known), memory, sealing)) as build:
            if languages is not None:
                build.add_language_space(languages, index)
            build.read_cards(progress=progress)
            earlier = None if redraw else _earlier_atlas(folder)
            report = build.finish(serving, earlier)
    other = languages.notices if languages is not None else ()
    notices = (*report.notices, *other, *memory.notices)
    return replace(report, folder=folder, seconds=time.monotonic() - started, notices=notices)


class _Build:
    """One build: the writers of all parts of the bundle, to which cards are given block by block."""

    def __init__(
        self,
        paths: BundlePaths,
        catalogue: Catalogue,
        embedder: CardEmbedder,
        cache: EmbeddingCache,
        sealing: Sealing,
    ) -> None:
        """Open the writers in a new generation."""
        self._sealing = sealing
        self._paths, self._catalogue, self._embedder, self._cache = paths, catalogue, embedder, cache
        self._encoder = embedder.encoder
        self._skills = load_skills()
        self._analyser = CardAnalyser(cache, self._skills)
        self._space = SpaceWriter(paths, self._encoder.identity)
        self._tables = TableWriter(paths)
        self._languages: MultilingualWriter | None = None
        self._lexical = LexicalBuilder()
        self._ledger = LedgerWriter(paths.ledger)
        self._cues = np.zeros((len(catalogue), len(self._skills)), dtype=np.float32)
        self._small = SmallCatalogue() if len(catalogue) <= MOST_CARDS else None
        wanted = min(len(catalogue), _BACKGROUND_CARDS)
        self._sampled = np.linspace(0, len(catalogue) - 1, wanted).astype(np.int64)
        self._titles: list[str] = []
        self._row = 0

    def close(self) -> None:
        """Close all files, also of a build that failed."""
        for writer in (self._space, self._languages, self._tables, self._ledger):
            if writer is not None:
                writer.close()
        self._sealing.close()

    def add_language_space(self, serving: Serving, index: EarlierIndex | None) -> None:
        """Also embed for queries in other languages; what an earlier index holds is taken from it."""
        cached = CachedEncoder(serving.encoder, self._cache, precision=serving.precision)
        require_other(cached.identity, self._encoder.identity)
        earlier = index.cards(cached.identity, serving.precision) if index is not None else None
        self._languages = MultilingualWriter(self._paths, cached, serving, earlier=earlier)

    def read_cards(self, *, progress: bool) -> None:
        """Read, embed and write all cards, showing how far, how fast and how long still."""
        with _progress(len(self._catalogue)) if progress else nullcontext() as bar:
            for cards in _blocks(self._catalogue.cards):
                self._tables.add(cards)
                self._add(cards)
                if bar is not None:
                    bar.update(len(cards))

    def finish(self, serving: Serving, earlier: Atlas | None) -> BuildReport:
        """Write what needs all cards, and seal the generation."""
        from threadpoolctl import ThreadpoolController

        # NumPy's BLAS has one thread for all of this: threads that wait for each other would take the processors from
        # what stands beside, and the last bits of a product depend on their number. One owner, this thread, around
        # all others: a limit that is set within another thread's is lost, or stays. FAISS keeps its threads.
        one_thread = ThreadpoolController().select(threading_layer="pthreads").limit(limits=1, user_api="blas")
        with one_thread, ThreadPoolExecutor(1, "build") as beside:
            made = beside.submit(self._space.finish)
            languages = [self._languages.finish()] if self._languages is not None else []
            self._lexical.finish().write(self._paths.lexical)
            space = made.result()
            self._sealing.begin(self._paths.root / SPACES)
            background = beside.submit(measure_background, *self._background_queries(), self._sample(space))
            skills = assign_skills((), space, self._encoder, skills=self._skills, cues=self._cues)
            skills.write(self._paths.root)
            self._tables.finish(skills)
            if self._small is not None:
                self._small.write(self._paths.root, space, earlier)
            self._ledger.close()
            entry = space.entry(serving.exported) | serving.entry() | {"background": asdict(background.result())}
        spaces = [entry, *languages]
        seal(self._paths, self._manifest(spaces), begun=self._sealing)
        return BuildReport(
            folder=self._paths.root,
            cards=len(self._catalogue),
            passages=len(space.passages),
            embedded=self._embedder.embedded,
            reused=len(self._catalogue) - self._embedder.embedded,
            tokens_seen=self._ledger.seen,
            tokens_dropped=self._ledger.dropped,
            ledger_file=self._paths.ledger,
            model=space.identity,
            exported=serving.exported is not None,
            seconds=0.0,
            notices=serving.notices,
        )

    def _add(self, cards: Sequence[TaskCard]) -> None:
        analyses: Sequence[CardAnalysis] = self._analyser.analyse(cards)
        embedded = self._embedder.embed(cards)
        self._space.add(embedded)
        self._ledger.add((card.task_id, own.ledger) for card, own in zip(cards, embedded, strict=True))
        for card, analysis in zip(cards, analyses, strict=True):
            self._lexical.add(analysis.words)
            self._cues[self._row] = analysis.cues
            if self._small is not None:
                self._small.add(card, analysis.words)
            if self._row == self._sampled[len(self._titles) : len(self._titles) + 1]:
                self._titles.append(card.title)
            self._row += 1
        if self._languages is not None:
            self._languages.add(cards)

    def _background_queries(self) -> tuple[NDArray[np.int64], tuple[Vectors, list[TokenVectors]]]:
        """Return which of the sampled cards are asked for the background, and their titles embedded as queries."""
        chosen = background_rows(len(self._titles))
        return chosen, self._encoder.encode_tokens([self._titles[row] for row in chosen], TextKind.QUERY)

    def _sample(self, space: VectorSpace) -> VectorSpace:
        """Return the cards on which the background is measured."""
        return space if len(self._sampled) == len(self._catalogue) else space.subset(self._sampled)

    def _manifest(self, spaces: list[dict[str, Any]]) -> dict[str, Any]:
        origin = self._catalogue.origin
        return {
            "created": datetime.now(UTC).isoformat(timespec="seconds"),
            "catalogue": {
                "name": origin.name,
                "revision": origin.revision,
                "demo": origin.demo,
                "fingerprint": self._catalogue.fingerprint,
                "cards": len(self._catalogue),
            },
            "recipe": recipe(),
            "spaces": spaces,
            "ledger": {"seen": self._ledger.seen, "dropped": self._ledger.dropped},
            "libraries": library_versions(),
        }


def _progress(cards: int) -> Any:
    from tqdm.auto import tqdm

    return tqdm(total=cards, unit="card", desc="embedding")


def _blocks(cards: Iterable[TaskCard]) -> Iterator[list[TaskCard]]:
    """Yield cards in blocks of about `_BLOCK_CHARACTERS` of text."""
    block: list[TaskCard] = []
    size = 0
    for card in cards:
        block.append(card)
        size += sum(len(field_text(card, field)) for field in (Field.OVERVIEW, Field.PROMPT, Field.MUST_DO))
        if size >= _BLOCK_CHARACTERS:
            yield block
            block, size = [], 0
    if block:
        yield block


def _earlier_atlas(folder: Path) -> Atlas | None:
    """Return the map of the index that is there; None if there is none that can be read."""
    root = current_root(folder)
    try:
        return Atlas.open(root) if root is not None else None
    except BundleError:
        return None
