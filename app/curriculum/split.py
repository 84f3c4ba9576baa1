"""Split: train and test tasks without a near twin on the other side."""

from __future__ import annotations

from ale_semantic.curriculum import Curriculum, SplitRequest
from ale_semantic.curriculum import split as split_tasks

from ..labels import plural
from .asking import Answer, Ask, CurriculumView, Example
from .duplicates import thresholds_of

USUAL = 20  # per cent


def request_of(ask: Ask) -> SplitRequest:
    """Return which split the address asks for; the share stands there in per cent."""
    share, limits = ask.given.whole("test", 1, 99) or USUAL, thresholds_of(ask)
    return SplitRequest(
        test=share / 100,
        pool=ask.pool,
        wording=limits.wording,
        closeness=limits.closeness,
        seed=ask.given.whole("seed", 0, 99_999_999) or 0,
    )


def answer(ask: Ask) -> Answer | None:
    """Return the split, or None before one is asked for.

    Raises:
        LimitError: if no split has tasks on both sides.
    """
    if not ask.given.has_any("test", "seed"):
        return None
    request = request_of(ask)
    result = split_tasks(ask.site.engine, request)
    return Answer(
        record=result,
        shown={"result": result, "again": ask.link(view=CurriculumView.SPLIT, seed=request.seed + 1)},
        status=f"{plural(len(result.train), 'task')} to train, {len(result.test)} to test",
        lists=(Curriculum.of_split(result, test=False), Curriculum.of_split(result, test=True)),
    )


def examples(ask: Ask) -> list[Example]:
    """Return usual shares."""
    return [
        Example(f"{share} % held out for the test", ask.fresh(CurriculumView.SPLIT, test=share))
        for share in (10, 20, 50)
    ]
