"""Relations to a named task, in six languages: what is one, what only looks like one, and which tier is wanted."""

from __future__ import annotations

import numpy as np
import pytest
from toy import toy_card

from ale_semantic.understanding.relations import Direction, find_relation, tier_preference

EASIER, HARDER = Direction.EASIER, Direction.HARDER


@pytest.mark.parametrize(
    ("query", "direction", "target", "rest"),
    [
        ("easier than the KiCad layout", EASIER, "KiCad layout", ""),
        ("something easier before the KiCad board layout", EASIER, "KiCad board layout", ""),
        ("what could be a good first task before the WGS pipeline?", EASIER, "WGS pipeline", ""),
        ("less demanding geodata job before NDVI zonal statistics", EASIER, "NDVI zonal statistics", "geodata"),
        ("find something simpler than branch and bound", EASIER, "branch and bound", ""),
        ("a milder version of the radiomics task", EASIER, "radiomics", ""),
        ("build up to the orbit transfer", EASIER, "orbit transfer", ""),
        ("baby step prior to the KiCad board routing", EASIER, "KiCad board routing", ""),
        ("gentle introduction to GW-BSE before MoSe2", EASIER, "MoSe2", "GW-BSE"),
        ("Which task should come before cell tracking?", EASIER, "cell tracking", ""),
        ("which task should follow cell tracking?", HARDER, "cell tracking", ""),
        ("harder follow-up to the AR reconciliation task", HARDER, "AR reconciliation", ""),
        ("a follow-up to AR reconciliation", HARDER, "AR reconciliation", ""),
        ("harder than Apple balance sheet", HARDER, "Apple balance sheet", ""),
        ("I have done the Ketcher task, what next?", HARDER, "Ketcher", ""),
        ("after finishing the A/B test, which task is more demanding?", HARDER, "A/B test", ""),
        ("next level after go game", HARDER, "go game", ""),
        ("level up from bpmn supply disruption", HARDER, "bpmn supply disruption", ""),
    ],
)
def test_english(query: str, direction: Direction, target: str, rest: str) -> None:
    found = find_relation(query)
    assert found is not None
    assert (found.direction, found.target, found.rest, found.language) == (direction, target, rest, "en")


@pytest.mark.parametrize(
    ("query", "direction", "target", "language"),
    [
        ("比1500份年报更简单的任务", EASIER, "1500份年报", "zh"),
        ("在KiCad布局之前热身的任务", EASIER, "KiCad布局", "zh"),
        ("做完细胞追踪之后更难的任务", HARDER, "细胞追踪", "zh"),
        ("KiCadの基板レイアウトの前に簡単なタスク", EASIER, "KiCadの基板レイアウト", "ja"),
        ("細胞追跡の後の難しい課題", HARDER, "細胞追跡", "ja"),
        ("etwas Einfacheres vor dem KiCad-Layout", EASIER, "KiCad-Layout", "de"),
        ("nach der Zellverfolgung etwas Schwierigeres", HARDER, "Zellverfolgung", "de"),
        ("algo más fácil antes de la reconstrucción CT", EASIER, "reconstrucción CT", "es"),
        ("algo más difícil después de la segmentación", HARDER, "segmentación", "es"),
        ("quelque chose de plus facile avant l'assemblage du génome", EASIER, "assemblage du génome", "fr"),
        ("quelque chose de plus difficile après le suivi de cellules", HARDER, "suivi de cellules", "fr"),
    ],
)
def test_other_languages(query: str, direction: Direction, target: str, language: str) -> None:
    found = find_relation(query)
    assert found is not None
    assert (found.direction, found.target, found.language) == (direction, target, language)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "compare gene expression before and after treatment",
        "simulate traffic before the road is built",
        "training data for a simple task of digit recognition",
        "estimate the effect of a policy after rollout",
        "remove noise from images before segmentation",
        "easy way to follow a protocol of cells",
        "predict the next word with a small model",
        "simple linear regression of house prices for a beginner",
        "first aid for burns",
        "find the first author of papers",
        "prepare a tax return for a small company",
        "introduction to quantum chemistry",
        "advance directive for health care",
        "progress report of a construction site",
        "easy tasks for linux",
        "simple solver for heat equation",
        "简单的线性回归",
        "einfache Regression",
        "régression simple",
        "regresión sencilla",
    ],
)
def test_ordinary_queries_are_no_relations(query: str) -> None:
    assert find_relation(query) is None


def test_blanks_and_line_ends_do_not_matter() -> None:
    assert find_relation("easier \n than   the KiCad\tlayout") == find_relation("easier than the KiCad layout")


def test_the_wanted_side_of_the_tier() -> None:
    tiers = [["near-term"], ["full-spectrum"], ["last-exam"], [], ["near-term", "last-exam"]]
    cards = [toy_card(f"legal/task_{place}", tiers=own) for place, own in enumerate(tiers)]
    # A card in two tiers counts by the easier one here, by the harder one there.
    np.testing.assert_array_equal(tier_preference(cards, 1, EASIER), [1, 0, -1, 0, 1])
    np.testing.assert_array_equal(tier_preference(cards, 1, HARDER), [-1, 0, 1, 0, 1])
    np.testing.assert_array_equal(tier_preference(cards, 3, HARDER), [0, 0, 0, 0, 0])
