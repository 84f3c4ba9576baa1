"""The commands of `ale-semantic curriculum` that design: ladder, path, subset, split, coverage, prerequisites."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ale_semantic.cli import curriculum_files
from ale_semantic.cli.curriculum_files import answer
from ale_semantic.cli.options import (
    ClosenessOption,
    DomainOption,
    ExcludeOption,
    ForceOption,
    IndexOption,
    JsonOption,
    OutOption,
    SystemOption,
    TwinsOption,
    WhereOption,
    WordingOption,
    open_engine,
    pool_of,
    thresholds_of,
)
from ale_semantic.errors import AleSemanticError
from ale_semantic.types import Tier

if TYPE_CHECKING:
    from ale_semantic.curriculum import Curriculum

app = typer.Typer(
    name="curriculum",
    help="Design curricula: ladders, paths, subsets, splits, coverage, duplicates, prerequisites, files, diffs.",
    no_args_is_help=True,
)


def ladder(
    task: Annotated[str, typer.Argument(help="Id of a task; blank finds all ladders.")] = "",
    min_closeness: Annotated[float | None, typer.Option(help="How close two rungs must be; 0 is chance level.")] = None,
    where: WhereOption = "",
    domain: DomainOption = None,
    system: SystemOption = None,
    exclude: ExcludeOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find tasks of the same work at rising difficulty.

    Examples:

        ale-semantic curriculum ladder business_finance/ar_full_300

        ale-semantic curriculum ladder --domain life_sciences
    """
    from ale_semantic.curriculum import Curriculum, LadderRequest, ladders
    from ale_semantic.curriculum.ladders import RUNG_CLOSENESS
    from ale_semantic.curriculum.views import ladders_view

    least = RUNG_CLOSENESS if min_closeness is None else min_closeness
    asked = LadderRequest(task=task, pool=pool_of(where, domain, system, exclude), min_closeness=least)
    result = ladders(open_engine(index), asked)
    if out is not None:
        if len(result.ladders) != 1:
            raise AleSemanticError(f"--out saves one ladder, and there are {len(result.ladders)}: name a task")
        _save(Curriculum.of_ladder(result.ladders[0], result.provenance), out, force=force)
    answer(result, ladders_view, as_json)


