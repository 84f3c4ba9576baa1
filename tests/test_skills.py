"""Skills: the table of definitions, their assignment to toy cards, evidence, queries, the bundle and the facet."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib import resources
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from toy import HashEncoder, toy_card, toy_catalogue

from ale_semantic import Engine, build_index
from ale_semantic.embeddings.encoder import TextKind
from ale_semantic.errors import AleSemanticError, BundleError, UnknownNameError
from ale_semantic.skill_definitions import Skill, definitions_digest, find_skill, load_skills, parse_skills
from ale_semantic.skill_model import SkillModel, cue_scores, load_model, phrasing_vectors, skill_cosines, skill_vectors
from ale_semantic.skill_page import skills_page
from ale_semantic.skills import SkillTable, assign_skills
from ale_semantic.types import Field

ROOT = Path(__file__).resolve().parent.parent
JUDGMENTS = ROOT / "tests" / "data" / "skill_judgments.jsonl"

MUSIC = Skill(
    "transcribe", "Transcribe music", "Toys", "Write music as notes.", ("engrave a melody",), ("melod(y|ies)",)
)
LEGAL = Skill(
    "review-law", "Review legal texts", "Toys", "Find unlawful clauses.", ("review a lease",), ("unlawful", "lease")
)
FITS = Skill("fit-models", "Fit models", "Toys", "Fit a model.", ("least squares fit",), ("least squares", "fit\\b"))
TOYS = (MUSIC, LEGAL, FITS)
MODEL = SkillModel(
    cosine_weight=1.0,
    cue_weight=3.0,
    intercepts={"transcribe": -4.0, "review-law": -4.0, "fit-models": -4.0},
    threshold=0.5,
    gate=0.4,
    encoder="another",
    centres={},
    spreads={},
    definitions="",
    figures={},
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("skills") / "index"
    build_index(toy_catalogue(), where, encoder=HashEncoder())
    return where


@pytest.fixture
def engine(folder: Path) -> Engine:
    return Engine.open(folder, encoder=HashEncoder())


@pytest.fixture
def table(engine: Engine) -> SkillTable:
    return assign_skills(engine.catalogue.cards, engine.ranker.space, HashEncoder(), skills=TOYS, model=MODEL)


def row_of(table: SkillTable, task_id: str) -> int:
    return [card.task_id for card in table.cards].index(task_id)


def ids_with(table: SkillTable, skill_id: str) -> list[str]:
    return [table.cards[row].task_id for row in table.rows_with(skill_id)]


def entry(**changes: object) -> str:
    fields: dict[str, object] = {
        "id": "sing",
        "name": "Sing",
        "family": "Music",
        "definition": "Sing a song.",
        "prototypes": ["sing it"],
        "cues": ["sing"],
        **changes,
    }
    lines = [f"{name} = {json.dumps(value)}" for name, value in fields.items() if value is not None]
    return "\n".join(("[[skill]]", *lines, ""))


class TestDefinitions:
    def test_the_project_s_table_has_32_to_40_skills_with_phrasings_and_cues(self) -> None:
        skills = load_skills()
        assert 32 <= len(skills) <= 40
        assert all(len(skill.prototypes) >= 3 and skill.definition.endswith(".") for skill in skills)

    def test_all_its_cues_are_expressions(self) -> None:
        path = Path(str(resources.files("ale_semantic") / "data" / "skills.toml"))
        assert parse_skills(path.read_text(encoding="utf-8"), "skills.toml") == load_skills()  # compiles them all

    def test_families_stand_together(self) -> None:
        families = [skill.family for skill in load_skills()]
        changes = sum(one != other for one, other in pairwise(families))
        assert changes == len(set(families)) - 1

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("[[skill]\n", "not a TOML file"),
            ("", "at least one"),
            (entry(name=None), "field 'name' must be a text"),
            (entry(definition="  "), "field 'definition' must be a text"),
            (entry(prototypes=[]), "field 'prototypes' must be a list"),
            (entry(cues="sing"), "field 'cues' must be a list"),
            (entry(id="Sing Well"), "lower-case words joined by hyphens"),
            (entry(cues=["sing("]), "no regular expression"),
            (entry(cues=["(sing)?"]), "matches nothing at all"),
            (entry(colour="red"), "unknown field 'colour'"),
            (entry() + entry(name="Other"), "stands for both 'sing' and 'sing'"),
            (entry() + entry(id="other"), "stands for both 'sing' and 'other'"),
        ],
    )
    def test_a_faulty_table_is_refused_with_the_place_and_the_problem(self, text: str, problem: str) -> None:
        with pytest.raises(AleSemanticError, match=r"^mine\.toml: ") as caught:
            parse_skills(text, "mine.toml")
        assert problem in str(caught.value)

    def test_a_faulty_skill_is_named(self) -> None:
        with pytest.raises(AleSemanticError, match=r"skill 1 \(sing\)"):
            parse_skills(entry(cues=[]), "mine.toml")

    @pytest.mark.parametrize("text", ["read-scans", "Read scanned documents", "read  SCANNED documents", "READ_SCANS"])
    def test_a_skill_is_found_by_id_or_name(self, text: str) -> None:
        assert find_skill(load_skills(), text).id == "read-scans"

    def test_an_unknown_skill_is_answered_with_near_names(self) -> None:
        with pytest.raises(UnknownNameError, match="Read scanned documents"):
            find_skill(load_skills(), "read scaned documents")

    def test_cues_begin_at_the_start_of_a_word(self) -> None:
        skill = Skill("x", "X", "F", "D.", ("p",), ("art",))
        assert skill.cues_in("a part of an artist's work") == ["art"]
        assert skill.cues_in("a part, a_art, 2art") == []


class TestModel:
    def test_it_was_fitted_with_the_present_definitions(self) -> None:
        assert load_model().definitions == definitions_digest(load_skills()), "run benchmarks/fit_skills.py --write"

    def test_it_knows_every_skill(self) -> None:
        model, ids = load_model(), {skill.id for skill in load_skills()}
        assert set(model.intercepts) == set(model.centres) == set(model.spreads) == ids

    def test_both_kinds_of_evidence_count_for_a_skill(self) -> None:
        assert load_model().cosine_weight > 0.3
        assert load_model().cue_weight > 0.3

    def test_the_stored_centres_serve_the_encoder_they_are_of_and_no_other(self) -> None:
        model = SkillModel(
            1.0, 0.0, {"transcribe": 0.0}, 0.5, 0.4, "mine", {"transcribe": 0.2}, {"transcribe": 0.1}, "", {}
        )
        cosines, cues = np.array([[0.3], [0.5]], np.float32), np.zeros((2, 1), np.float32)
        own = model.probabilities([MUSIC], cosines, cues, "mine")
        np.testing.assert_allclose(own[:, 0], 1 / (1 + np.exp([-1.0, -3.0])), rtol=1e-5)
        other = model.probabilities([MUSIC], cosines, cues, "another")
        np.testing.assert_allclose(other[:, 0], 1 / (1 + np.exp([1.0, -1.0])), rtol=1e-5)

    def test_equal_cosines_say_nothing(self) -> None:
        flat = np.full((3, 3), 0.5, np.float32)
        scores = MODEL.probabilities(TOYS, flat, np.zeros_like(flat), "any")
        np.testing.assert_allclose(scores, 1 / (1 + np.exp(4.0)), rtol=1e-5)

    def test_a_cue_in_the_title_counts_more_than_one_in_the_prompt(self) -> None:
        titled = toy_card("x/a", title="A lease", summary="s", task_prompt="p")
        prompted = toy_card("x/b", title="t", summary="s", task_prompt="Read the lease and the lease again.")
        scores = cue_scores([titled, prompted], TOYS)
        np.testing.assert_allclose(scores, [[0, 3.0, 0], [0, 0.5, 0]])

    def test_cosines_are_those_of_the_nearest_passages(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        space, vectors = engine.ranker.space, skill_vectors(TOYS, phrasing_vectors(TOYS, HashEncoder()))
        found = skill_cosines(space, vectors, len(engine.catalogue))
        for row in range(len(engine.catalogue)):
            own = space.backend.vectors[space.starts[row] : space.starts[row + 1]] @ vectors.T
            np.testing.assert_allclose(found[row], np.sort(own, axis=0)[-3:].mean(axis=0), atol=1e-6)
        monkeypatch.setattr("ale_semantic.skill_model._CHUNK", 5)  # smaller than one card
        np.testing.assert_allclose(skill_cosines(space, vectors, len(engine.catalogue)), found, atol=1e-6)

    def test_each_skill_has_one_unit_vector(self) -> None:
        vectors = skill_vectors(TOYS, phrasing_vectors(TOYS, HashEncoder()))
        assert vectors.shape == (3, 64)
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-5)


class TestTable:
    def test_cards_get_the_skills_their_text_asks_for(self, table: SkillTable) -> None:
        assert ids_with(table, "transcribe") == ["art_media/tune_transcription"]
        assert ids_with(table, "review-law") == ["legal/lease_review"]
        assert ids_with(table, "fit-models") == ["science/orbit_fit"]

    def test_all_views_of_the_table_agree(self, table: SkillTable) -> None:
        for row in range(len(table.cards)):
            by_row = table.skills_of(row)
            assert set(by_row) == {table.ids[column] for column in np.flatnonzero(table.matrix[row])}
            scores = [table.score(row, skill_id) for skill_id in by_row]
            assert scores == sorted(scores, reverse=True)
            assert all(row in table.rows_with(skill_id) for skill_id in by_row)

    def test_a_skill_may_be_named_by_its_name(self, table: SkillTable) -> None:
        assert table.score(0, "Transcribe music") == table.score(0, "transcribe")
        assert table.name("transcribe") == "Transcribe music"
        with pytest.raises(UnknownNameError, match="Fit models"):
            table.name("fit modls")

    def test_evidence_is_a_passage_of_the_card_and_the_words_that_point_to_the_skill(self, table: SkillTable) -> None:
        row = row_of(table, "legal/lease_review")
        evidence = table.evidence(row, "review-law")
        assert evidence.field in set(Field)
        assert "lease" in evidence.text.lower()
        assert set(evidence.cues) == {"lease", "unlawful"}
        assert -1 <= evidence.cosine <= 1

    def test_evidence_without_cues_is_still_a_passage(self, table: SkillTable) -> None:
        evidence = table.evidence(row_of(table, "science/soil_maps"), "review-law")
        assert evidence.text
        assert evidence.cues == ()

    def test_it_is_the_same_after_writing_and_reading(self, table: SkillTable, tmp_path: Path) -> None:
        table.write(tmp_path)
        again = SkillTable.open(tmp_path, table.cards, table.space)
        assert again is not None
        assert (again.skills, again.threshold, again.gate) == (table.skills, table.threshold, table.gate)
        np.testing.assert_array_equal(again.scores, table.scores)
        np.testing.assert_array_equal(again.vectors, table.vectors)

    def test_a_folder_without_skills_has_none(self, table: SkillTable, tmp_path: Path) -> None:
        assert SkillTable.open(tmp_path, table.cards, table.space) is None

    @pytest.mark.parametrize("damage", ["arrays", "definitions", "cards"])
    def test_a_damaged_table_is_refused(self, table: SkillTable, tmp_path: Path, damage: str) -> None:
        table.write(tmp_path)
        cards = table.cards
        if damage == "arrays":
            (tmp_path / "skill_scores.npy").write_bytes(b"no arrays")
        elif damage == "definitions":
            (tmp_path / "skills.json").write_text('{"skills": [{"id": "x"}], "threshold": 0.5}', encoding="utf-8")
        else:
            cards = cards[:-1]
        with pytest.raises(BundleError, match="skills"):
            SkillTable.open(tmp_path, cards, table.space)

    def test_given_cues_stand_for_those_in_the_cards(self, table: SkillTable) -> None:
        cues = cue_scores(table.cards, TOYS)
        again = assign_skills((), table.space, HashEncoder(), skills=TOYS, model=MODEL, cues=cues)
        np.testing.assert_array_equal(again.scores, table.scores)

    def test_cues_are_counted_as_they_are_found(self) -> None:
        skill = replace(TOYS[0], cues=("invoices?\\b(?! match)", "end$", "(bank|ledger) pay", "a.c", "colou?r", "^pay"))
        texts = ["invoice match", "invoices at the end", "", "bank pay", "the a\nc; abc color", "ledger", "pay"]
        counts = skill.cue_counts(texts, "\n".join(texts))
        assert counts == [len(skill.cues_in(text)) for text in texts] == [0, 2, 0, 1, 2, 0, 1]


class TestQueries:
    def test_a_query_asks_for_the_skill_it_describes(self, table: SkillTable) -> None:
        vector = HashEncoder().encode(["engrave a melody as music notes"], TextKind.QUERY)[0]
        assert [match.id for match in _gated(table, 0.4).match(vector)] == ["transcribe"]

    def test_a_query_about_something_else_asks_for_none(self, table: SkillTable) -> None:
        vector = HashEncoder().encode(["kriging of probes"], TextKind.QUERY)[0]
        assert _gated(table, 0.4).match(vector) == ()
        assert not table.asked_for(()).any()

    def test_without_a_known_gate_a_skill_must_stand_out_from_the_others(self, table: SkillTable) -> None:
        assert table.gate is None  # the weights are of another encoder
        vector = HashEncoder().encode(["engrave a melody as music notes"], TextKind.QUERY)[0]
        assert table.match(vector) == ()  # among three, none can be three deviations away

    def test_cards_that_need_the_skill_answer_best(self, table: SkillTable) -> None:
        vector = HashEncoder().encode(["engrave a melody as music notes"], TextKind.QUERY)[0]
        scores = table.asked_for(_gated(table, 0.4).match(vector))
        assert table.cards[int(np.argmax(scores))].task_id == "art_media/tune_transcription"


class TestEngine:
    def test_the_bundle_holds_the_project_s_skills(self, engine: Engine) -> None:
        assert engine.skills is not None
        assert engine.skills.skills == load_skills()

    def test_the_facet_filters_by_name_and_by_id(self, engine: Engine) -> None:
        assert engine.skills is not None
        row, skill_id = next((row, ids[0]) for row in range(9) if (ids := engine.skills.skills_of(row)))
        name = engine.skills.name(skill_id)
        by_name = engine.search(where=f'skill = "{name.upper()}"')
        by_id = engine.search(where=f"skill = {skill_id}")
        assert [hit.task_id for hit in by_name.hits] == [hit.task_id for hit in by_id.hits]
        assert engine.catalogue.cards[row].task_id in {hit.task_id for hit in by_id.hits}
        assert by_id.total == len(engine.skills.rows_with(skill_id))

    def test_a_skill_that_no_card_needs_is_no_error_but_an_unknown_one_is(self, engine: Engine) -> None:
        assert engine.skills is not None
        unused = next(s.id for s in engine.skills.skills if not len(engine.skills.rows_with(s.id)))
        assert engine.search(where=f"skill = {unused}").total == 0
        with pytest.raises(UnknownNameError, match="Read scanned documents"):
            engine.search(where='skill = "read scaned documents"')

    def test_the_facet_is_counted(self, engine: Engine) -> None:
        (facet,) = [facet for facet in engine.facets() if facet.field == "skill"]
        assert engine.skills is not None
        assert facet.multivalued
        assert {value.value: value.count for value in facet.values} == {
            skill.name: len(engine.skills.rows_with(skill.id))
            for skill in engine.skills.skills
            if len(engine.skills.rows_with(skill.id))
        }


class TestFigures:
    def test_the_judged_sample_names_known_skills_and_each_task_once(self) -> None:
        entries = [json.loads(line) for line in JUDGMENTS.read_text(encoding="utf-8").splitlines()]
        ids = {skill.id for skill in load_skills()}
        assert len({one["task_id"] for one in entries}) == len(entries) >= 60
        assert all(set(one["skills"]) <= ids for one in entries)
        assert ids == {skill_id for one in entries for skill_id in one["skills"]}
        assert load_model().figures["pairs"] == sum(len(one["skills"]) for one in entries)

    def test_the_page_is_up_to_date(self) -> None:
        page = (ROOT / "docs" / "skills.md").read_text(encoding="utf-8")
        assert page == skills_page(load_skills(), load_model()), "run benchmarks/fit_skills.py --write"


def _gated(table: SkillTable, gate: float) -> SkillTable:
    return replace(table, gate=gate)
