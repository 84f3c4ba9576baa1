"""What a request for a curriculum may say: the options of `ale-semantic curriculum`, bounded."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from pydantic import Field, model_validator

from ale_semantic.curriculum import Pool, Quota, TwinThresholds
from ale_semantic.curriculum.ladders import RUNG_CLOSENESS
from ale_semantic.curriculum.own_tasks import OwnTask, parse_own_tasks
from ale_semantic.curriculum.path_request import MOST_STEPS
from ale_semantic.types import OperatingSystem, Tier

from .parameters import CommaNames, Name, Parameters, QueryText, Text, WhereText
from .strict_json import Count, Number, strict_json

MAX_OWN_TASKS = 256
MAX_OWN_CHARACTERS = 200_000
MAX_TOPICS = 100
MAX_PAIRS = 500
MAX_CARDS = 1_000
MAX_DOCUMENT = 100_000  # characters of a curriculum file
_MAX_QUOTAS = 50
_MAX_TOPIC = 1_000
_MOST_SKILLS = 50

TopicText = Annotated[Text, Field(max_length=_MAX_TOPIC)]
Closeness = Annotated[Number, Field(ge=-1, le=1)]
Threshold = Annotated[Number, Field(ge=0.001, le=10)]  # the least that the library takes
TaskId = Annotated[Text, Field(min_length=1, max_length=200)]


class Form(StrEnum):
    """How a curriculum is answered."""

    JSON = "json"  # the whole result
    YAML = "yaml"  # a curriculum file, to be edited and checked again
    TASKS = "tasks"  # the ids one a line: ALE's selected_tasks
    MARKDOWN = "markdown"


class ExportForm(StrEnum):
    """What a curriculum file is written as."""

    TASKS = "tasks"
    MARKDOWN = "markdown"
    SVG = "svg"


class OwnKind(StrEnum):
    """How the user's own tasks are written."""

    JSONL = "jsonl"
    CSV = "csv"
    TEXT = "text"


class PoolParameters(Parameters):
    """Which tasks may be taken."""

    where: WhereText = ""
    domain: CommaNames = Field(default=[], description="Take tasks of these domains.")
    os: Annotated[list[OperatingSystem], Field(max_length=3)] = Field(
        default=[], description="Take tasks of these systems."
    )
    exclude: CommaNames = Field(default=[], description="Ids to leave out.")

    def pool(self) -> Pool:
        """Return the pool."""
        return Pool(
            where=self.where,
            domains=tuple(self.domain),
            systems=tuple(map(str, self.os)),
            exclude=tuple(self.exclude),
        )


class FormParameters(PoolParameters):
    """Which tasks may be taken, and how the answer is written."""

    form: Form = Field(default=Form.JSON, description="`json`: the whole result; others: the curriculum it makes.")


class LadderParameters(FormParameters):
    """The same work at rising difficulty."""

    task: Annotated[Text, Field(max_length=200)] = Field(default="", description="A task's id; blank: all ladders.")
    min_closeness: Closeness = Field(
        default=RUNG_CLOSENESS, description="How close two rungs must be; 0 is chance level."
    )


class PathParameters(FormParameters):
    """From a start to a goal; tiers never fall."""

    start: TopicText = Field(default="", description="A task's id or a topic; blank starts anywhere.")
    goal: TopicText = Field(
        default="",
        description="A task's id or a topic; blank leads to the hardest tasks.",
        examples=["warehouse planning"],
    )
    skill: Annotated[Text, Field(max_length=200)] = Field(default="", description="A skill to teach, not with `goal`.")
    length: Annotated[Count, Field(ge=2, le=MOST_STEPS)] | None = Field(
        default=None, description="Number of tasks; by default near six."
    )
    start_tier: Tier | None = Field(default=None, description="Tier of the first task.")
    goal_tier: Tier | None = Field(default=None, description="Tier of the last task.")
    min_step: Closeness | None = Field(default=None, description="Least closeness of neighbours; 0 is chance level.")
    max_step: Closeness = Field(default=1.0, description="Greatest closeness of neighbours.")
    max_new_skills: Annotated[Count, Field(ge=0, le=_MOST_SKILLS)] | None = Field(
        default=None, description="New skills a step may bring."
    )
    max_tier_jump: Annotated[Count, Field(ge=0, le=2)] = Field(default=1, description="Tiers that one step may rise.")
    allow_twins: bool = Field(default=False, description="Near twins may both be taken.")


