"""Where a model is found again, and whether its settings are still those of an index or an export."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from toy import toy_cards, toy_catalogue

from ale_semantic import build_index
from ale_semantic.embeddings.build_report import unchanged
from ale_semantic.embeddings.bundle import open_generation
from ale_semantic.embeddings.earlier import EarlierIndex
from ale_semantic.embeddings.encoder import EncoderIdentity, SentenceTransformerEncoder
from ale_semantic.embeddings.model_source import ModelSource, matches, settings_digest
from ale_semantic.embeddings.registry import find_model, locate

pytestmark = pytest.mark.filterwarnings("ignore")
PROMPTS = {"query": "query: ", "document": "passage: "}


@pytest.fixture
def own_model(model: Path, tmp_path: Path) -> Path:
    """Return a copy of the tiny model, with prompts."""
    shutil.copytree(model, tmp_path / "own")
    edit(tmp_path / "own" / "config_sentence_transformers.json", prompts=PROMPTS)
    return tmp_path / "own"


def edit(file: Path, **fields: Any) -> None:
    file.write_text(json.dumps(json.loads(file.read_text()) | fields))


def other_prompts(folder: Path) -> None:
    edit(folder / "config_sentence_transformers.json", prompts={"query": "ask: ", "passage": "doc: "})


def other_length(folder: Path) -> None:
    edit(folder / "tokenizer_config.json", model_max_length=20)
    edit(folder / "sentence_bert_config.json", max_seq_length=20)


def test_a_source_finds_the_model_from_any_folder(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model.parent)
    source = ModelSource.of(model.name)
    assert source.place == str(model.resolve())
    assert source == SentenceTransformerEncoder.load(str(model)).source


@pytest.mark.parametrize(
    ("change", "now"),
    [
        (other_prompts, {"query_prefix": "ask: ", "document_prefix": "doc: "}),
        (other_length, {"max_tokens": 20}),
    ],
)
def test_a_model_whose_settings_were_edited_is_another(own_model: Path, change: Any, now: dict[str, Any]) -> None:
    before = SentenceTransformerEncoder.load(str(own_model))
    assert (before.identity.query_prefix, before.identity.document_prefix) == ("query: ", "passage: ")
    assert matches(str(own_model), before.identity, before.source.settings)
    change(own_model)
    assert not matches(str(own_model), before.identity, before.source.settings)
    after = SentenceTransformerEncoder.load(str(own_model))
    assert after.identity == replace(before.identity, **now)
    assert after.identity.key != before.identity.key  # nothing that the earlier one embedded is taken
    assert matches(str(own_model), after.identity, after.source.settings)


@pytest.mark.usefixtures("quick_export")
def test_an_index_is_built_again_with_the_new_settings(own_model: Path, tmp_path: Path) -> None:
    catalogue = toy_catalogue(toy_cards()[:2])
    build_index(catalogue, tmp_path / "index", model=str(own_model), multilingual=False)
    assert unchanged(catalogue, EarlierIndex.open(tmp_path / "index"), str(own_model), False) is not None
    other_prompts(own_model)
    assert unchanged(catalogue, EarlierIndex.open(tmp_path / "index"), str(own_model), False) is None
    report = build_index(catalogue, tmp_path / "index", model=str(own_model), multilingual=False)
    assert report.embedded == 2  # nothing comes from the cache or the index
    assert (report.model.query_prefix, report.model.document_prefix) == ("ask: ", "doc: ")
    _, manifest = open_generation(tmp_path / "index")
    assert EncoderIdentity(**manifest["spaces"][0]["encoder"]) == report.model
    other_length(own_model)
    assert unchanged(catalogue, EarlierIndex.open(tmp_path / "index"), str(own_model), False) is None


def test_settings_that_were_not_kept_do_only_where_the_registry_says_all(model: Path) -> None:
    identity = SentenceTransformerEncoder.load(str(model)).identity
    assert not matches(str(model), identity, None)
    spec = find_model("minilm")
    default = EncoderIdentity(
        "minilm", spec.revision, "9f6ac5370e00793eb3db08f558ada97d506dd543d8b2ca3b07d95b78a72933a3", 384, 256
    )
    assert matches("minilm", default, None)
    assert matches("minilm", default, settings_digest(locate(spec)))
    assert not matches("minilm", default, "0" * 64)
    assert not matches("minilm", replace(default, query_prefix="query: "), None)
