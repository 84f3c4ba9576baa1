"""Ranking queries in other languages than English: by the multilingual space, and by their words in English.

Passages that are near to any query are discounted by their cosine with the background (embeddings.multilingual).
The weights were fitted on judged queries in ten languages (docs/languages.md).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ale_semantic.analysis import words
from ale_semantic.bands import MULTILINGUAL, Evidence
from ale_semantic.components import Component, fuse
from ale_semantic.errors import MissingExtraError
from ale_semantic.fusion import Scores, best_per_card, mean_of_best, softmax, standardise
from ale_semantic.languages import ENGLISH, language_name
from ale_semantic.once import Once
from ale_semantic.plans import PlanKind, SearchPlan
from ale_semantic.products import weighted_sum
from ale_semantic.query_vectors import QueryVectors
from ale_semantic.ranking import Ranker, Ranking
from ale_semantic.types import Field, Mode

if TYPE_CHECKING:
    from ale_semantic.embeddings.multilingual import MultilingualSpace

WEIGHTS: Mapping[Component, float] = {
    Component.PASSAGES: 0.5,
    Component.OVERVIEW: 0.2,
    Component.SUBDOMAIN: 0.1,
    Component.WORDS: 0.2,
}
_VIEWS = {Component.OVERVIEW: Field.OVERVIEW, Component.SUBDOMAIN: Field.SUBDOMAIN}
BEST_PASSAGES = 3
CANDIDATES = 200  # best cards whose English ranking is asked for, in a large catalogue
DISCOUNT = 0.5  # how much of a passage's cosine with the background is taken off
SPREAD, SHARPNESS = 0.25, 1.2  # as in ranking, but the scores are less sure and lend less
GLOSSED = 1.0  # weight of the ranking of the glossary's English beside the multilingual one
_INSTALL = "pip install 'ale-semantic[multilingual]'"


class EnglishRanker(Protocol):
    """Ranks English text by the main legs."""

    def __call__(self, query: str, mode: Mode, *, also: Sequence[int] = ()) -> Ranking:
        """Score the cards, in a large catalogue candidates and some others also."""


@dataclass(frozen=True, slots=True)
class MultilingualRanker:
    """The multilingual space of an index, beside its main ranker.

    `offsets` is what each passage is discounted by, shape (passages,); `views` the passage rows of single fields.
    """

    ranker: Ranker
    made: MultilingualSpace
    vectors: QueryVectors
    offsets: Scores
    views: Mapping[Component, NDArray[np.int64]]

    @classmethod
    def of(cls, ranker: Ranker, made: MultilingualSpace) -> MultilingualRanker:
        """Prepare the ranking of one index."""
        fields, names = made.space.passages.fields, list(Field)
        views = {component: np.flatnonzero(fields == names.index(field)) for component, field in _VIEWS.items()}
        offsets = DISCOUNT * (made.space.backend.vectors @ made.background)
        return cls(ranker, made, QueryVectors(made.space), offsets.astype(np.float32), views)

    def rank(self, text: str, glossed: str, mode: Mode, english: EnglishRanker) -> Ranking:
        """Score all cards.

        Args:
            text: the query.
            glossed: those of its words that the glossary has, in English.
            mode: which legs take part; not the lexical one alone.
            english: ranks English text by the main legs.

        Raises:
            MissingExtraError: if the encoder's package isn't installed.
        """
        space = self.made.space
        cosines = space.backend.scores(self.vectors.of([text])[0].vector[None, :], None)[0]
        best, rows = best_per_card(cosines, space.starts)
        discounted = cosines - self.offsets
        evidence = mean_of_best(discounted, space.starts, BEST_PASSAGES)
        components = {Component.PASSAGES: evidence}
        for component, view in self.views.items():
            scores = np.full(self.ranker.cards, np.inf, dtype=np.float32)
            scores[space.passages.cards[view]] = discounted[view]
            # A card without the field is taken to be as far as the farthest card that has it.
            components[component] = np.where(np.isfinite(scores), scores, scores.min(initial=1.0))
        as_is = english(text, Mode.LEXICAL).lexical if mode is not Mode.DENSE else None
        if as_is is not None:
            components[Component.WORDS] = as_is
        own = fuse(components, WEIGHTS)
        met, stages = 0.0, None
        if glossed:
            joined = english(glossed, mode, also=_best(own))
            own, stages = _joined(own, joined), joined.stages
            matched = english(glossed, Mode.LEXICAL).lexical
            met = float(matched.max(initial=0.0)) if matched is not None else 0.0
        found = Evidence(best=float(evidence.max()), coverage=met)
        scored = np.flatnonzero(own > -np.inf) if own.min() == -np.inf else None
        plan = SearchPlan(PlanKind.EXACT, len(space.passages), len(space.passages), candidates=len(own))
        return Ranking(self._spread(own), own, best, as_is, rows, found, MULTILINGUAL, space, scored, stages, plan)

    def _spread(self, own: Scores) -> Scores:
        if self.ranker.related is None:
            return own
        return np.asarray(own + SPREAD * weighted_sum(softmax(SHARPNESS * own), self.ranker.related), dtype=np.float32)


def _best(own: Scores) -> Sequence[int]:
    """Return the rows that any ranking of a large catalogue must score too."""
    return [int(row) for row in np.argsort(-own, kind="stable")[:CANDIDATES]]


def _joined(own: Scores, english: Ranking) -> Scores:
    """Return the standardised sum of a ranking's own scores and that of the glossary's English."""
    if english.rows is None:
        return standardise(own + GLOSSED * english.own)
    # Cards that the English ranking didn't score stay without one. Two standardised scores that know nothing of each
    # other have such a deviation, whichever cards were scored.
    return np.asarray((own + GLOSSED * english.own) / np.sqrt(1 + GLOSSED**2), dtype=np.float32)


@dataclass(frozen=True, slots=True)
class LanguageRouter:
    """Which ranking a query of a language gets, and what the user must know of it.

    `names` are the words of the catalogue's software names, which are the same in all languages. They and the
    multilingual space are looked at by the first query that isn't English.
    """

    ranker: Ranker
    names: Once[frozenset[str]]
    multilingual: Once[MultilingualRanker | None]

    @classmethod
    def of(
        cls, ranker: Ranker, software: Sequence[str], made: Callable[[], MultilingualSpace | None]
    ) -> LanguageRouter:
        """Prepare the routing of one index.

        Args:
            ranker: its main ranker.
            software: the software names.
            made: opens the multilingual space; None if there is none.
        """

        def multilingual() -> MultilingualRanker | None:
            space = made()
            return MultilingualRanker.of(ranker, space) if space is not None else None

        return cls(ranker, Once(lambda: frozenset(chain.from_iterable(map(words, software)))), Once(multilingual))

    def rank(self, text: str, mode: Mode, language: str, english: EnglishRanker) -> Ranking:
        """Rank a query of any language.

        Args:
            text: the query.
            mode: which legs take part.
            language: the query's ISO 639-1 code.
            english: ranks English text by the main legs.
        """
        if language == ENGLISH or self._all_languages():
            return english(text, mode)
        from ale_semantic.glossary import gloss

        glossed = gloss(text, language, self.names.get().__contains__).text
        if mode is Mode.LEXICAL:
            return english(f"{text} {glossed}", mode)
        multilingual = self.multilingual.get()
        if multilingual is not None:
            with suppress(MissingExtraError):  # `notices` tells
                return multilingual.rank(text, glossed, mode, english)
        return english(glossed or text, mode)

    def notices(self, language: str) -> tuple[str, ...]:
        """Return what to install or build so that queries of a language are understood; nothing if they are."""
        if language == ENGLISH or self._all_languages():
            return ()
        from ale_semantic.glossary import has_glossary

        how = "read word by word with a small glossary" if has_glossary(language) else "searched for its words alone"
        seems = f"The query seems to be {language_name(language)}, and was {how}. To search it by meaning: {_INSTALL}"
        multilingual = self.multilingual.get()
        if multilingual is None:
            return (f"{seems}, then build the index again.",)
        try:
            _ = multilingual.vectors.encoder
        except MissingExtraError:
            return (seems,)
        return ()

    def _all_languages(self) -> bool:
        """Tell whether the main encoder speaks many languages itself."""
        from ale_semantic.embeddings.multilingual import speaks_many

        return bool(speaks_many(self.ranker.space.identity))
