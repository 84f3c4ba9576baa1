"""What an engine holds: read from an index bundle, or put together from parts in memory.

Opening reads little: arrays are mapped, cards are parsed when they are looked at, and what few queries need (the
map, the space for other languages) is opened by the first that does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ale_semantic import __version__
from ale_semantic.arrays import mapped
from ale_semantic.bands import Background
from ale_semantic.card_store import StoredCards
from ale_semantic.catalogue import Catalogue
from ale_semantic.embeddings.bundle import FACETS, RELATED, BundlePaths, open_generation
from ale_semantic.embeddings.encoder import Encoder
from ale_semantic.embeddings.passages import LAYOUT_VERSION
from ale_semantic.embeddings.space import VectorSpace, require_same
from ale_semantic.errors import BundleError
from ale_semantic.facets import FacetTable
from ale_semantic.large import suited
from ale_semantic.lexical import LexicalIndex
from ale_semantic.multilingual import LanguageRouter
from ale_semantic.names import TaskNames
from ale_semantic.once import Once
from ale_semantic.query_vectors import QueryVectors
from ale_semantic.ranking import Ranker
from ale_semantic.requests import require_model
from ale_semantic.skills import SkillTable
from ale_semantic.sources import Origin
from ale_semantic.spelling import Speller
from ale_semantic.types import Provenance
from ale_semantic.understanding.phrases import SoftwarePhrases

if TYPE_CHECKING:
    from ale_semantic.embeddings.atlas import Atlas
    from ale_semantic.embeddings.multilingual import MultilingualSpace


@dataclass(frozen=True, slots=True)
class EngineParts:
    """A catalogue, its facets and its index."""

    catalogue: Catalogue
    facet_table: FacetTable
    names: TaskNames
    software: SoftwarePhrases
    ranker: Ranker
    vectors: QueryVectors
    speller: Speller
    router: LanguageRouter
    provenance: Provenance
    skills: SkillTable | None
    drawn: Once[Atlas | None]

    @property
    def atlas(self) -> Atlas | None:
        """Return the map of the cards, None if the index has none."""
        return self.drawn.get()


def open_parts(where: Path, *, encoder: Encoder | None, model: str | None, warm: bool) -> EngineParts:
    """Open the index bundle in a folder.

    Args:
        where: the index folder.
        encoder: the encoder for queries; by default the one in the bundle.
        model: refuse unless the index was built with this model.
        warm: load the bundle's encoder in the background meanwhile.

    Raises:
        BundleError: if there is no index or it is damaged.
        BundleMismatchError: if it was built with another model, layout or format.
    """
    paths, manifest = open_generation(where)
    space = VectorSpace.open(paths, manifest["spaces"][0])
    if encoder is not None:
        require_same(encoder.identity, space.identity)
    if model is not None:
        require_model(model, space.identity)
    vectors = QueryVectors(space, encoder)
    if warm:
        vectors.load_soon()
    catalogue = _catalogue(paths, manifest["catalogue"])
    skills = SkillTable.open(paths.root, catalogue.cards, space)
    extra = [skills.field()] if skills is not None else []
    table = FacetTable.open(paths.root / FACETS, cards=len(catalogue), extra=extra)
    try:
        names = TaskNames.open(paths.root, catalogue.cards)
        related = mapped(paths.root / RELATED) if (paths.root / RELATED).is_file() else None
        words = LexicalIndex.open(paths.lexical)
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise BundleError(f"{paths.root}: can't be read: {fault}") from None

    def multilingual() -> MultilingualSpace | None:
        from ale_semantic.embeddings.multilingual import open_multilingual

        return open_multilingual(paths, manifest)

    def atlas() -> Atlas | None:
        from ale_semantic.embeddings.atlas import Atlas

        return Atlas.open(paths.root)

    background = Background.from_json(manifest["spaces"][0]["background"])
    return join(
        catalogue,
        Ranker.of(space, words, related, skills, background),
        table,
        names,
        vectors,
        multilingual=multilingual,
        atlas=atlas,
    )


def join(
    catalogue: Catalogue,
    ranker: Ranker,
    table: FacetTable,
    names: TaskNames,
    vectors: QueryVectors,
    *,
    multilingual: Callable[[], MultilingualSpace | None],
    atlas: Callable[[], Atlas | None],
) -> EngineParts:
    """Put the parts together; the last two are made when they are first needed."""
    software = table.values("software")
    ranker = suited(ranker, lambda: _domain_codes(table))
    return EngineParts(
        catalogue=catalogue,
        facet_table=table,
        names=names,
        software=SoftwarePhrases.of(software),
        ranker=ranker,
        vectors=vectors,
        speller=Speller(ranker.lexical, vectors),
        router=LanguageRouter.of(ranker, software, multilingual),
        provenance=_provenance(catalogue, ranker.space),
        skills=ranker.skills,
        drawn=Once(atlas),
    )


def _domain_codes(table: FacetTable) -> NDArray[np.int32]:
    """Return a number for each card's domain, equal ones for equal domains, shape (cards,)."""
    column = table.columns["domain"]
    rows, codes = column.index.pairs(column.names.codes)
    found = np.full(table.cards, -1, dtype=np.int32)
    found[rows] = codes
    return found


def _catalogue(paths: BundlePaths, entry: dict[str, Any]) -> Catalogue:
    cards = StoredCards.open(paths.cards)
    if len(cards) != entry["cards"]:
        raise BundleError(f"{paths.cards}: {len(cards)} cards, the manifest says {entry['cards']}")
    origin = Origin(entry["name"], entry["revision"], entry["demo"])
    return Catalogue(cards=cards, origin=origin, fingerprint=entry["fingerprint"])


def _provenance(catalogue: Catalogue, space: VectorSpace) -> Provenance:
    return Provenance(
        catalogue=catalogue.origin.name,
        fingerprint=catalogue.fingerprint,
        cards=len(catalogue),
        model=space.identity.name,
        model_revision=space.identity.revision,
        layout=LAYOUT_VERSION,
        version=__version__,
        demo=catalogue.origin.demo,
    )
