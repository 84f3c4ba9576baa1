"""Fit the weights that assign skills to cards, report how well they do, and write them with docs/skills.md.

Reads cards judged by reading (`tests/data/skill_judgments.jsonl`) and an index that holds them:

    ale-semantic build --cards path/to/agents-last-exam --index skill-index
    python benchmarks/fit_skills.py --index skill-index            # report only
    python benchmarks/fit_skills.py --index skill-index --write    # also write weights and page

Only weights, and one mean and deviation of cosines a skill, are written: no text of the cards, no vector.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_recall_fscore_support
from sklearn.model_selection import KFold

from ale_semantic import Engine
from ale_semantic.errors import AleSemanticError
from ale_semantic.skill_definitions import Skill, definitions_digest, load_skills
from ale_semantic.skill_model import SkillModel, cue_scores, phrasing_vectors, skill_cosines, skill_vectors
from ale_semantic.skill_page import skills_page

ROOT = Path(__file__).resolve().parent.parent
JUDGMENTS = ROOT / "tests" / "data" / "skill_judgments.jsonl"
MODEL = ROOT / "ale_semantic" / "data" / "skill_model.json"
PAGE = ROOT / "docs" / "skills.md"
FOLDS = 10
INNER_FOLDS = 5
BLIND = "blind"  # the sample that was read after definitions and cues were frozen
GATE = 0.45  # from this cosine on a query asks for a skill; between 0.4 and 0.5 it makes little difference
THRESHOLDS = np.arange(0.2, 0.65, 0.025)

Floats = NDArray[np.float64]
Truth = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Sample:
    """Judged cards: evidence of shape (cards, skills, 2), truth of shape (cards, skills), which are blind."""

    evidence: Floats
    truth: Truth
    blind: Truth
    cosines: NDArray[np.float32]


def main() -> None:
    """Fit, report, and write if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, required=True, help="index of the judged cards, default encoder")
    parser.add_argument("--judgments", type=Path, default=JUDGMENTS)
    parser.add_argument("--write", action="store_true", help=f"write {MODEL.name} and {PAGE.name}")
    options = parser.parse_args()
    skills = load_skills()
    engine = Engine.open(options.index)
    sample = judged(engine, skills, options.judgments)
    scores, chosen = cross_validated(sample)
    figures = report(skills, sample, scores, chosen)
    for label, row in (*figures["overall"].items(), *figures["skills"].items()):
        print(f"{label:45} {row}")
    if options.write:
        model = fitted_model(engine, skills, sample, threshold_for(sample.truth, scores), figures)
        MODEL.write_text(json.dumps(asdict(model), indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(skills_page(skills, model), encoding="utf-8")


def judged(engine: Engine, skills: Sequence[Skill], path: Path) -> Sample:
    """Return the evidence and the judgments of all judged cards, in the order of the file."""
    rows_of = {card.task_id: row for row, card in enumerate(engine.catalogue.cards)}
    entries = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    rows = [rows_of[entry["task_id"]] for entry in entries]
    space = engine.ranker.space
    vectors = skill_vectors(skills, phrasing_vectors(skills, engine.vectors.encoder))
    cosines = skill_cosines(space, vectors, len(rows_of))[rows]
    cues = cue_scores([engine.catalogue.cards[row] for row in rows], skills)
    standard = (cosines - cosines.mean(axis=0)) / cosines.std(axis=0)
    return Sample(
        evidence=np.stack([standard, np.log1p(cues)], axis=-1).astype(np.float64),
        truth=np.array([[skill.id in entry["skills"] for skill in skills] for entry in entries]),
        blind=np.array([entry["sample"] == BLIND for entry in entries]),
        cosines=cosines,
    )


def fit(evidence: Floats, truth: Truth) -> LogisticRegression:
    """Return the model of some cards: two weights shared by all skills, and how common each skill is."""
    return LogisticRegression(C=1.0, max_iter=500).fit(design(evidence), truth.ravel())


def design(evidence: Floats) -> Floats:
    """Return one row a pair of card and skill: its evidence, and which skill it is."""
    cards, skills, _ = evidence.shape
    return np.hstack([evidence.reshape(cards * skills, -1), np.tile(np.eye(skills), (cards, 1))])


def predict(model: LogisticRegression, evidence: Floats) -> Floats:
    """Return the probabilities, shape (cards, skills)."""
    return np.asarray(model.predict_proba(design(evidence))[:, 1].reshape(evidence.shape[:2]))


def out_of_fold(evidence: Floats, truth: Truth, folds: int) -> Floats:
    """Return each card's probabilities under a model fitted on other cards, shape (cards, skills)."""
    scores = np.zeros(truth.shape)
    for train, test in KFold(folds, shuffle=True, random_state=0).split(evidence):
        scores[test] = predict(fit(evidence[train], truth[train]), evidence[test])
    return scores


def threshold_for(truth: Truth, scores: Floats) -> float:
    """Return the threshold with the best micro F1."""
    found = [f1_score(truth.ravel(), scores.ravel() >= threshold) for threshold in THRESHOLDS]
    return round(float(THRESHOLDS[int(np.argmax(found))]), 3)


def cross_validated(sample: Sample) -> tuple[Floats, Truth]:
    """Return each card's probabilities and assigned skills; model and threshold are of other cards alone."""
    scores, chosen = np.zeros(sample.truth.shape), np.zeros(sample.truth.shape, dtype=bool)
    for train, test in KFold(FOLDS, shuffle=True, random_state=0).split(sample.evidence):
        scores[test], chosen[test] = held_out(sample, train, test)
    return scores, chosen


def held_out(sample: Sample, train: NDArray[np.intp], test: NDArray[np.intp]) -> tuple[Floats, Truth]:
    """Return probabilities and skills of the test cards under a model and threshold of the training cards."""
    evidence, truth = sample.evidence[train], sample.truth[train]
    threshold = threshold_for(truth, out_of_fold(evidence, truth, INNER_FOLDS))
    scores = predict(fit(evidence, truth), sample.evidence[test])
    return scores, scores >= threshold


def report(skills: Sequence[Skill], sample: Sample, scores: Floats, chosen: Truth) -> dict[str, Any]:
    """Return the figures for docs/skills.md."""
    truth = sample.truth
    blind, seen = np.flatnonzero(sample.blind), np.flatnonzero(~sample.blind)
    _, blind_chosen = held_out(sample, seen, blind)
    meaning = Sample(sample.evidence[:, :, :1], truth, sample.blind, sample.cosines)
    cues = Sample(sample.evidence[:, :, 1:], truth, sample.blind, sample.cosines)
    overall = {
        "cross-validated, micro": figure(truth, chosen, "micro"),
        "cross-validated, macro": figure(truth, chosen, "macro"),
        "**blind cards, micro**": figure(truth[blind], blind_chosen, "micro"),
        "meaning alone, cross-validated": figure(truth, cross_validated(meaning)[1], "micro"),
        "cues alone, cross-validated": figure(truth, cross_validated(cues)[1], "micro"),
        "meaning alone, blind": figure(truth[blind], held_out(meaning, seen, blind)[1], "micro"),
        "cues alone, blind": figure(truth[blind], held_out(cues, seen, blind)[1], "micro"),
    }
    by_skill = {
        skill.id: figure(truth[:, [column]], chosen[:, [column]], "micro", cards=int(truth[:, column].sum()))
        for column, skill in enumerate(skills)
    }
    return {"cards": len(truth), "pairs": int(truth.sum()), "folds": FOLDS, "overall": overall, "skills": by_skill}


def figure(truth: Truth, chosen: Truth, average: str, *, cards: int | None = None) -> dict[str, Any]:
    """Return precision, recall and F1, and the number of cards they are of."""
    number = cards if cards is not None else len(truth)
    if average == "micro":  # over all pairs as if they were of one skill; only pairs that hold are of interest
        truth, chosen, average = truth.ravel(), chosen.ravel(), "binary"
    values = precision_recall_fscore_support(truth, chosen, average=average, zero_division=0.0)[:3]
    names = ("precision", "recall", "f1")
    return {"cards": number, **{name: round(float(value), 3) for name, value in zip(names, values, strict=True)}}


def fitted_model(
    engine: Engine, skills: Sequence[Skill], sample: Sample, threshold: float, figures: dict[str, Any]
) -> SkillModel:
    """Return the model of all judged cards."""
    model = fit(sample.evidence, sample.truth)
    cosine, cue, *common = (round(float(weight), 4) for weight in model.coef_[0])
    base = float(model.intercept_[0])
    ids = [skill.id for skill in skills]

    def by_id(values: Sequence[float] | NDArray[np.float32]) -> dict[str, float]:
        return {skill_id: round(float(value), 4) for skill_id, value in zip(ids, values, strict=True)}

    return SkillModel(
        cosine_weight=cosine,
        cue_weight=cue,
        intercepts=by_id([base + own for own in common]),
        threshold=threshold,
        gate=GATE,
        encoder=engine.ranker.space.identity.digest,
        centres=by_id(sample.cosines.mean(axis=0)),
        spreads=by_id(sample.cosines.std(axis=0)),
        definitions=definitions_digest(skills),
        figures=figures,
    )


if __name__ == "__main__":
    try:
        main()
    except AleSemanticError as fault:
        raise SystemExit(str(fault)) from None
