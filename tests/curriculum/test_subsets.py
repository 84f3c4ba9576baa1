"""Subsets: limits are met, or refused by name with the nearest offer."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import strategies as st
from tried import inputs, tried

from ale_semantic.curriculum import LimitError, Pool, Quota, SubsetRequest, SubsetResult, subset
from ale_semantic.engine import Engine
from ale_semantic.errors import CurriculumError, UnknownNameError


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [("tier=last-exam:5", 5, 5), ("os=linux:3..", 3, None), ("domain=*:..2", 0, 2), ("software=A, B:1..4", 1, 4)],
)
def test_quotas_are_read_and_written(text: str, least: int, most: int | None) -> None:
    quota = Quota.parse(text)
    assert (quota.least, quota.most) == (least, most)
    assert Quota.parse(str(quota)) == quota


@pytest.mark.parametrize("text", ["", "tier", "tier=last-exam", "tier=last-exam:..", "tier=x:5..3", "=x:1"])
def test_a_quota_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(CurriculumError, match="quota"):
        Quota.parse(text)


def test_each_domain_is_met_and_no_near_twins_are_taken(engine: Engine) -> None:
    result = subset(engine, SubsetRequest(k=8))
    assert {pick.task.domain for pick in result.picks} == {"baking", "sailing", "weaving", "ledger"}
    assert not {"ledger/entries_30", "ledger/entries_900"} <= set(result.task_ids)
    assert result.value > result.random
    assert result == subset(engine, SubsetRequest(k=8))


LAST, LINUX, BAKING = (
    st.builds(Quota, st.just("tier"), st.just("last-exam"), st.integers(0, 5)),
    st.builds(Quota, st.just("os"), st.just("linux"), st.just(0), st.integers(0, 8)),
    st.builds(Quota, st.just("domain"), st.just("baking"), st.just(0), st.integers(0, 4)),
)
REQUESTS = st.builds(
    SubsetRequest,
    k=st.integers(1, 12),
    quotas=st.tuples(LAST, LINUX, BAKING),
    must=st.sampled_from([(), ("baking/part_3",), ("ledger/entries_30", "ledger/entries_900")]),
    pool=st.builds(Pool, exclude=st.sampled_from([(), ("sailing/part_0", "weaving/part_5")])),
)


@inputs(60, 1_000)
def test_limits_are_met_or_refused(number: int, engine: Engine) -> None:
    def check(request: SubsetRequest) -> None:
        last, linux, baking = request.quotas
        try:
            result = subset(engine, request)
        except LimitError as fault:
            if not (fault.failed or "must-have" in str(fault)):
                pytest.fail(f"names no limit: {fault}")
            return
        cards = [engine.catalogue.get(task_id) for task_id in result.task_ids]
        systems = Counter(card.os for card in cards)
        assert len(set(result.task_ids)) == request.k
        assert sum("last-exam" in card.tiers for card in cards) >= last.least
        assert linux.most is not None
        assert systems.get(engine.catalogue.get("baking/part_0").os, 0) <= linux.most
        assert baking.most is not None
        assert sum(card.domain == "baking" for card in cards) <= baking.most
        assert set(request.must) <= set(result.task_ids)
        assert not set(request.pool.exclude) & set(result.task_ids)

    tried(REQUESTS, number, check)


def test_a_quota_that_fails_is_named_with_the_nearest_choice(engine: Engine) -> None:
    with pytest.raises(LimitError, match=r"domain=ledger:5 \(2 can be had\)") as fault:
        subset(engine, SubsetRequest(k=6, quotas=(Quota("domain", "ledger", 5, 5),), allow_twins=True))
    assert fault.value.nearest is not None
    assert [each.limit for each in fault.value.failed] == ["quota"]
    assert isinstance(fault.value.nearest, SubsetResult)
    offered = fault.value.nearest.request
    assert offered.quotas == (Quota("domain", "ledger", 2, 5),)
    assert subset(engine, offered).picks  # what is offered can be had


def test_what_is_offered_drops_a_quota_for_each_value_whole(engine: Engine) -> None:
    with pytest.raises(LimitError) as fault:
        subset(engine, SubsetRequest(k=5, quotas=(Quota("domain", "*", 2), Quota("tier", "last-exam", 1))))
    assert isinstance(fault.value.nearest, SubsetResult)
    assert fault.value.nearest.request.quotas == (Quota("tier", "last-exam", 1),)
    assert len(subset(engine, fault.value.nearest.request).picks) == fault.value.nearest.request.k


def test_too_many_tasks_are_refused_with_what_can_be_had(engine: Engine) -> None:
    with pytest.raises(LimitError, match=r"size 50 \(19 can be had\)"):
        subset(engine, SubsetRequest(k=50))


def test_a_must_have_outside_the_pool_is_refused(engine: Engine) -> None:
    with pytest.raises(LimitError, match="baking/part_0"):
        subset(engine, SubsetRequest(k=3, must=("baking/part_0",), pool=Pool(domains=("sailing",))))


def test_unknown_names_are_errors(engine: Engine) -> None:
    with pytest.raises(UnknownNameError):
        subset(engine, SubsetRequest(k=3, must=("baking/part_77",)))
    with pytest.raises(UnknownNameError):
        subset(engine, SubsetRequest(k=3, pool=Pool(domains=("sailng",))))
    with pytest.raises(UnknownNameError):
        subset(engine, SubsetRequest(k=3, quotas=(Quota("domain", "bakery", 1),)))


def test_an_empty_pool_says_what_emptied_it(engine: Engine) -> None:
    with pytest.raises(LimitError, match="where 'domain = baking and domain = sailing'"):
        subset(engine, SubsetRequest(k=3, pool=Pool(where="domain = baking and domain = sailing")))


def test_gaps_name_what_no_chosen_task_has(skilled: Engine) -> None:
    result = subset(skilled, SubsetRequest(k=2, cover=()))
    missing = {each.field: each.values for each in result.missing}
    assert len(missing["domain"]) == 2
    assert missing["skill"]
    assert "request" in result.to_dict()
