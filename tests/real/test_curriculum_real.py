"""Curriculum design on the real cards."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ale_semantic.catalogue import Catalogue
from ale_semantic.curriculum import (
    Curriculum,
    LadderRequest,
    LimitError,
    OwnTask,
    PathRequest,
    Pool,
    Quota,
    SplitRequest,
    SubsetRequest,
    check,
    compare,
    coverage,
    duplicates,
    ladders,
    leaks,
    path,
    prerequisites,
    split,
    subset,
)
from ale_semantic.curriculum.facility import facility_value, kernel, lazy_greedy, swap_improve
from ale_semantic.curriculum.material import Material
from ale_semantic.engine import Engine
from ale_semantic.types import Band, Tier

# An index of the real cards that is there already saves building one; read before the settings are taken away.
AR_300, AR_1500 = "business_finance/ar_full_300", "business_finance/ar_full_1500"
TWINS = (
    (AR_300, AR_1500),
    ("health_medicine/ecg_rhythm_conduction_ptbxl", "health_medicine/ecg_superclass_ptbxl"),
    ("health_medicine/crf_sdtm_mapping_1", "health_medicine/crf_sdtm_mapping_4"),
    ("physical_sciences/mose2_bse_absorption_soc", "physical_sciences/silicon_bse_absorption"),
    ("business_finance/bpmn_category_governance_restructuring_l3", "business_finance/bpmn_supply_disruption_l3"),
    ("health_medicine/scene3_skullstrip_qc", "psychology_neuro/scene2_resample"),
    ("engineering/2d_drawings_to_3d_bridge_model", "engineering/2d_drawings_to_3d_building_model"),
)
LARGEST = (
    "health_medicine",
    "computing_math",
    "business_finance",
    "engineering",
    "life_sciences",
    "visual_media",
)


@pytest.fixture(scope="module")
def engine(real_engine: Engine) -> Engine:
    return real_engine


def test_the_largest_domains_are_those(engine: Engine) -> None:
    counts = Counter(card.domain for card in engine.catalogue)
    assert {name for name, _ in counts.most_common(6)} == set(LARGEST)


def test_the_ladder_and_similar_give_the_next_rung(engine: Engine) -> None:
    assert ladders(engine, LadderRequest(task=AR_300)).next_rung == AR_1500
    assert engine.similar(AR_300).hits[0].task_id == AR_1500
    assert (AR_300, AR_1500) in [ladder.task_ids for ladder in ladders(engine, LadderRequest()).ladders]


@pytest.mark.parametrize("domain", LARGEST)
def test_each_large_domain_has_a_path_from_easiest_to_hardest(engine: Engine, domain: str) -> None:
    asked = PathRequest(start_tier=Tier.NEAR_TERM, goal_tier=Tier.LAST_EXAM, pool=Pool(domains=(domain,)))
    result = path(engine, asked)
    rows = [engine.catalogue.row(task_id) for task_id in result.task_ids]
    levels = [step.tier.level for step in result.steps if step.tier is not None]
    assert levels == sorted(levels)
    assert set(levels) == {0, 1, 2}
    assert len(set(rows)) == len(rows) >= 4
    assert {step.task.domain for step in result.steps} == {domain}
    assert not Material.of(engine).twins()[np.ix_(rows, rows)].any()
    assert path(engine, asked) == result
    assert check(engine, Curriculum.of_path(result)).is_kept


@pytest.mark.parametrize(
    "goal", ["medical imaging", "quantum chemistry", "differential gene expression", "kubernetes", AR_1500]
)
def test_paths_to_a_goal_keep_to_their_limits(engine: Engine, goal: str) -> None:
    result = path(engine, PathRequest(goal=goal))
    assert check(engine, Curriculum.of_path(result)).is_kept


def test_twenty_tasks_stand_for_all(engine: Engine) -> None:
    result = subset(engine, SubsetRequest(k=20))
    domains = {card.domain for card in engine.catalogue}
    assert {pick.task.domain for pick in result.picks} == domains
    assert len(set(result.task_ids)) == 20
    assert result.value >= 1.3 * result.random
    rows = [engine.catalogue.row(task_id) for task_id in result.task_ids]
    assert not Material.of(engine).twins()[np.ix_(rows, rows)].any()


def test_the_reported_value_is_the_facility_location_value(engine: Engine) -> None:
    result = subset(engine, SubsetRequest(k=20))
    closeness = Material.of(engine).near().astype(float).clip(0, 1)
    np.fill_diagonal(closeness, 1.0)
    rows = [engine.catalogue.row(task_id) for task_id in result.task_ids]
    generator = np.random.default_rng(99)
    draws = [closeness[:, generator.choice(len(closeness), 20, replace=False)].max(axis=1).sum() for _ in range(500)]
    assert result.value == pytest.approx(closeness[:, rows].max(axis=1).sum())
    assert result.value >= 1.3 * float(np.mean(draws))


def test_quotas_are_met_or_refused_on_the_real_cards(engine: Engine) -> None:
    quotas = tuple(map(Quota.parse, ("tier=last-exam:5..6", "os=windows:..3", "domain=*:..3")))
    cards = [engine.catalogue.get(i) for i in subset(engine, SubsetRequest(k=20, quotas=quotas)).task_ids]
    assert 5 <= sum(Tier.LAST_EXAM in card.tiers for card in cards) <= 6
    assert sum(card.os == "windows" for card in cards) <= 3
    assert max(Counter(card.domain for card in cards).values()) <= 3
    with pytest.raises(LimitError, match=r"domain=legal:5 \(2 can be had\)"):
        subset(engine, SubsetRequest(k=20, quotas=(Quota.parse("domain=legal:5"),)))


@pytest.mark.parametrize("domain", ["physical_sciences", "visual_media", "life_sciences"])
def test_the_choice_is_near_the_best_of_all(engine: Engine, domain: str) -> None:
    rows = [row for row, card in enumerate(engine.catalogue) if card.domain == domain]
    similarity = kernel(Material.of(engine).near())[np.ix_(rows, rows)]
    weights = np.ones(len(rows))
    best = max(facility_value(similarity, weights, chosen) for chosen in combinations(range(len(rows)), 4))
    greedy = lazy_greedy(similarity, weights, 4, must=(), candidates=range(len(rows)), fits=lambda taken, row: True)
    better = swap_improve(
        similarity, weights, greedy, fixed=(), candidates=range(len(rows)), allowed=lambda chosen: True
    )
    assert greedy.value >= 0.9 * best
    assert better.value >= 0.98 * best


def test_the_duplicate_report_lists_the_known_twins_and_few_others(engine: Engine) -> None:
    found = [{pair.first.task_id, pair.second.task_id} for pair in duplicates(engine).pairs]
    assert all(set(twins) in found for twins in TWINS)
    assert len(found) <= len(TWINS) + 10
    assert all(pair.shared for pair in duplicates(engine).pairs[:7])


def test_a_copied_card_is_a_leak_and_a_stranger_is_none(engine: Engine) -> None:
    card = engine.catalogue.get("business_finance/odoo")
    report = leaks(engine, [OwnTask("copy", card.prompt), OwnTask("stranger", "Bake a chocolate cake for six guests.")])
    assert report.tasks[0].nearest.task_id == card.task_id
    assert [leak.band for leak in report.tasks] == [Band.STRONG, Band.NONE]


@pytest.mark.parametrize("seed", range(3))
def test_splits_do_not_leak(engine: Engine, seed: int) -> None:
    result = split(engine, SplitRequest(test=0.2, seed=seed))
    train, test = ([engine.catalogue.row(task.task_id) for task in side] for side in (result.train, result.test))
    assert len(test) == 31
    assert sorted([*train, *test]) == list(range(len(engine.catalogue)))
    assert not Material.of(engine).twins()[np.ix_(train, test)].any()
    shares = [each.test / (each.train + each.test) for each in result.strata if each.train + each.test >= 15]
    assert all(0.1 <= share <= 0.3 for share in shares)


def test_coverage_counts_the_tiers(engine: Engine) -> None:
    counts: Counter[str] = Counter()
    for cell in coverage(engine).cells:
        if cell.skill is None:
            counts[cell.tier] += cell.tasks
    assert counts == {"near-term": 59, "full-spectrum": 55, "last-exam": 35, "(none)": 10}


def test_the_published_table_against_the_checkout(engine: Engine, real_cards: Path) -> None:
    table = real_cards.parent / "task_cards.parquet"
    if not table.is_file():
        pytest.skip("the published table does not lie beside the checkout")
    result = compare(Catalogue.load(table), engine.catalogue)
    assert (len(result.added), len(result.removed)) == (4, 0)
    assert result.moved_domain == ()
    assert len(result.changed) <= 10


def refused_path(engine: Engine) -> str:
    with pytest.raises(LimitError, match=r"min_step|length") as refused:
        path(engine, PathRequest(goal="protein structure", length=12, min_step=0.4))
    return str(refused.value)


@pytest.mark.parametrize(
    "work",
    [
        lambda e: ladders(e, LadderRequest()),
        lambda e: path(e, PathRequest(goal="medical imaging")),
        lambda e: path(e, PathRequest(pool=Pool(domains=("engineering",)))),
        lambda e: subset(e, SubsetRequest(k=20)),
        lambda e: subset(e, SubsetRequest(k=20, quotas=(Quota("tier", "last-exam", 5, 6), Quota("domain", "*", 0, 3)))),
        lambda e: split(e, SplitRequest()),
        lambda e: coverage(e, topics=["tumour imaging", "contract law"]),
        lambda e: duplicates(e),
        lambda e: prerequisites(e, AR_1500),
        lambda e: path(e, PathRequest(goal="kubernetes")),
        refused_path,
    ],
    ids=(
        "ladders path-topic path-domain subset subset-quotas split coverage duplicates prerequisites narrow refusal"
    ).split(),
)
def test_each_answer_is_the_same_again(engine: Engine, work: Callable[[Engine], Any]) -> None:
    assert work(engine) == work(engine)
