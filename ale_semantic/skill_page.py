"""The page docs/skills.md, made of the definitions and the stored figures, so that it can't fall behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from ale_semantic.skill_definitions import Skill
from ale_semantic.skill_model import BEST_PASSAGES, CUE_WEIGHTS, SkillModel

_METHOD = """\
# Skills

What an agent must be able to do for a task. Cards don't say so in so many words: skills are assigned from a
card's text, each with the evidence at hand (`engine.skills.evidence(row, id)`). They are a facet like any other:

    ale-semantic search "sports" --where 'skill = "Watch video or listen to audio"'
    ale-semantic search --where 'skill = watch-listen and skill = codebook'

The definitions are in `ale_semantic/data/skills.toml`: a sentence that decides what belongs to the skill, a few
phrasings, and cues. Everybody may change them; the weights are then fitted anew.
"""

_HOW = """\
## How a card gets its skills

For each card and skill there are two pieces of evidence:

- **meaning**: the skill's definition and phrasings are embedded and averaged to one vector; the evidence is the mean
  cosine of the card's {best} nearest passages with it, standardised for each skill;
- **cues**: the number of the skill's cues (regular expressions for activities and tools) that the card holds,
  weighted by the field they stand in, as log(1 + number): {fields}.

A logistic model weighs the two ({cosine:.2f} and {cue:.2f}) and adds how common each skill is; a card has the skills
from a probability of {threshold:.2f} on. For the encoder that the model was fitted with, means and deviations of the
cosines are stored with the weights, so that a card's skills don't depend on the other cards of its catalogue; for
any other encoder they are taken over the catalogue.

A query asks for the skills whose vector is nearer to it than {gate:.2f}. Adding half of the standardised sum of these
skills' probabilities to a card's score raised nDCG@10 of the development queries for skills from 0.75 to 0.87, and of
a second set of such queries from 0.82 to 0.91, and left the other kinds of queries as they were (within 0.01;
queries that also name a facet gained 0.04). The list of skills was drawn up by people who knew what kinds of
skills such queries ask for; a query for a skill that isn't on the list gains nothing.

`python benchmarks/fit_skills.py --index INDEX` fits the weights, prints the figures below and writes this page.
"""

_FIGURES = """\
## How well it does

{cards} real cards were read and judged strictly (the agent itself has to do it, and the card says so):
`tests/data/skill_judgments.jsonl`, {pairs} pairs of card and skill. The judge was one reader, so there is no second
opinion to bound what is attainable. Precision and recall are over pairs (micro) or the mean over skills (macro).

| figure | cards | precision | recall | F1 |
|---|--:|--:|--:|--:|
{rows}

The first line is {folds}-fold cross-validation by cards, the threshold chosen inside each fold. It flatters, as many
cues were written with most of these cards in mind. The **blind** line doesn't: those cards were read only after the
definitions and cues were frozen, and the weights for it are fitted on the other cards alone. Expect that figure
on new cards. The sample is all of one catalogue; on quite other work it may be lower.

| skill | cards | precision | recall | F1 |
|---|--:|--:|--:|--:|
{skills}

Cross-validated like the first line above; rows with few cards are rough.
"""


def skills_page(skills: Sequence[Skill], model: SkillModel) -> str:
    """Return the page as Markdown."""
    how = _HOW.format(
        best=BEST_PASSAGES,
        fields=", ".join(f"{field.replace('_', ' ')} {weight:g}" for field, weight in CUE_WEIGHTS.items()),
        cosine=model.cosine_weight,
        cue=model.cue_weight,
        threshold=model.threshold,
        gate=model.gate,
    )
    figures = model.figures
    report = _FIGURES.format(
        cards=figures["cards"],
        pairs=figures["pairs"],
        folds=figures["folds"],
        rows="\n".join(_row(label, row) for label, row in figures["overall"].items()),
        skills="\n".join(_row(skill.name, figures["skills"][skill.id]) for skill in skills),
    )
    return "\n".join((_METHOD, _definitions(skills), how, report))


def _definitions(skills: Sequence[Skill]) -> str:
    lines = [f"## The {len(skills)} skills"]
    for family, members in groupby(skills, key=lambda skill: skill.family):
        lines += ["", f"### {family}", "", "| name | id | definition |", "|---|---|---|"]
        lines += [f"| {skill.name} | `{skill.id}` | {skill.definition} |" for skill in members]
    return "\n".join((*lines, ""))


def _row(label: str, row: Mapping[str, Any]) -> str:
    numbers = " | ".join("-" if row[name] is None else f"{row[name]:.2f}" for name in ("precision", "recall", "f1"))
    return f"| {label} | {row['cards']} | {numbers} |"
