"""Facets agree with a plain count by hand, over any cards and conditions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_cards import LINUX, WINDOWS, card

from ale_semantic.facets import FacetTable, selection_field
from ale_semantic.filters import And, Comparison, Condition, Missing, Not, Operator, Or, parse
from ale_semantic.types import TaskCard, Tier

DOMAINS, TOOLS = ("alpha", "beta", "gamma"), ("hammer", "saw", "drill")
made_up_cards = st.lists(
    st.builds(
        lambda domain, tiers, os, tools, gpu, timeout, inputs: card(
            f"{domain}/t",
            tiers=tuple(tier for tier in Tier if tier in tiers),
            os=os,
            software=tuple(tools),
            gpu=gpu,
            timeout=timeout,
            formats=("CSV",) * inputs,
        ),
        st.sampled_from(DOMAINS),
        st.sets(st.sampled_from(Tier)),
        st.sampled_from([LINUX, WINDOWS, None]),
        st.lists(st.sampled_from(TOOLS), max_size=4),
        st.sampled_from([True, False, None]),
        st.sampled_from([60, 3600, None]),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=12,
)


def by_hand(card: TaskCard) -> dict[str, set[str]]:
    """Return the values of a card, told apart from the code under test."""
    return {
        "domain": {card.domain},
        "tier": {str(tier) for tier in card.tiers},
        "os": {str(card.os)} if card.os else set(),
        "software": {use.raw for use in card.software},
        "gpu": set() if card.gpu is None else {"yes" if card.gpu else "no"},
        "timeout": set() if card.timeout is None else {str(card.timeout)},
        "inputs": {str(len(card.inputs))},
    }


def fulfils(card: TaskCard, condition: Condition) -> bool:
    match condition:
        case And(operands):
            return all(fulfils(card, operand) for operand in operands)
        case Or(operands):
            return any(fulfils(card, operand) for operand in operands)
        case Not(operand):
            return not fulfils(card, operand)
        case Missing(name):
            return not by_hand(card)[name]
        case Comparison(name, Operator.EQUAL, values):
            return bool(by_hand(card)[name] & set(values))
        case Comparison(name, operator, (value,)):
            tests: dict[Operator, Callable[[float, float], bool]] = {
                Operator.LESS: lambda a, b: a < b,
                Operator.AT_MOST: lambda a, b: a <= b,
                Operator.MORE: lambda a, b: a > b,
                Operator.AT_LEAST: lambda a, b: a >= b,
            }
            return any(tests[operator](float(own), float(value)) for own in by_hand(card)[name])
    raise AssertionError(condition)


CHOICES: dict[str, tuple[str, ...]] = {
    "domain": DOMAINS,
    "tier": tuple(map(str, Tier)),
    "os": ("linux", "windows"),
    "software": TOOLS,
    "gpu": ("yes", "no"),
    "timeout": ("60", "3600"),
    "inputs": ("0", "1", "2", "3"),
}
# A last card has every value, so that none of them is unknown.
WHOLE = (
    *(card(f"{domain}/all", software=TOOLS) for domain in DOMAINS),
    card("alpha/all", tiers=tuple(Tier), os=LINUX, timeout=60, gpu=True, formats=("CSV",)),
)
orderings = st.sampled_from([Operator.LESS, Operator.AT_MOST, Operator.MORE, Operator.AT_LEAST])
leaves = st.one_of(
    st.sampled_from(sorted(CHOICES)).flatmap(
        lambda name: st.lists(st.sampled_from(CHOICES[name]), min_size=1, max_size=2).map(
            lambda values: Comparison(name, Operator.EQUAL, tuple(values))
        )
    ),
    st.builds(Missing, st.sampled_from(sorted(CHOICES))),
    st.builds(
        lambda name, operator, value: Comparison(name, operator, (str(value),)),
        st.sampled_from(["inputs", "timeout"]),
        orderings,
        st.sampled_from([0, 1, 2, 60, 3600]),
    ),
)


def compound(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(st.builds(Not, inner), st.builds(And, several), st.builds(Or, several))


any_condition: st.SearchStrategy[Condition] = st.recursive(leaves, compound, max_leaves=8)


@settings(max_examples=75)
@given(made_up_cards, any_condition, any_condition)
def test_masks_agree_with_a_test_card_by_card(cards: list[TaskCard], one: Condition, two: Condition) -> None:
    cards = [*cards, *WHOLE]
    table = FacetTable.from_cards(cards)
    by_card = [np.array([fulfils(card, condition) for card in cards]) for condition in (one, two)]
    for condition, expected in (
        (one, by_card[0]),
        (two, by_card[1]),
        (~one, ~by_card[0]),
        (one & two, by_card[0] & by_card[1]),
        (one | two, by_card[0] | by_card[1]),
        # De Morgan's laws
        (~(one & two), ~by_card[0] | ~by_card[1]),
        (~(one | two), ~by_card[0] & ~by_card[1]),
        (parse(str(one)), by_card[0]),
    ):
        assert table.mask(condition).tolist() == expected.tolist()


@settings(max_examples=75)
@given(made_up_cards, any_condition, st.integers(min_value=0))
def test_counts_agree_with_a_count_by_hand(cards: list[TaskCard], condition: Condition, seed: int) -> None:
    cards = [*cards, *WHOLE]
    matching = np.random.default_rng(seed).random(len(cards)) < 0.5
    parts = condition.operands if isinstance(condition, And) else (condition,)
    for facet in FacetTable.from_cards(cards).counts(condition=condition, matching=matching, fields=CHOICES):
        others = [part for part in parts if selection_field(part) != facet.field]
        kept = [c for c, near in zip(cards, matching, strict=True) if near and all(fulfils(c, part) for part in others)]
        own = [by_hand(c)[facet.field] for c in kept]
        assert {value.value: value.count for value in facet.values} == {
            value.value: sum(value.value in values for values in own) for value in facet.values
        }
        assert {value.value for value in facet.values} == set().union(*(by_hand(c)[facet.field] for c in cards))
        assert facet.missing == sum(not values for values in own)
        if not facet.multivalued:
            assert sum(value.count for value in facet.values) + facet.missing == len(kept)
