"""Topics: a list of the user's own, such as a syllabus, and how well the tasks cover it."""

from __future__ import annotations

from collections import Counter

from ale_semantic.curriculum import Curriculum, coverage, read_topics
from ale_semantic.errors import CurriculumError
from ale_semantic.types import Band

from ..labels import plural
from ..state import State
from .asking import Answer, Ask, CurriculumView, Example

MOST = 100  # topics: each is a search, and the answer should be there in two seconds


def answer(ask: Ask) -> Answer | None:
    """Return the best task for each topic, or None before there is one.

    Raises:
        CurriculumError: if there are too many topics.
        LimitError: if the filter leaves no task.
    """
    if not ask.given.text("topics"):
        return None
    topics = read_topics(ask.given.text("topics"))
    if len(topics) > MOST:
        raise CurriculumError(
            f"the list holds {len(topics)} topics; at most {MOST} are looked up here. "
            "For more, use: ale-semantic curriculum coverage --topics FILE"
        )
    result = coverage(ask.site.engine, pool=ask.pool, topics=topics)
    search = State(chosen=ask.state.chosen, missing=ask.state.missing, where=ask.state.where)
    bands = Counter(topic.band for topic in result.topics)
    has_list = bands[Band.STRONG] + bands[Band.WEAK] > 0
    return Answer(
        record=result,
        shown={
            "topics": [(topic, search.link(query=topic.topic)) for topic in result.topics],
            "covered": bands[Band.STRONG],
            "weak": bands[Band.WEAK],
            "missing": bands[Band.NONE],
        },
        status=f"{bands[Band.STRONG]} of {plural(len(topics), 'topic')} covered",
        lists=(Curriculum.of_topics(result),) if has_list else (),
    )


def examples(ask: Ask) -> list[Example]:
    """Return lists that show what a syllabus gives."""
    topics = (*ask.site.examples()[:4], "tune a violin by ear")
    return [Example("A short syllabus", ask.fresh(CurriculumView.TOPICS, topics="\n".join(topics)))]
