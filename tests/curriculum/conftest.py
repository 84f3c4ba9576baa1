"""A made-up catalogue with ladders and near twins, and an engine over it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from toy import HashEncoder, toy_card, toy_catalogue

from ale_semantic.catalogue import Catalogue
from ale_semantic.embeddings.build import build_index
from ale_semantic.engine import Engine
from ale_semantic.types import TaskCard

_TIERS = ("near-term", "near-term", "full-spectrum", "full-spectrum", "last-exam", "last-exam")
# Six tasks a domain: each has two words of its own and one of the task before.
_WORDS = {
    "baking": "oven dough flour yeast crumb crust proof starter scale knead shape bake".split(),
    "sailing": "keel mast jib tiller tack gybe buoy chart tide anchor knot helm".split(),
    "weaving": "loom warp weft shuttle heddle reed bobbin selvage twill tabby fringe yarn".split(),
}


# A sentence of its own for each part, so that no two of a domain share their wording.
_SENTENCES = (
    "Begin {domain}: learn what {a} means, choose {b}, list questions.",
    "With {before} known, practise {domain}; try {a} slowly, then {b} quickly.",
    "Explain how {a} changes {before} during {domain}. Draw {b} twice.",
    "Plan one day of {domain} around {a}. Budget {b}; compare prices against {before}.",
    "Repair faulty {a} after bad {domain}; measure {b}, photograph {before}, report damage.",
    "Certify a master: judge {domain} under pressure, grade {a}, defend {b} over {before}.",
)


def _card(domain: str, place: int) -> TaskCard:
    words = _WORDS[domain]
    first, second = words[2 * place : 2 * place + 2]
    text = _SENTENCES[place].format(domain=domain, a=first, b=second, before=words[max(0, 2 * place - 1)])
    return toy_card(
        f"{domain}/part_{place}",
        title=f"{first.capitalize()} {second}",
        summary=f"{domain.capitalize()} {first}.",
        task_prompt=text,
        agent_must_do=[f"Hand over {second}"],
        software=[f"{domain.capitalize()} Desk", f"Tool{'ABCDEF'[place]}"],
        tiers=[_TIERS[place]],
        vm={"snapshot": "cpu-free-ubuntu" if place % 2 == 0 else "cpu-license", "timeout": 3600},
    )


def _twins() -> tuple[TaskCard, TaskCard]:
    text = (
        "Read every line of the ledger in the folder and enter the name, the amount and the date of payment into one "
        "sheet. Mark each line that has no receipt, and write the total of each month under the last line. {} lines."
    )

    def entries(size: int, tier: str) -> TaskCard:
        prompt = text.format(size)
        return toy_card(
            f"ledger/entries_{size}", title=f"Enter {size} lines", summary="Entry.", task_prompt=prompt, tiers=[tier]
        )

    return entries(30, "full-spectrum"), entries(900, "last-exam")


def made_up_cards() -> tuple[TaskCard, ...]:
    """Return twenty cards: three domains of six rising tasks, and two near twins."""
    return (*(_card(domain, place) for domain in _WORDS for place in range(6)), *_twins())


@pytest.fixture(scope="session")
def cards() -> tuple[TaskCard, ...]:
    return made_up_cards()


@pytest.fixture(scope="session")
def catalogue(cards: tuple[TaskCard, ...]) -> Catalogue:
    return toy_catalogue(cards)


@pytest.fixture(scope="session")
def engine(catalogue: Catalogue, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    folder = tmp_path_factory.mktemp("curriculum") / "index"
    build_index(catalogue, folder, encoder=HashEncoder())
    return replace(Engine.open(folder, encoder=HashEncoder()), skills=None)


class SoftwareSkills:
    """A skill table for tests: each software is a skill."""

    def __init__(self, cards: Sequence[TaskCard]) -> None:
        self._cards = cards
        self.ids = tuple(sorted({name for card in cards for name in card.software_names}))

    def name(self, skill_id: str) -> str:
        return skill_id

    def skills_of(self, row: int) -> tuple[str, ...]:
        return self._cards[row].software_names


@pytest.fixture(scope="session")
def skilled(engine: Engine) -> Engine:
    stub: Any = SoftwareSkills(engine.catalogue.cards)
    return replace(engine, skills=stub)
