"""Skills on the real cards: the stored accuracy, and cards about which no reader would argue."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ale_semantic import Catalogue, Engine
from ale_semantic.skill_definitions import load_skills
from ale_semantic.skill_model import load_model
from ale_semantic.skills import SkillTable
from ale_semantic.texts import field_text
from ale_semantic.types import Field

JUDGMENTS = Path(__file__).resolve().parent.parent / "data" / "skill_judgments.jsonl"
_COMMON_WORDS = 6  # so many words in a row that a definition shares with a card are no accident

Words = tuple[str, ...]


@pytest.fixture(scope="module")
def catalogue(real_cards: Path) -> Catalogue:
    return Catalogue.load(real_cards)


@pytest.fixture(scope="module")
def table(real_engine: Engine) -> SkillTable:
    assert real_engine.skills is not None
    return real_engine.skills


@pytest.mark.parametrize(
    ("line", "floor"),
    [("cross-validated, micro", 0.80), ("cross-validated, macro", 0.80), ("**blind cards, micro**", 0.75)],
)
def test_the_stored_figures_reach_the_promised_floor(line: str, floor: float) -> None:
    assert load_model().figures["overall"][line]["f1"] >= floor


def test_the_assigned_skills_agree_with_the_judgments(table: SkillTable) -> None:
    rows = {card.task_id: row for row, card in enumerate(table.cards)}
    truth, found = np.zeros_like(table.matrix), np.zeros_like(table.matrix)
    for line in JUDGMENTS.read_text(encoding="utf-8").splitlines():
        entry = json.loads(line)
        row = rows[entry["task_id"]]
        truth[row] = [skill_id in entry["skills"] for skill_id in table.ids]
        found[row] = table.matrix[row]
    assert (
        2 * (truth & found).sum() / (truth.sum() + found.sum())
        >= load_model().figures["overall"]["cross-validated, micro"]["f1"]
    )


@pytest.mark.parametrize(
    ("task_id", "skill_id"),
    [
        ("computing_math/ghidra_malware_config_extraction_01", "reverse-engineering"),
        ("visual_media/skeletal_animation_reproduction", "animate"),
        ("agriculture_env/ndvi_zonal_statistics_d02", "geospatial"),
        ("psychology_neuro/reddit_ai_post_codebook_boolean_coding", "codebook"),
        ("computing_math/k8s_payment_api_root_cause_analysis", "investigate"),
        ("business_finance/american_option_pricing_ls", "monte-carlo"),
        ("physical_sciences/glm_lake_calibration", "calibrate"),
        ("health_medicine/public_health_mask_mandate_ratio", "r-scripts"),
        ("life_sciences/cell_tracking_instance_1", "image-processing"),
        ("transport_safety/capacitated_vehicle_routing_problems", "optimise"),
    ],
)
def test_an_undeniable_skill_is_found_with_evidence(table: SkillTable, task_id: str, skill_id: str) -> None:
    row = [card.task_id for card in table.cards].index(task_id)
    assert skill_id in table.skills_of(row)
    assert table.evidence(row, skill_id).cues


@pytest.mark.parametrize(
    ("task_id", "skill_id"),
    [
        ("computing_math/branch_bound_atsp", "graphics"),
        ("visual_media/inkscape_cultural_poster_design", "omics"),
        ("business_finance/taxform_4_1", "molecules"),
        ("life_sciences/WGS_Variant_Calling", "model-3d"),
        ("legal/agora_governance_classify_instance_1", "simulate"),
    ],
)
def test_an_absurd_skill_is_not_found(table: SkillTable, task_id: str, skill_id: str) -> None:
    row = [card.task_id for card in table.cards].index(task_id)
    assert skill_id not in table.skills_of(row)


def test_the_definitions_are_in_the_project_s_own_words(catalogue: Catalogue) -> None:
    taken = {words for card in catalogue for field in Field for words in _runs(field_text(card, field))}
    for skill in load_skills():
        for text in skill.texts:
            assert not taken.intersection(_runs(text)), f"{skill.id}: {text}"


def test_every_judged_card_is_in_the_catalogue(catalogue: Catalogue) -> None:
    judged = {json.loads(line)["task_id"] for line in JUDGMENTS.read_text(encoding="utf-8").splitlines()}
    assert judged <= {card.task_id for card in catalogue}


def _runs(text: str) -> Iterator[Words]:
    words = re.findall(r"\w+", text.lower())
    return (tuple(words[start : start + _COMMON_WORDS]) for start in range(len(words) - _COMMON_WORDS + 1))
