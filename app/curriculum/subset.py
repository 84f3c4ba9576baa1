"""Subset: a few tasks that stand for the whole catalogue, a filter or a topic."""

from __future__ import annotations

from typing import Any

from ale_semantic.curriculum import Curriculum, Quota, SubsetRequest
from ale_semantic.curriculum import subset as choose

from ..labels import plural
from .asking import Answer, Ask, CurriculumView, Example

USUAL = 20
MOST = 200  # tasks; more than a person reads, and the choice takes longer than two seconds
QUOTAS = (
    ("at least 3 of last-exam", "tier=last-exam:3.."),
    ("at most 5 of near-term", "tier=near-term:..5"),
    ("at most 3 of each domain", "domain=*:..3"),
    ("at least 2 on Windows", "os=windows:2.."),
)


def request_of(ask: Ask) -> SubsetRequest:
    """Return which choice the address asks for.

    Raises:
        CurriculumError: if a quota can't be read.
    """
    given = ask.given
    return SubsetRequest(
        k=given.whole("k", 1, MOST) or min(USUAL, len(ask.cards)),
        pool=ask.pool,
        topic=given.text("topic"),
        quotas=tuple(dict.fromkeys(map(Quota.parse, _quota_lines(ask)))),
        must=tuple(dict.fromkeys(map(ask.site.task_id, given.all("must")))),
        allow_twins=given.flag("twins"),
    )


def parameters_of(request: SubsetRequest) -> dict[str, Any]:
    """Return the parameters that ask for a choice."""
    return {
        "view": CurriculumView.SUBSET,
        "k": request.k,
        "topic": request.topic,
        "quota": "\n".join(map(str, request.quotas)),
        "must": request.must,
        "twins": request.allow_twins,
    }


def answer(ask: Ask) -> Answer | None:
    """Return the choice, or None before one is asked for.

    Raises:
        LimitError: if size, quotas and lists can't be met together.
    """
    if not ask.given.has_any("k", "topic", "quota", "must"):
        return None
    result = choose(ask.site.engine, request_of(ask))
    return Answer(
        record=result,
        shown={"result": result},
        status=f"{plural(len(result.picks), 'task')}, coverage {result.coverage:.0%}",
        lists=(Curriculum.of_subset(result),),
        notices=result.notices,
    )


def quota_links(ask: Ask) -> list[Example]:
    """Return quotas to add by a click, without those that are set."""
    present = _quota_lines(ask)
    size = ask.given.text("k") or str(min(USUAL, len(ask.cards)))
    return [
        Example(label, ask.link(view=CurriculumView.SUBSET, k=size, quota="\n".join([*present, quota])))
        for label, quota in QUOTAS
        if quota not in present
    ]


def examples(ask: Ask) -> list[Example]:
    """Return choices that this catalogue has."""
    size = min(USUAL, len(ask.cards))
    whole = Example(f"{size} tasks for the whole catalogue", ask.fresh(CurriculumView.SUBSET, k=size))
    few = max(1, min(10, len(ask.cards)))
    return [
        whole,
        *(
            Example(f"{few} tasks about “{topic}”", ask.fresh(CurriculumView.SUBSET, k=few, topic=topic))
            for topic in ask.site.examples()[:2]
        ),
    ]


def _quota_lines(ask: Ask) -> list[str]:
    return [line.strip() for text in ask.given.all("quota") for line in text.splitlines() if line.strip()]
