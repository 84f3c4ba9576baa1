"""The kinds of curricula that have a GET and a POST route each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ale_semantic.curriculum import (
    CoverageResult,
    Curriculum,
    DuplicateReport,
    LadderResult,
    PathResult,
    PrerequisiteResult,
    SplitResult,
    SubsetResult,
)
from ale_semantic.curriculum.records import Record
from ale_semantic.engine import Engine

from . import curriculum_answers as answers
from . import curriculum_parameters as parameters
from .curriculum_parameters import ExportForm, Form
from .parameters import Parameters

MEDIA_TYPES = {
    Form.YAML: "application/yaml",
    Form.TASKS: "text/plain",
    Form.MARKDOWN: "text/markdown",
    ExportForm.TASKS: "text/plain",
    ExportForm.MARKDOWN: "text/markdown",
    ExportForm.SVG: "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Design:
    """One kind of curriculum: its address, what may be asked, how it is answered, and as what curriculum."""

    name: str
    summary: str
    description: str
    asked: type[Parameters]
    answered: type[Record]
    find: Callable[[Engine, Any], Record]
    curriculum: Callable[[Any], Curriculum] | None = None


DESIGNS = (
    Design(
        "ladders",
        "The same work at rising difficulty",
        "Finds all ladders of the pool, or the one that a task stands on, with its next rung up and down.",
        parameters.LadderParameters,
        LadderResult,
        answers.find_ladders,
        answers.ladder_curriculum,
    ),
    Design(
        "path",
        "An ordered path from a start to a goal",
        "Tiers never fall, and each step builds on the one before. If nothing meets the limits, the refusal names "
        "them (`failed`) and offers the nearest path (`offer`).",
        parameters.PathParameters,
        PathResult,
        answers.find_path,
        Curriculum.of_path,
    ),
    Design(
        "subset",
        "Tasks that stand for all others",
        "Chooses k tasks that together stand for the pool or a topic, under quotas and lists. If they can't be met "
        "together, the refusal names those that fail (`failed`) and offers the nearest choice (`offer`).",
        parameters.SubsetParameters,
        SubsetResult,
        answers.find_subset,
        Curriculum.of_subset,
    ),
    Design(
        "split",
        "Train and test tasks that don't leak",
        "No near twin stands on the other side, and both sides are alike in the balanced fields.",
        parameters.SplitParameters,
        SplitResult,
        answers.find_split,
    ),
    Design(
        "coverage",
        "Counts by domain, tier and skill; topics and gaps",
        "Counts the pool, and tells of each topic of a list whether a task covers it well, weakly or not at all.",
        parameters.CoverageParameters,
        CoverageResult,
        answers.find_coverage,
    ),
    Design(
        "duplicates",
        "Near-duplicate pairs",
        "Lists pairs of tasks that are alike in wording or meaning, with the text they share.",
        parameters.DuplicateParameters,
        DuplicateReport,
        answers.find_duplicates,
    ),
    Design(
        "prerequisites",
        "What a task needs and what it opens up",
        "Names the skills of a task, the tasks that train them before it, and those that come after it.",
        parameters.PrerequisiteParameters,
        PrerequisiteResult,
        answers.find_prerequisites,
    ),
)
