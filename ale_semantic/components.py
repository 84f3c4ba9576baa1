"""The pieces of evidence for a card: what each is, what it weighs, and how they become one score."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from ale_semantic.beside import BESIDE
from ale_semantic.embeddings.encoder import Vectors
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.fusion import Scores, best_and_mean, standardise
from ale_semantic.query_vectors import QueryVector
from ale_semantic.skills import SkillTable
from ale_semantic.types import Field

BEST_PASSAGES = 3  # a card is as near as the mean of its few nearest passages: one alone is often a chance hit


class Component(StrEnum):
    """One piece of evidence for a card."""

    PASSAGES = "passages"  # mean cosine of the best few passages of any grain
    LATE = "late"  # late interaction over words in context
    OVERVIEW = "overview"  # cosine of title and summary
    SUBDOMAIN = "subdomain"  # cosine of the subdomain's name
    SKILLS = "skills"  # how much the card asks for the skills that the query is near to
    WORDS = "words"  # BM25


WEIGHTS: Mapping[Component, float] = {
    Component.PASSAGES: 0.4,
    Component.LATE: 0.4,
    Component.OVERVIEW: 0.1,
    Component.SUBDOMAIN: 0.1,
    Component.SKILLS: 0.2,
    Component.WORDS: 0.2,
}
# A query that is wholly about a skill weighs skills so much; it begins to be at the first cosine with a skill's
# nearest phrasing, and wholly is at the second.
SKILL_QUERY_WEIGHT = 0.5
SKILL_QUERY_COSINES = (0.4, 0.7)
_VIEWS = {Component.OVERVIEW: Field.OVERVIEW, Component.SUBDOMAIN: Field.SUBDOMAIN}


@dataclass(frozen=True, slots=True)
class View:
    """The passages of one field at its coarse grain: their rows, and the card of each."""

    rows: NDArray[np.int64]
    cards: NDArray[np.int32]

    def scores(self, cosines: Scores, cards: int, floor: float | None) -> Scores:
        """Return the best cosine of each card's passages of the field, shape (cards,).

        Args:
            cosines: the cosine of every passage.
            cards: the number of cards.
            floor: what a card without the field is given; by default the cosine of the farthest card with it.
        """
        scores = np.full(cards, -np.inf, dtype=np.float32)
        np.maximum.at(scores, self.cards, cosines[self.rows])
        found = np.isfinite(scores)
        scores[~found] = floor if floor is not None else scores[found].min(initial=1.0)
        return scores


def views_of(space: VectorSpace) -> dict[Component, View]:
    """Return the views of a space."""
    views = {}
    for component, field in _VIEWS.items():
        rows = space.passages.rows_of(field)
        views[component] = View(rows, space.passages.cards[rows])
    return views


@dataclass(frozen=True, slots=True)
class Seen:
    """What the encoder says of each card.

    Attributes:
        best: the cosine of its nearest passage, shape (cards,).
        passages: which passage that is, shape (cards,).
        components: the evidence by kind, shape (cards,) each.
        weights: what each kind weighs for this query.
    """

    best: Scores
    passages: NDArray[np.int64]
    components: dict[Component, Scores]
    weights: dict[Component, float]


def see(
    space: VectorSpace,
    views: Mapping[Component, View],
    skills: SkillTable | None,
    query: QueryVector,
    *,
    floors: Mapping[Component, float] | None = None,
) -> Seen:
    """Return what the encoder says of each card.

    Args:
        space: the cards' passages and vectors.
        views: of the space.
        skills: the cards' skills, if those that the query is near to are to take part.
        query: the query's vectors.
        floors: what a card without a view's field is given; by default the cosine of the farthest card with it.
    """
    beside = BESIDE.start(_by_query_vector, space, views, skills, query.vector, floors)
    late = space.late.scores(query.tokens)  # here, where it begins at once: it takes longer than all the rest
    best, passages, near, by_field, asked = beside()
    weights = dict(WEIGHTS)
    components = {Component.PASSAGES: near, Component.LATE: late, **by_field}
    if asked is not None:
        components[Component.SKILLS], nearness = asked
        first, whole = SKILL_QUERY_COSINES
        share = min(max((nearness - first) / (whole - first), 0.0), 1.0)
        usual = WEIGHTS[Component.SKILLS]
        weights[Component.SKILLS] = usual + (SKILL_QUERY_WEIGHT - usual) * share
    return Seen(best, passages, components, weights)


def _by_query_vector(
    space: VectorSpace,
    views: Mapping[Component, View],
    skills: SkillTable | None,
    vector: Vectors,
    floors: Mapping[Component, float] | None,
) -> tuple[Scores, NDArray[np.int64], Scores, dict[Component, Scores], tuple[Scores, float] | None]:
    """Return each card's best cosine, its row, the mean of the best few, those by field, and the skills asked for."""
    cosines = space.backend.scores(vector[None, :], None)[0]
    best, passages, near = best_and_mean(cosines, space.starts, BEST_PASSAGES)
    cards = len(space.starts) - 1
    by_field = {name: view.scores(cosines, cards, floors[name] if floors else None) for name, view in views.items()}
    return best, passages, near, by_field, skills.ranking_evidence(vector) if skills is not None else None


def fuse(components: Mapping[Component, Scores], weights: Mapping[Component, float]) -> Scores:
    """Return the standardised weighted sum of the standardised components, shape (cards,)."""
    scores = np.array(list(components.values()), dtype=np.float32)
    shares = np.array([weights[name] for name in components], dtype=np.float32)
    return standardise((shares[:, None] * standardise(scores)).sum(axis=0))