class SubsetParameters(FormParameters):
    """Tasks that together stand for the pool."""

    k: Annotated[Count, Field(ge=1)] = Field(default=20, description="Number of tasks.")
    topic: TopicText = Field(default="", description="Stand for tasks near this topic.")
    quota: Annotated[list[Name], Field(max_length=_MAX_QUOTAS)] = Field(
        default=[], description="`tier=last-exam:5..`, `domain=*:..3` and the like.", examples=[["tier=last-exam:2.."]]
    )
    must: CommaNames = Field(default=[], description="Ids that are taken in any case.")
    cover: CommaNames = Field(default=["domain"], description="Fields of which each value is met where k allows it.")
    allow_twins: bool = Field(default=False, description="Near twins may both be taken.")

    def quotas(self) -> tuple[Quota, ...]:
        """Return the quotas.

        Raises:
            CurriculumError: if one can't be read.
        """
        return tuple(map(Quota.parse, self.quota))


class ThresholdParameters(Parameters):
    """From where on two tasks are near twins."""

    wording: Threshold = Field(default=TwinThresholds().wording, description="Shared wording of near twins.")
    closeness: Threshold = Field(default=TwinThresholds().closeness, description="Closeness of near twins.")

    def thresholds(self) -> TwinThresholds:
        """Return the thresholds."""
        return TwinThresholds(wording=self.wording, closeness=self.closeness)


class SplitParameters(ThresholdParameters, PoolParameters):
    """Train and test tasks without a near twin on the other side."""

    test: Annotated[Number, Field(gt=0, lt=1)] = Field(default=0.2, description="Share of test tasks.")
    balance: Annotated[CommaNames, Field(max_length=6)] = Field(
        default=["domain", "tier"], description="Fields with equal shares on both sides."
    )
    seed: Annotated[Count, Field(ge=0, le=2**32 - 1)] = Field(
        default=0, description="Draws among equally balanced splits."
    )


class CoverageParameters(PoolParameters):
    """Counts by domain, tier and skill; how well topics are covered."""

    topic: Annotated[list[TopicText], Field(max_length=MAX_TOPICS)] = Field(
        default=[], description="Topics of a syllabus, each in any words.", examples=[["lease accounting"]]
    )


class DuplicateParameters(ThresholdParameters, PoolParameters):
    """Near-duplicate pairs."""

    weak: bool = Field(default=False, description="Also list pairs that are worth a look.")
    most: Annotated[Count, Field(ge=1, le=MAX_PAIRS)] = Field(default=100, description="List no more pairs than this.")


class PrerequisiteParameters(PoolParameters):
    """What a task needs, and what it opens up."""

    task: TaskId = Field(description="The task's id.")
    shown: Annotated[Count, Field(ge=1, le=50)] = Field(default=5, description="Tasks named for each skill and list.")


class GivenTask(Parameters):
    """One of the user's own tasks."""

    name: Name
    text: Annotated[QueryText, Field(min_length=1)]


@strict_json
class LeakParameters(ThresholdParameters):
    """The user's own tasks, as a list or as the content of a file, to be compared with the catalogue."""

    tasks: Annotated[list[GivenTask], Field(max_length=MAX_OWN_TASKS)] = Field(default=[])
    content: Annotated[Text, Field(max_length=MAX_OWN_CHARACTERS)] = Field(
        default="", description="A file of tasks, instead of `tasks`."
    )
    kind: OwnKind = Field(default=OwnKind.TEXT, description="How `content` is written; text has a task a paragraph.")

    @model_validator(mode="after")
    def _one_of_both(self) -> LeakParameters:
        if bool(self.tasks) == bool(self.content.strip()):
            raise ValueError("give the tasks either as `tasks` or as `content`")
        return self

    def own(self) -> tuple[OwnTask, ...]:
        """Return the tasks.

        Raises:
            CurriculumError: if the content can't be read.
        """
        if self.tasks:
            return tuple(OwnTask(task.name, task.text) for task in self.tasks)
        return parse_own_tasks(self.content, kind=str(self.kind), name="content")


@strict_json
class DiffParameters(Parameters):
    """Another catalogue, to be compared with the one that is served."""

    cards: Annotated[list[dict[str, object]], Field(min_length=1, max_length=MAX_CARDS)] = Field(
        description="The other catalogue's cards, in the columns of the public table."
    )
    curricula: Annotated[list[Annotated[Text, Field(max_length=MAX_DOCUMENT)]], Field(max_length=10)] = Field(
        default=[], description="Curriculum files (YAML) to check on both."
    )
    served_is_new: bool = Field(default=False, description="The catalogue that is served is the newer one.")


class ExportParameters(Parameters):
    """What to write a curriculum file as."""

    form: ExportForm = Field(default=ExportForm.TASKS, description="`tasks`: ALE's selected_tasks, an id a line.")
