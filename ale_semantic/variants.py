"""Similar tasks with a difference: another domain, other software, an easier or a harder tier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

import numpy as np

from ale_semantic.fusion import Mask, standardise
from ale_semantic.ranking import Ranking
from ale_semantic.skills import SkillTable
from ale_semantic.types import TaskCard

_SKILL_SHARE = 0.5  # beside the relatedness, where the same skills are wanted elsewhere


class Variant(StrEnum):
    """What must differ from the given tasks."""

    OTHER_DOMAIN = "other-domain"  # the same skills in another domain
    OTHER_SOFTWARE = "other-software"  # the same workflow with none of the same software
    EASIER = "easier"  # one or more tiers down
    HARDER = "harder"  # one or more tiers up


def variant_mask(cards: Sequence[TaskCard], near: Sequence[int], variant: Variant) -> Mask:
    """Return the cards that differ from the given ones in the wanted way, shape (cards,)."""
    given = [cards[row] for row in near]
    if variant is Variant.OTHER_DOMAIN:
        domains = {card.domain for card in given}
        return np.array([card.domain not in domains for card in cards])
    if variant is Variant.OTHER_SOFTWARE:
        names = {name for card in given for name in card.software_names}
        return np.array([bool(card.software) and not names & set(card.software_names) for card in cards])
    levels = [tier.level for card in given for tier in card.tiers]
    if not levels:
        return np.zeros(len(cards), dtype=bool)
    if variant is Variant.EASIER:
        return np.array([any(tier.level < min(levels) for tier in card.tiers) for card in cards])
    return np.array([any(tier.level > max(levels) for tier in card.tiers) for card in cards])


def by_skills(ranking: Ranking, near: Sequence[int], skills: SkillTable) -> Ranking:
    """Return the ranking with the likeness of the cards' skills added to their relatedness."""
    wanted = skills.scores[list(near)].mean(axis=0)
    lengths = np.linalg.norm(skills.scores, axis=1) * np.linalg.norm(wanted)
    likeness = standardise(np.asarray(skills.scores @ wanted / np.maximum(lengths, 1e-9), dtype=np.float32))
    return replace(ranking, fused=np.asarray(ranking.fused + _SKILL_SHARE * likeness, dtype=np.float32))