def path(
    start: Annotated[str, typer.Option("--from", help="A task's id, or a topic; blank starts anywhere.")] = "",
    goal: Annotated[str, typer.Option("--to", help="A task's id, or a topic; blank leads to the hardest tasks.")] = "",
    skill: Annotated[str, typer.Option(help="A skill to teach, instead of --to.")] = "",
    length: Annotated[int | None, typer.Option(help="Number of tasks; by default near six.")] = None,
    from_tier: Annotated[Tier | None, typer.Option(help="Tier of the first task.")] = None,
    to_tier: Annotated[Tier | None, typer.Option(help="Tier of the last task.")] = None,
    min_step: Annotated[float | None, typer.Option(help="Least closeness of neighbours; 0 is chance level.")] = None,
    max_step: Annotated[float, typer.Option(help="Greatest closeness of neighbours.")] = 1.0,
    max_new_skills: Annotated[int | None, typer.Option(help="New skills a step may bring.")] = None,
    max_tier_jump: Annotated[int, typer.Option(help="Tiers that one step may rise.")] = 1,
    allow_twins: TwinsOption = False,
    where: WhereOption = "",
    domain: DomainOption = None,
    system: SystemOption = None,
    exclude: ExcludeOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find a path from a start to a goal; tiers never fall, and each step builds on the one before.

    Examples:

        ale-semantic curriculum path --to "medical imaging"

        ale-semantic curriculum path --domain engineering --from-tier near-term --to-tier last-exam -o path.yaml
    """
    from ale_semantic.curriculum import Curriculum, PathRequest
    from ale_semantic.curriculum import path as find_path
    from ale_semantic.curriculum.views import path_view

    asked = PathRequest(
        start=start,
        goal=goal,
        skill=skill,
        length=length,
        start_tier=from_tier,
        goal_tier=to_tier,
        min_step=min_step,
        max_step=max_step,
        max_new_skills=max_new_skills,
        max_tier_jump=max_tier_jump,
        pool=pool_of(where, domain, system, exclude),
        allow_twins=allow_twins,
    )
    result = find_path(open_engine(index), asked)
    if out is not None:
        _save(Curriculum.of_path(result), out, force=force)
    answer(result, path_view, as_json)


def subset(
    k: Annotated[int, typer.Option("--k", "-k", help="Number of tasks.")] = 20,
    topic: Annotated[str, typer.Option(help="Stand for tasks near this topic.")] = "",
    quota: Annotated[
        list[str] | None, typer.Option(help="E.g. tier=last-exam:5.. or domain=*:..3 (repeatable).")
    ] = None,
    must: Annotated[list[str] | None, typer.Option(help="Id that is taken in any case (repeatable).")] = None,
    cover: Annotated[list[str] | None, typer.Option(help="Field of which each value is met; default: domain.")] = None,
    allow_twins: TwinsOption = False,
    where: WhereOption = "",
    domain: DomainOption = None,
    system: SystemOption = None,
    exclude: ExcludeOption = None,
    out: OutOption = None,
    force: ForceOption = False,
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """Choose tasks that together stand for the catalogue, a filter or a topic.

    Examples:

        ale-semantic curriculum subset -k 20

        ale-semantic curriculum subset -k 10 --quota tier=last-exam:3.. --must legal/legal_dr_fees_01
    """
    from ale_semantic.curriculum import Curriculum, Quota, SubsetRequest
    from ale_semantic.curriculum import subset as choose
    from ale_semantic.curriculum.views import subset_view

    asked = SubsetRequest(
        k=k,
        pool=pool_of(where, domain, system, exclude),
        topic=topic,
        quotas=tuple(map(Quota.parse, quota or ())),
        must=tuple(must or ()),
        cover=tuple(cover) if cover is not None else ("domain",),
        allow_twins=allow_twins,
    )
    result = choose(open_engine(index), asked)
    if out is not None:
        _save(Curriculum.of_subset(result), out, force=force)
    answer(result, subset_view, as_json)


def split(
    test: Annotated[float, typer.Option(help="Share of test tasks.")] = 0.2,
    balance: Annotated[list[str] | None, typer.Option(help="Field to balance; default: domain, tier.")] = None,
    wording: WordingOption = None,
    closeness: ClosenessOption = None,
    seed: Annotated[int, typer.Option(help="Another seed gives another split.")] = 0,
    where: WhereOption = "",
    domain: DomainOption = None,
    system: SystemOption = None,
    exclude: ExcludeOption = None,
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """Split tasks into train and test so that no near twin stands on the other side.

    Example:

        ale-semantic curriculum split --test 0.2 --json
    """
    from ale_semantic.curriculum import SplitRequest
    from ale_semantic.curriculum import split as split_tasks
    from ale_semantic.curriculum.views import split_view

    twins = thresholds_of(wording, closeness)
    asked = SplitRequest(
        test=test,
        pool=pool_of(where, domain, system, exclude),
        balance=tuple(balance) if balance is not None else ("domain", "tier"),
        wording=twins.wording,
        closeness=twins.closeness,
        seed=seed,
    )
    answer(split_tasks(open_engine(index), asked), split_view, as_json)


def coverage(
    topics: Annotated[Path | None, typer.Option(help="File of topics, one a line.")] = None,
    topic: Annotated[list[str] | None, typer.Option("--topic", "-t", help="A topic (repeatable).")] = None,
    where: WhereOption = "",
    domain: DomainOption = None,
    system: SystemOption = None,
    exclude: ExcludeOption = None,
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count tasks by domain, tier and skill, and see which topics they cover.

    Example:

        ale-semantic curriculum coverage --topics syllabus.txt
    """
    from ale_semantic.curriculum import coverage as cover
    from ale_semantic.curriculum import read_topics
    from ale_semantic.curriculum.views import coverage_view

    listed = read_topics(curriculum_files.read_text(topics)) if topics is not None else ()
    pool = pool_of(where, domain, system, exclude)
    answer(cover(open_engine(index), pool=pool, topics=(*listed, *(topic or ()))), coverage_view, as_json)


def prerequisites(
    task: Annotated[str, typer.Argument(help="The task's id.")],
    where: WhereOption = "",
    domain: DomainOption = None,
    system: SystemOption = None,
    exclude: ExcludeOption = None,
    index: IndexOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a task needs, which tasks train that, and what it opens up.

    Example:

        ale-semantic curriculum prerequisites business_finance/ar_full_1500
    """
    from ale_semantic.curriculum import prerequisites as find_prerequisites
    from ale_semantic.curriculum.views import prerequisites_view

    pool = pool_of(where, domain, system, exclude)
    answer(find_prerequisites(open_engine(index), task, pool=pool), prerequisites_view, as_json)


def _save(curriculum: Curriculum, file: Path, *, force: bool) -> None:
    curriculum_files.write(file, curriculum.to_yaml().encode(), force=force)


for _command in (ladder, path, subset, split, coverage, prerequisites, *curriculum_files.COMMANDS):
    app.command()(_command)
