"""Why a hit is there: its best passage, the words it shares with the query, each leg's score and rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ale_semantic.analysis import STOP_WORDS, stem, words
from ale_semantic.fusion import Mask, Scores, ranks
from ale_semantic.ranking import Ranker, Ranking
from ale_semantic.texts import SEARCHED_FIELDS, field_text, sentences
from ale_semantic.types import Field, LegScore, PassageMatch, TaskCard, Why


def explain(
    query: str,
    cards: Sequence[TaskCard],
    page: NDArray[np.int64],
    ranker: Ranker,
    ranking: Ranking,
    mask: Mask,
    notes: Mapping[int, str],
) -> list[Why]:
    """Return the reasons for each card of a page of hits.

    Args:
        query: the query.
        cards: all cards.
        page: the rows of the hits.
        ranker: what ranked them.
        ranking: the scores of all cards.
        mask: the cards that pass the filter; ranks count among them.
        notes: a remark for some rows.
    """
    query_words = {word: stem(word) for word in words(query) if word not in STOP_WORDS}
    holders = {word: _of_page(page, ranker.lexical.cards_with(root)) for word, root in query_words.items()}
    dense_ranks = ranks(ranking.dense, mask, page) if ranking.dense is not None else None
    lexical_ranks = ranks(ranking.lexical, mask & (ranking.lexical > 0), page) if ranking.lexical is not None else None
    reasons = []
    for row in page:
        card = cards[row]
        matched = tuple(word for word in query_words if int(row) in holders[word])
        stems = {query_words[word] for word in matched}
        passage = _dense_passage(int(row), cards, ranker, ranking) or _lexical_passage(card, stems)
        reasons.append(
            Why(
                passage=passage,
                matched_words=matched,
                dense=_leg(ranking.dense, dense_ranks, int(row)),
                lexical=_leg(ranking.lexical, lexical_ranks, int(row)),
                note=notes.get(int(row)),
            )
        )
    return reasons


def _of_page(page: NDArray[np.int64], rows: NDArray[np.int32]) -> set[int]:
    """Return which of a page's rows are among some rows, given in ascending order."""
    if not len(rows):
        return set()
    places = np.minimum(np.searchsorted(rows, page), len(rows) - 1)
    return set(page[rows[places] == page].tolist())


def _leg(scores: Scores | None, places: NDArray[np.int64] | None, row: int) -> LegScore | None:
    if scores is None or places is None or places[row] == 0:
        return None
    return LegScore(score=float(scores[row]), rank=int(places[row]))


def _dense_passage(row: int, cards: Sequence[TaskCard], ranker: Ranker, ranking: Ranking) -> PassageMatch | None:
    if ranking.best_passage is None or ranking.dense is None or ranking.best_passage[row] < 0:
        return None
    passage = (ranking.space or ranker.space).passages.passage(int(ranking.best_passage[row]), cards)
    return PassageMatch(field=passage.field, text=passage.text, cosine=float(ranking.dense[row]))


def _lexical_passage(card: TaskCard, stems: set[str]) -> PassageMatch | None:
    """Return the sentence with most of the matched words, the first of equals."""
    best: tuple[int, Field, str] | None = None
    for field in SEARCHED_FIELDS:
        text = field_text(card, field)
        for start, end in sentences(text):
            count = len(stems & {stem(word) for word in words(text[start:end])})
            if count and (best is None or count > best[0]):
                best = (count, field, text[start:end])
    return PassageMatch(field=best[1], text=best[2], cosine=None) if best else None
