"""The engine: one index, opened once, that answers searches. Safe to share between threads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ale_semantic.answers import browse, respond
from ale_semantic.bands import UNKNOWN_BACKGROUND, Background, scales
from ale_semantic.catalogue import Catalogue
from ale_semantic.embeddings.encoder import Encoder
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.facets import FacetTable
from ale_semantic.fusion import Mask
from ale_semantic.languages import ENGLISH, detect_language
from ale_semantic.lexical import LexicalIndex
from ale_semantic.names import TaskNames
from ale_semantic.opening import EngineParts, join, open_parts
from ale_semantic.query_vectors import QueryVectors
from ale_semantic.question import DEFAULT_K, Page, Question
from ale_semantic.ranking import EVERY_CARD, Ranker, Ranking, Scope
from ale_semantic.requests import Where, choice, clean_query, condition_of, require_likeness
from ale_semantic.reranking import DEPTH, Reranker, reranked
from ale_semantic.settings import Settings
from ale_semantic.skills import SkillTable
from ale_semantic.types import Band, Facet, Mode, Recognised, SearchResult
from ale_semantic.understanding.reading import RELATION, Reading, read_query
from ale_semantic.understanding.relations import Relation, tier_preference
from ale_semantic.variants import Variant, by_skills, variant_mask

if TYPE_CHECKING:
    from ale_semantic.embeddings.multilingual import MultilingualSpace


@dataclass(frozen=True, slots=True)
class Engine(EngineParts):
    """A catalogue, its facets and its index, to be asked."""

    @classmethod
    def open(
        cls,
        folder: str | Path | None = None,
        *,
        encoder: Encoder | None = None,
        model: str | None = None,
        warm: bool = False,
    ) -> Engine:
        """Open the index bundle in a folder.

        Args:
            folder: the index folder; by default the one of the settings.
            encoder: the encoder for queries; by default the one in the bundle.
            model: refuse unless the index was built with this model.
            warm: load the encoder in the background meanwhile, for a query that comes at once.

        Raises:
            BundleError: if there is no index or it is damaged.
            BundleMismatchError: if it was built with another model, layout or format.
        """
        where = Path(folder) if folder is not None else Settings.from_environment().index
        return cls._of_parts(open_parts(where, encoder=encoder, model=model, warm=warm))

    @classmethod
    def of(
        cls,
        catalogue: Catalogue,
        space: VectorSpace,
        lexical: LexicalIndex,
        *,
        related: NDArray[np.float32] | None = None,
        skills: SkillTable | None = None,
        encoder: Encoder | None = None,
        multilingual: MultilingualSpace | None = None,
        background: Background = UNKNOWN_BACKGROUND,
    ) -> Engine:
        """Make an engine of parts in memory."""
        return cls._of_parts(
            join(
                catalogue,
                Ranker.of(space, lexical, related, skills, background),
                FacetTable.from_cards(catalogue.cards, extra=skills.facet() if skills is not None else None),
                TaskNames.of(catalogue.cards),
                QueryVectors(space, encoder),
                multilingual=lambda: multilingual,
                atlas=lambda: None,
            )
        )

    @classmethod
    def _of_parts(cls, parts: EngineParts) -> Engine:
        return cls(*(getattr(parts, part.name) for part in fields(parts)))

    def search(
        self,
        query: str = "",
        *,
        where: Where = None,
        k: int = DEFAULT_K,
        offset: int = 0,
        mode: Mode | str = Mode.HYBRID,
        min_band: Band | str | None = None,
        facets: bool = True,
        understand: bool = True,
        ignore: Collection[str] = (),
        rerank: Reranker | None = None,
    ) -> SearchResult:
        """Search tasks by meaning among those that pass a filter.

        Args:
            query: everyday words, keywords, a task's id or title; blank browses in the order of the ids.
            where: a filter expression or condition, applied before ranking in every leg.
            k: the number of hits of this page.
            offset: the number of hits before this page.
            mode: which legs take part.
            min_band: leave out hits below this band; counts are then of the matching tasks.
            facets: also count the facets.
            understand: read phrases such as "on Windows" and "something easier before X" for more than words;
                what was recognised stands in the result.
            ignore: keys of recognised parts to take for mere words.
            rerank: a second stage that reads the best cards again, such as `CrossEncoderReranker.load(folder)`.

        Raises:
            QueryError: if the query, k, offset or mode can't be served.
            FilterError: if the filter can't be understood.
        """
        text = clean_query(query)
        page = Page.of(k, offset, mode, min_band, facets)
        condition = condition_of(where)
        named = self.names.named(text)
        reading = Reading(text, condition)
        if understand and text and not named:
            reading = read_query(text, condition, self.software, ignore=ignore)
        question = Question.of(text, page, self.facet_table, named, condition, reading.condition)
        question = replace(question, recognised=reading.recognised)
        if not reading.text:
            return browse(self.catalogue, self.facet_table, self.provenance, question)
        question, ranking = self.rank(question, reading)
        if rerank is not None:
            passages = self._best_passages(ranking, question.mask)
            ranking = reranked(rerank, reading.text, ranking, question.mask, self.catalogue.cards, passages)
        return respond(self.catalogue, self.facet_table, self.provenance, question, self.ranker, ranking)

    def similar(
        self,
        *likes: str,
        unlike: Sequence[str] = (),
        text: str = "",
        where: Where = None,
        k: int = DEFAULT_K,
        offset: int = 0,
        min_band: Band | str | None = None,
        facets: bool = True,
        variant: Variant | str | None = None,
    ) -> SearchResult:
        """Find tasks like given ones, or like a pasted text, and unlike others; the given ones are left out.

        Args:
            likes: ids of tasks to be near to.
            unlike: ids of tasks to be far from.
            text: a task description to be near to.
            where: a filter expression or condition.
            k: the number of hits of this page.
            offset: the number of hits before this page.
            min_band: leave out hits below this band.
            facets: also count the facets.
            variant: what must differ from the given tasks: their domain, software or tier.

        Raises:
            QueryError: if there is nothing to be near to, or a task is on both sides.
            UnknownNameError: if there is no task of that id.
            FilterError: if the filter can't be understood.
        """
        text = clean_query(text)
        wanted = choice(Variant, variant, "variant") if variant is not None else None
        require_likeness(likes, unlike, text, wanted)
        near = [self.catalogue.row(task_id) for task_id in dict.fromkeys(likes)]
        far = [self.catalogue.row(task_id) for task_id in dict.fromkeys(unlike)]
        label = " ".join([*likes, *(f"-{task_id}" for task_id in unlike), text]).strip()
        condition = condition_of(where)
        page = Page.of(k, offset, Mode.DENSE, min_band, facets)
        question = Question.of(label, page, self.facet_table, self.names.named(label), condition, condition)
        if text:
            question = self._in_its_language(question, text)
        question = question.without(near + far)
        if wanted is not None:
            question = self._varied(question, near, wanted)
        scope = self._scope(question)
        pasted = None
        if text:
            scope = replace(scope, also=self.ranker.neighbours(near, scope))
            pasted = self._rank(text, Mode.HYBRID, question.language, scope)
        ranking = self.ranker.rank_similar(near, far, pasted, scope)
        if wanted is Variant.OTHER_DOMAIN and self.skills is not None:
            ranking = by_skills(ranking, near, self.skills)
        return respond(self.catalogue, self.facet_table, self.provenance, question, self.ranker, ranking)

    def _varied(self, question: Question, near: Sequence[int], variant: Variant) -> Question:
        """Keep the cards that differ from the given ones in the wanted way."""
        unwanted = np.flatnonzero(~variant_mask(self.catalogue.cards, near, variant))
        return question.without([*question.left_out, *unwanted.tolist()])

    def _best_passages(self, ranking: Ranking, mask: Mask) -> list[str]:
        """Return the text of the best passage of each card that may be read again, blank for others or none."""
        rows, space = ranking.best_passage, ranking.space or self.ranker.space
        texts = [""] * len(self.catalogue)
        if rows is None:
            return texts
        for card in ranking.order(ranking.fused, mask)[:DEPTH]:
            texts[card] = space.passages.passage(int(rows[card]), self.catalogue.cards).text
        return texts

    def facets(self, *, where: Where = None) -> tuple[Facet, ...]:
        """Count every facet's values, each under the other facets' selections.

        Raises:
            FilterError: if the filter can't be understood.
        """
        return self.facet_table.counts(condition=condition_of(where), matching=None)

    def rank(self, question: Question, reading: Reading) -> tuple[Question, Ranking]:
        """Rank a query, as a step from the task that it names if it names one.

        Args:
            question: the request.
            reading: its text as it was read.

        Returns:
            The question with its language, what was read, and without the task that it names; and the ranking.
        """
        question = self._in_its_language(question, question.query)
        if reading.relation is not None:
            step = self._step(question, reading.relation)
            if step is not None:
                return step
        scope = self._scope(question)
        return question, self._rank(reading.text, question.page.mode, question.language, scope)

    def _scope(self, question: Question) -> Scope:
        """Return which cards must be scored to answer a question."""
        page = question.page
        every = page.min_band is not None
        # Facets of the matching tasks also count those that a facet's own selection leaves out.
        mask = None if every and page.count_facets else question.mask
        if mask is not None and mask.all():
            mask = None
        return Scope(mask, max(page.offset + page.k, DEPTH), tuple(question.named), every)

    def _step(self, question: Question, relation: Relation) -> tuple[Question, Ranking] | None:
        """Rank as a step from the named task; None if no task clearly answers to the name."""
        mode, language = question.page.mode, question.language
        scope = self._scope(question)
        scope = replace(scope, wanted=scope.wanted + 1)  # the named task is left out of the page
        named = self._rank(relation.target, mode, language, scope, skills=False)
        exact = self.names.named(relation.target)
        row = min(exact) if exact else int(np.argmax(named.base(named.own)))
        scale = scales()[named.scale]
        if not exact and scale.band(float(scale.scores(named.base(named.fused), named.evidence)[row])) is Band.NONE:
            return None
        whole = f"{relation.rest} {relation.target}" if relation.rest else relation.target
        also = self.ranker.neighbours([row], scope)
        if relation.rest or also:
            wish = self._rank(whole, mode, language, replace(scope, also=(row, *also)), skills=False)
        else:
            wish = named
        preference = tier_preference(self.catalogue.cards, row, relation.direction)
        chip = Recognised(
            RELATION, relation.target, f"{relation.direction} than {self.catalogue.cards[row].title}", "", True
        )
        question = replace(question.without([row]), recognised=(*question.recognised, chip))
        return question, self.ranker.rank_step(named, wish, row, preference)

    def _in_its_language(self, question: Question, text: str) -> Question:
        """Return the question with its text's language, and what the user must know of that."""
        language = detect_language(text, self.speller.knows)
        return replace(question, language=language, notices=self.router.notices(language))

    def _rank(
        self, query: str, mode: Mode, language: str = ENGLISH, scope: Scope = EVERY_CARD, *, skills: bool = True
    ) -> Ranking:
        return self.router.rank(query, mode, language, partial(self._rank_english, scope=scope, skills=skills))

    def _rank_english(
        self, query: str, mode: Mode, *, also: Sequence[int] = (), scope: Scope = EVERY_CARD, skills: bool = True
    ) -> Ranking:
        scope = replace(scope, also=(*scope.also, *also))
        corrected = self.speller.correct(query)
        vector = None if mode is Mode.LEXICAL else self.vectors.of([corrected.text])[0]
        return self.ranker.rank(corrected.terms, vector, mode, unknown=corrected.unknown, skills=skills, scope=scope)
