"""Curriculum design: ladders, paths, subsets, splits, coverage, duplicates, prerequisites, files and diffs.

Each function takes an `Engine` and a frozen request, and returns a frozen result with `to_dict()`. What can't be met
is refused with a `LimitError` that names the limit and offers the nearest. docs/curriculum.md shows them all.
"""

from ale_semantic.curriculum.checks import CheckResult, Problem, check
from ale_semantic.curriculum.coverage import Cell, CoverageResult, TopicCoverage, coverage, read_topics
from ale_semantic.curriculum.diffs import CatalogueDiff, compare, compare_engines
from ale_semantic.curriculum.documents import Constraints, Curriculum, CurriculumTask
from ale_semantic.curriculum.duplicates import DuplicateReport, LeakReport, TwinThresholds, duplicates, leaks
from ale_semantic.curriculum.exports import SkillRow, chart, markdown, skill_steps, task_list
from ale_semantic.curriculum.ladders import Ladder, LadderRequest, LadderResult, ladders
from ale_semantic.curriculum.own_tasks import OwnTask, parse_own_tasks, read_own_tasks
from ale_semantic.curriculum.path_request import PathRequest, PathResult, Step
from ale_semantic.curriculum.paths import path
from ale_semantic.curriculum.prerequisites import PrerequisiteResult, prerequisites
from ale_semantic.curriculum.quotas import Quota
from ale_semantic.curriculum.records import Pool, TaskRef
from ale_semantic.curriculum.splits import SplitRequest, SplitResult, split
from ale_semantic.curriculum.subsets import SubsetRequest, SubsetResult, subset
from ale_semantic.errors import LimitError
from ale_semantic.types import FailedLimit

__all__ = [
    "CatalogueDiff",
    "Cell",
    "CheckResult",
    "Constraints",
    "CoverageResult",
    "Curriculum",
    "CurriculumTask",
    "DuplicateReport",
    "FailedLimit",
    "Ladder",
    "LadderRequest",
    "LadderResult",
    "LeakReport",
    "LimitError",
    "OwnTask",
    "PathRequest",
    "PathResult",
    "Pool",
    "PrerequisiteResult",
    "Problem",
    "Quota",
    "SkillRow",
    "SplitRequest",
    "SplitResult",
    "Step",
    "SubsetRequest",
    "SubsetResult",
    "TaskRef",
    "TopicCoverage",
    "TwinThresholds",
    "chart",
    "check",
    "compare",
    "compare_engines",
    "coverage",
    "duplicates",
    "ladders",
    "leaks",
    "markdown",
    "parse_own_tasks",
    "path",
    "prerequisites",
    "read_own_tasks",
    "read_topics",
    "skill_steps",
    "split",
    "subset",
    "task_list",
]
