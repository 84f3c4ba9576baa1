"""Why a hit is there: its best passage, the words it shares with the query, each leg's score and rank."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ale_semantic.analysis import STOP_WORDS, query_words, stem, words
from ale_semantic.fusion import Mask, Scores, ranks
from ale_semantic.ranking import Ranker, Ranking, Stage
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
    roots = {word: stem(word) for word in query_words(query) if word not in STOP_WORDS}
    holders = {word: _of_page(page, ranker.lexical.cards_with(root)) for word, root in roots.items()}
    dense = _dense_legs(ranking, mask, page)
    lexical = _legs(ranking.lexical, mask & (ranking.lexical > 0) if ranking.lexical is not None else mask, page)
    passages = _dense_passages(page, cards, ranker, ranking)
    reasons = []
    for place, row in enumerate(page.tolist()):
        matched = tuple(word for word in roots if row in holders[word])
        passage = passages[place] or _lexical_passage(cards[row], {roots[word] for word in matched})
        reasons.append(Why(passage, matched, dense[place], lexical[place], notes.get(row)))
    return reasons


def _of_page(page: NDArray[np.int64], rows: NDArray[np.int32]) -> set[int]:
    """Return which of a page's rows are among some rows, given in ascending order."""
    if not len(rows):
        return set()
    places = np.minimum(np.searchsorted(rows, page), len(rows) - 1)
    return set(page[rows[places] == page].tolist())


def _dense_legs(ranking: Ranking, mask: Mask, page: NDArray[np.int64]) -> list[LegScore | None]:
    """Return what the dense leg says of each card of a page; ranks count the cards scored no later than it was.

    So a deeper page, for which more cards are scored, says the same of those before it.
    """
    if ranking.stages is None:
        return _legs(ranking.dense, mask, page)
    found: dict[int, LegScore | None] = {}
    own = np.maximum(ranking.stages[page], Stage.PASSING)
    for stage in np.unique(own):
        rows = page[own == stage]
        found.update(zip(rows.tolist(), _legs(ranking.dense, mask & (ranking.stages <= stage), rows), strict=True))
    return [found[row] for row in page.tolist()]


def _legs(scores: Scores | None, mask: Mask, page: NDArray[np.int64]) -> list[LegScore | None]:
    """Return what a leg says of each card of a page; None of those that it missed."""
    if scores is None:
        return [None] * len(page)
    pairs = zip(scores[page].tolist(), ranks(scores, mask, page)[page].tolist(), strict=True)
    return [LegScore(score, rank) if rank else None for score, rank in pairs]


def _dense_passages(
    page: NDArray[np.int64], cards: Sequence[TaskCard], ranker: Ranker, ranking: Ranking
) -> list[PassageMatch | None]:
    """Return the passage of each card of a page that is nearest to the query, where one is known."""
    if ranking.best_passage is None or ranking.dense is None:
        return [None] * len(page)
    table = (ranking.space or ranker.space).passages
    found: list[PassageMatch | None] = []
    for row, cosine in zip(ranking.best_passage[page].tolist(), ranking.dense[page].tolist(), strict=True):
        passage = table.passage(row, cards) if row >= 0 else None
        found.append(PassageMatch(passage.field, passage.text, cosine) if passage else None)
    return found


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
