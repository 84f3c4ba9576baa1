"""Paths: tiers never fall, no near twins, limits met or refused by name."""

from __future__ import annotations

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import strategies as st
from tried import inputs, tried

from ale_semantic.curriculum import LimitError, PathRequest, PathResult, Pool, path
from ale_semantic.curriculum.material import Material
from ale_semantic.curriculum.path_search import Budget, Graph, WayRules, best_way
from ale_semantic.engine import Engine
from ale_semantic.errors import CurriculumError, UnknownNameError
from ale_semantic.types import Tier


def keeps_to_its_limits(engine: Engine, result: PathResult) -> None:
    material = Material.of(engine)
    rows = [engine.catalogue.row(task_id) for task_id in result.task_ids]
    levels = [step.tier.level for step in result.steps if step.tier is not None]
    assert levels == sorted(levels)
    assert all(step.tier in step.task.tiers for step in result.steps)
    assert len(set(rows)) == len(rows)
    if not result.request.allow_twins and not result.joins_twins:
        assert not material.twins()[np.ix_(rows, rows)].any()
    assert all(near.closeness is not None and near.closeness >= result.min_step - 1e-6 for near in result.steps[1:])
    if result.max_new_skills is not None:
        assert max(len(step.new_skills) for step in result.steps[1:]) <= result.max_new_skills


REQUESTS = st.builds(
    PathRequest,
    length=st.sampled_from([None, 2, 4, 6, 9]),
    pool=st.builds(
        Pool,
        domains=st.sampled_from([(), ("baking",), ("sailing", "weaving")]),
        systems=st.sampled_from([(), ("linux",)]),
    ),
    min_step=st.sampled_from([None, -0.5, 0.0, 0.3, 0.9]),
    max_new_skills=st.sampled_from([None, 0, 1, 2]),
    goal=st.sampled_from(["", "baking/part_4", "sailing", "ledger/entries_900"]),
)


@inputs(50, 1_000)
def test_paths_keep_to_their_limits_or_are_refused(number: int, skilled: Engine) -> None:
    def check(request: PathRequest) -> None:
        domains, systems = request.pool.domains, request.pool.systems
        try:
            result = path(skilled, request)
        except LimitError as fault:
            nearest = fault.nearest
            if isinstance(nearest, PathResult):
                keeps_to_its_limits(skilled, nearest)
            return
        keeps_to_its_limits(skilled, result)
        assert request.length is None or len(result.steps) == request.length
        assert not domains or {step.task.domain for step in result.steps} <= set(domains)
        assert not systems or {str(step.task.os) for step in result.steps} <= set(systems)
        assert path(skilled, request) == result

    tried(REQUESTS, number, check)


def test_best_way_is_the_cheapest_of_all() -> None:
    generator = np.random.default_rng(7)
    steps = np.where(generator.random((7, 7)) < 0.7, generator.random((7, 7)), np.inf)
    graph = Graph(np.arange(7), np.zeros(7, dtype=np.int64), steps, generator.random((4, 7)))
    twins = np.zeros((7, 7), dtype=bool)
    twins[0, 1] = twins[1, 0] = twins[2, 5] = twins[5, 2] = True

    def cost(way: tuple[int, ...]) -> float:
        if any(twins[a, b] for a in way for b in way):
            return float("inf")
        return float(sum(graph.places[i, n] for i, n in enumerate(way)) + sum(steps[a, b] for a, b in pairwise(way)))

    best = min(permutations(range(7), 4), key=cost)
    found = best_way(graph, graph.rests(), WayRules(twins, frozenset(), None, None), Budget())
    assert found is not None
    assert found.nodes == best
    assert found.cost == pytest.approx(cost(best))


def test_a_path_leads_from_a_task_to_a_task(engine: Engine) -> None:
    result = path(engine, PathRequest(start="baking/part_0", goal="baking/part_5"))
    assert result.task_ids[0] == "baking/part_0"
    assert result.task_ids[-1] == "baking/part_5"
    assert {step.task.domain for step in result.steps} == {"baking"}
    assert all(step.reason for step in result.steps)


def test_the_tiers_asked_for_are_those_of_the_ends(engine: Engine) -> None:
    request = PathRequest(start_tier=Tier.NEAR_TERM, goal_tier=Tier.LAST_EXAM, pool=Pool(domains=("sailing",)))
    result = path(engine, request)
    assert (result.steps[0].tier, result.steps[-1].tier) == (Tier.NEAR_TERM, Tier.LAST_EXAM)


def test_near_twins_stay_out_unless_both_are_asked_for(engine: Engine) -> None:
    result = path(engine, PathRequest(start="ledger/entries_30", goal="ledger/entries_900"))
    assert result.joins_twins
    assert "near twins" in result.notices[0]


def test_a_skill_is_taught(skilled: Engine) -> None:
    result = path(skilled, PathRequest(skill="weaving desk"))
    assert result.steps[-1].task.domain == "weaving"
    with pytest.raises(UnknownNameError, match="Weaving Desk"):
        path(skilled, PathRequest(skill="weaving dsk"))


def test_what_needs_skills_says_that_there_are_none(engine: Engine) -> None:
    with pytest.raises(CurriculumError, match="this index has none"):
        path(engine, PathRequest(skill="anything"))
    with pytest.raises(CurriculumError, match="this index has none"):
        path(engine, PathRequest(max_new_skills=2))


def test_the_failing_limit_is_named_and_the_nearest_path_offered(engine: Engine) -> None:
    with pytest.raises(LimitError, match="length 9") as fault:
        path(engine, PathRequest(length=9, min_step=-1.0, pool=Pool(domains=("baking",))))
    assert {"length", "domains"} <= {each.limit for each in fault.value.failed}
    assert isinstance(fault.value.nearest, PathResult)
    assert len(fault.value.nearest.steps) <= 6


def test_a_step_limit_that_fails_says_what_would_do(engine: Engine) -> None:
    with pytest.raises(LimitError, match=r"min_step 0\.99 \(-?\d\.\d\d would do\)"):
        path(engine, PathRequest(start="baking/part_0", goal="baking/part_5", min_step=0.99))


def test_a_path_downwards_is_refused(engine: Engine) -> None:
    with pytest.raises(LimitError, match="tiers never fall"):
        path(engine, PathRequest(start="baking/part_5", goal="baking/part_0"))
    with pytest.raises(CurriculumError, match="tiers never fall"):
        PathRequest(start_tier=Tier.LAST_EXAM, goal_tier=Tier.NEAR_TERM)


@pytest.mark.parametrize(
    "wrong", [{"length": 1}, {"min_step": 0.5, "max_step": 0.1}, {"max_tier_jump": 3}, {"goal": "a", "skill": "b"}]
)
def test_requests_that_nothing_meets_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(CurriculumError):
        PathRequest(**wrong)  # type: ignore[arg-type]


def test_an_unknown_id_is_no_topic(engine: Engine) -> None:
    with pytest.raises(UnknownNameError, match="baking/part_9"):
        path(engine, PathRequest(goal="baking/part_9"))
