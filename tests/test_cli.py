"""The command line: stable JSON, one clear line and exit code 2 for each fault, help for every command."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from toy import HashEncoder, toy_card, toy_cards, toy_catalogue, toy_raw

from ale_semantic import build_index
from ale_semantic.beside import BESIDE
from ale_semantic.cards import card_to_row
from ale_semantic.catalogue import Catalogue
from ale_semantic.cli import main
from ale_semantic.cli.options import show_build
from ale_semantic.embeddings.digests import file_digest
from ale_semantic.embeddings.encoder import Encoder
from ale_semantic.embeddings.space import VectorSpace

RESULT_KEYS = set(
    "schema query where mode verdict total hits facets counted notices recognised plan provenance".split()
)
HIT_KEYS = set("task_id title score band rank why card".split())
WHY_KEYS = set("passage matched_words dense lexical note".split())
COMMANDS = "build search similar facets show export lint vocabulary info app serve mcp keys eval curriculum".split()
GROUPS = {"curriculum": "ladder path subset split coverage prerequisites diff", "keys": "add list revoke"}
RUN = [sys.executable, "-c", "from ale_semantic.cli import main; main()"]


@dataclass(frozen=True, slots=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        assert self.code == 0, self.err
        return json.loads(self.out)


Cli = Callable[..., Ran]


@pytest.fixture(scope="session")
def toy_index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli") / "index"
    build_index(toy_catalogue(), folder, encoder=HashEncoder())
    return folder


@pytest.fixture
def cli(toy_index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Run the command line on the toy index, in this process."""

    def encoder(self: VectorSpace) -> Encoder:
        return HashEncoder()

    monkeypatch.setattr(VectorSpace, "load_encoder", encoder)
    monkeypatch.setenv("ALE_INDEX", str(toy_index))
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: str | Path) -> Ran:
        monkeypatch.setattr(sys, "argv", ["ale-semantic", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Ran(int(ended.value.code or 0), out, err)

    return run


@pytest.fixture
def table(tmp_path: Path) -> Path:
    file = tmp_path / "toys.jsonl"
    file.write_text("".join(json.dumps(card_to_row(card)) + "\n" for card in toy_cards()), encoding="utf-8")
    return file


def refused(ran: Ran, *words: str) -> None:
    """Check that a command said on the error stream what is wrong, without a traceback, and nothing else."""
    assert (ran.code, ran.out) == (2, "")
    assert "Traceback" not in ran.err
    for word in words:
        assert word in ran.err


# Search


@pytest.mark.parametrize("command", [("search", "lease"), ("similar", "legal/lease_review")])
def test_the_plan_is_told_when_asked_for(cli: Cli, command: tuple[str, ...]) -> None:
    told = cli(*command, "--where", "domain = legal", "--explain").out
    assert "Plan: exact" in told
    plan = cli(*command, "--where", "domain = legal", "--json").json["plan"]
    assert f"{plan['passing']} of {plan['passages']} passages pass the filter; {len(toy_cards())} tasks" in told
    assert "Plan" not in cli(*command).out


def test_a_query_without_vectors_has_no_plan(cli: Cli) -> None:
    assert "no vectors were searched" in cli("search", "lease", "--mode", "lexical", "--explain").out
    assert cli("search", "--json").json["plan"] is None


def test_search_as_json(cli: Cli) -> None:
    found = cli("search", "reconcile supplier invoices", "-k", "3", "--json").json
    assert set(found) == RESULT_KEYS
    assert (found["schema"], found["query"], found["mode"]) == (1, "reconcile supplier invoices", "hybrid")
    assert found["total"] == len(toy_cards())
    assert [hit["rank"] for hit in found["hits"]] == [1, 2, 3]
    first = found["hits"][0]
    assert set(first) == HIT_KEYS
    assert set(first["why"]) == WHY_KEYS
    assert (first["task_id"], first["score"], first["band"]) == ("business_finance/invoice_matching", 1.0, "strong")
    assert first["why"]["matched_words"] == ["reconcile", "supplier", "invoices"]
    assert first["card"]["task_id"] == first["task_id"]
    assert {value["value"] for value in found["facets"]["tier"]["values"]} == {
        "near-term",
        "full-spectrum",
        "last-exam",
    }
    assert found["provenance"]["catalogue"] == "toys"


def test_search_with_filter_page_and_mode(cli: Cli) -> None:
    found = cli("search", "claims", "-w", "domain = legal", "-k", "1", "--offset", "1", "--mode", "lexical", "--json")
    assert (found.json["total"], found.json["where"], found.json["mode"]) == (2, "domain = legal", "lexical")
    assert [hit["rank"] for hit in found.json["hits"]] == [2]
    assert found.json["hits"][0]["why"]["dense"] is None


def test_search_as_a_table(cli: Cli) -> None:
    ran = cli("search", "reconcile supplier invoices")
    assert ran.code == 0
    assert "business_finance/invoice_matching" in ran.out
    assert "Reconcile supplier invoices" in ran.out


def test_a_blank_search_browses(cli: Cli) -> None:
    found = cli("search", "--json", "-k", "50").json
    assert found["verdict"] == "browse"
    assert [hit["task_id"] for hit in found["hits"]] == [card.task_id for card in toy_cards()]


def test_nothing_left_by_the_filter(cli: Cli) -> None:
    found = cli("search", "lease", "-w", "domain = legal and tier = last-exam", "--json").json
    assert (found["verdict"], found["total"], found["hits"]) == ("filtered-out", 0, [])


def test_similar(cli: Cli) -> None:
    found = cli("similar", "legal/lease_review", "--not", "science/soil_maps", "--json", "-k", "50").json
    assert set(found) == RESULT_KEYS
    assert found["total"] == len(toy_cards()) - 2
    assert not {"legal/lease_review", "science/soil_maps"} & {hit["task_id"] for hit in found["hits"]}


def test_similar_to_a_text_from_stdin(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr(sys, "stdin", io.StringIO("Krige the soil moisture and export a raster map."))
    assert cli("similar", "--text", "-", "--json").json["hits"][0]["task_id"] == "science/soil_maps"


def test_facets(cli: Cli) -> None:
    found = cli("facets", "domain", "-w", "domain = legal", "--json").json
    assert set(found) == {"where", "counted", "facets"}
    values = {value["value"]: (value["count"], value["selected"]) for value in found["facets"]["domain"]["values"]}
    assert values["legal"] == (2, True)
    assert values["science"] == (3, False)
    assert "engineering" not in cli("facets", "domain", "--limit", "1").out


def test_show(cli: Cli) -> None:
    found = cli("show", "science/orbit_fit", "--json").json
    assert found["title"] == "Fit a comet's orbit"
    assert [name.lower() for name in found["software_names"]] == ["numpy", "python"]
    assert "Fit a comet's orbit" in cli("show", "science/orbit_fit").out


def test_info(cli: Cli, toy_index: Path) -> None:
    found = cli("info", "--json").json
    assert found["catalogue"]["cards"] == len(toy_cards())
    assert found["spaces"][0]["encoder"]["name"] == "hash"
    assert str(toy_index) in cli("info").out


# Catalogues


def test_lint(cli: Cli, table: Path) -> None:
    rows = cli("lint", "--cards", table, "--json").json
    assert {row["code"] for row in rows if row["task_id"] == "science/spectra_labels"} >= {"domain-mismatch"}
    assert "domain-mismatch" in cli("lint", "--cards", table).out


def test_vocabulary(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps(card_to_row(toy_card(software=["Zorblax Studio 7", "numpy"]))), encoding="utf-8")
    found = cli("vocabulary", "--cards", file, "--json").json
    assert found["software"] == {"Zorblax Studio 7": ["Zorblax Studio"]}
    assert "'Zorblax Studio 7' -> Zorblax Studio" in cli("vocabulary", "--cards", file).out


# Export


def test_export(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "legal.csv"
    ran = cli("export", file, "-w", "domain = legal")
    assert (ran.code, ran.out) == (0, "")
    assert "2 tasks" in ran.err
    with file.open(encoding="utf-8-sig", newline="") as lines:
        text = [line for line in lines if not line.startswith("#")]
    assert {row["task_id"] for row in csv.DictReader(text)} == {"legal/lease_review", "legal/patent_claims"}


def test_export_of_named_tasks_keeps_their_order(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "tasks.txt"
    names = ["science/soil_maps", "legal/lease_review"]
    cli("export", file, "--task", names[0], "--task", names[1])
    lines = [line for line in file.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    assert lines == names


def test_export_does_not_overwrite(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "kept.csv"
    file.write_text("mine")
    refused(cli("export", file), str(file), "--force")
    assert file.read_text() == "mine"
    assert cli("export", file, "--force").code == 0
    assert file.read_text() != "mine"


@pytest.mark.parametrize("name", ["tasks.xls", "tasks"])
def test_export_into_an_unknown_form(cli: Cli, tmp_path: Path, name: str) -> None:
    refused(cli("export", tmp_path / name), ".csv", ".jsonl")
    assert not (tmp_path / name).exists()


def test_export_into_no_folder(cli: Cli, tmp_path: Path) -> None:
    refused(cli("export", tmp_path / "absent" / "tasks.csv"), "can't be written")


# Measuring


@pytest.fixture
def judgments(tmp_path: Path) -> Path:
    rows: list[dict[str, Any]] = [
        {"qid": "1", "query": "reconcile supplier invoices", "rel": {"business_finance/invoice_matching": 3}},
        {"qid": "2", "query": "fit a comet orbit", "kind": "topic", "rel": {"science/orbit_fit": 2}},
        {"qid": "3", "query": "zzyzx", "kind": "no-answer", "rel": {}},
    ]
    file = tmp_path / "judged.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def test_eval(cli: Cli, judgments: Path, tmp_path: Path) -> None:
    saved, page = tmp_path / "run.json", tmp_path / "page.html"
    found = cli("eval", judgments, "--save", saved, "--html", page, "--json").json
    assert found["means"]["all"]["nDCG@10"]["mean"] == 1.0
    assert found["means"]["all"]["MRR"]["mean"] == 1.0
    assert found["no_answer"] == {"unanswerable": 1, "rightly_none": 1, "answerable": 2, "wrongly_none": 0}
    assert json.loads(saved.read_text()) == found
    assert "<table" in page.read_text(encoding="utf-8")
    again = cli("eval", judgments, "--baseline", saved, "--json").json
    assert again["differences"]["all"]["nDCG@10"]["mean"] == 0.0
    assert "1 of 1 queries without an answer" in cli("eval", judgments).out


def test_eval_with_similar_tasks(cli: Cli, judgments: Path, tmp_path: Path) -> None:
    file = tmp_path / "similar.jsonl"
    file.write_text(json.dumps({"task": "science/orbit_fit", "rel": {"science/spectra_labels": 3}}))
    assert set(cli("eval", judgments, "--similar", file, "--json").json["similar"]["means"]) >= {"all"}


def test_eval_of_a_broken_file(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "judged.jsonl"
    file.write_text('{"query": "x", "rel": {}}\n{"query": ')
    refused(cli("eval", file), f"{file}:2", "is not JSON")


# Faults


def test_an_unknown_field_is_pointed_at(cli: Cli) -> None:
    ran = cli("search", "x", "--where", "os = linux and domian = legal")
    refused(ran, "unknown field 'domian'", "'domain'")
    assert ran.err.splitlines()[1:] == ["os = linux and domian = legal", "               ^"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["search", "x", "--where", "domain = "], ["^"]),
        (["search", "x", "--where", "domain = leagl"], ["'leagl'", "'legal'"]),
        (["search", "x", "-k", "0"], ["k must be between 1"]),
        (["search", "x", "--offset", "-1"], ["offset"]),
        (["search", "y" * 20_001], ["20001 characters"]),
        (["search", "x", "--model", "e5-small"], ["hash", "e5-small"]),
        (["similar"], ["at least one task id"]),
        (["similar", "legal/lease_reviw"], ["'legal/lease_reviw'", "'legal/lease_review'"]),
        (["similar", "legal/lease_review", "--not", "legal/lease_review"], ["both"]),
        (["show", "legal/leese_review"], ["unknown task", "'legal/lease_review'"]),
        (["facets", "domian"], ["unknown facet", "'domain'"]),
        (["export", "t.csv", "--task", "legal/lease_review", "-q", "x"], ["--query"]),
        (["lint", "--cards", "no/such/file.jsonl"], ["no/such/file.jsonl"]),
        (["build", "--cards", "demo", "--model", "no such model"], ["'no such model'", "minilm"]),
    ],
)
def test_bad_input_is_one_clear_line(cli: Cli, arguments: list[str], words: list[str]) -> None:
    refused(cli(*arguments), *words)


def test_bad_options_exit_with_two(cli: Cli) -> None:
    refused(cli("search", "x", "--mode", "telepathy"), "telepathy")
    refused(cli("search", "x", "--no-such-option"), "--no-such-option")


@pytest.mark.parametrize(("no_colour", "notice"), [("", "\x1b[33mmind this\x1b[0m"), ("1", "mind this")])
def test_what_a_build_did_is_coloured_on_a_terminal_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], no_colour: str, notice: str
) -> None:
    monkeypatch.setenv("NO_COLOR", no_colour)
    report = build_index(toy_catalogue(), tmp_path / "index", encoder=HashEncoder())
    report = replace(report, notices=("mind this",), tokens_dropped=3)
    show_build(report)
    piped = capsys.readouterr().out
    assert piped.splitlines() == [
        f"{report.cards} tasks ({report.cards} embedded, 0 reused), {report.passages} passages",
        f"{report.tokens_seen} tokens seen, 3 tokens dropped",
        f"model {report.model.name}, {report.model.dimension} dimensions, {report.seconds:.1f} s -> {report.folder}",
        "mind this",
    ]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    show_build(report)
    assert capsys.readouterr().out.splitlines()[-1] == notice


@pytest.mark.parametrize("command", [["search", "x"], ["facets"], ["show", "a/b"], ["info"], ["export", "t.csv"]])
def test_no_index_says_how_to_build_one(cli: Cli, tmp_path: Path, command: list[str]) -> None:
    folder = tmp_path / "none"
    refused(cli(*command, "--index", folder), str(folder), f"ale-semantic build --index {folder}")


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return what is served, while it is only noted down."""
    noted: list[object] = []
    monkeypatch.setattr("ale_semantic.app.launch", lambda *asked, **_: noted.append(asked))
    monkeypatch.setattr("ale_semantic.service.serving.serve", lambda *asked, **_: noted.append(asked))
    return noted


@pytest.mark.parametrize("command", ["app", "serve"])
def test_an_index_of_other_cards_than_those_named_is_not_served(
    cli: Cli, toy_index: Path, command: str, served: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    refused(
        cli(command, "--cards", "demo"),
        str(toy_index),
        "not of these cards",
        f"ale-semantic build --cards demo --index {toy_index}",
    )
    assert not served
    monkeypatch.setenv("ALE_CARDS", "demo")  # what to build of, where there is nothing
    assert cli(command).code == 0
    assert len(served) == 1


@pytest.mark.parametrize("command", ["app", "serve"])
def test_an_index_of_the_cards_that_are_named_is_served(
    cli: Cli, tmp_path: Path, command: str, served: list[object]
) -> None:
    file, folder = tmp_path / "cards.jsonl", tmp_path / "index"
    file.write_text("".join(json.dumps(card_to_row(card)) + "\n" for card in toy_cards()), encoding="utf-8")
    build_index(Catalogue.load(file), folder, encoder=HashEncoder())
    assert cli(command, "--cards", file, "--index", folder).code == 0
    assert len(served) == 1


@pytest.mark.parametrize("smoke_tests", [False, True])
def test_an_index_built_without_unreadable_cards_or_with_smoke_tests_is_served(
    cli: Cli, tmp_path: Path, smoke_tests: bool, served: list[object]
) -> None:
    checkout, folder = tmp_path / "my cards", tmp_path / "index"
    for task_id in ("legal/lease_review", "demo/smoke", "legal/broken"):
        place = checkout / "tasks" / task_id
        place.mkdir(parents=True)
        text = "{" if task_id == "legal/broken" else json.dumps(toy_raw(task_id))
        (place / "task_card.json").write_text(text, encoding="utf-8")
    catalogue = Catalogue.load(checkout, skip_invalid=True, include_smoke_tests=smoke_tests)
    build_index(catalogue, folder, encoder=HashEncoder())
    ran = cli("app", "--cards", checkout, "--index", folder)
    assert (ran.code, len(served)) == (0, 1)
    assert "left out" in ran.err
    assert "legal/broken" in ran.err

    build_index(toy_catalogue(), folder, encoder=HashEncoder())
    cure = f"ale-semantic build --cards '{checkout}' --skip-invalid --index {folder};"
    refused(cli("app", "--cards", checkout, "--index", folder), "has 1 of my cards", cure)
    assert len(served) == 1


def test_a_card_that_cannot_be_read(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "cards.jsonl"
    file.write_text('{"task_id": "a/b"}\n', encoding="utf-8")
    refused(cli("lint", "--cards", file), "cards.jsonl", "--skip-invalid")


# The program


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(cli: Cli, command: str) -> None:
    ran = cli(command, "--help")
    assert ran.code == 0
    assert "Usage: ale-semantic" in ran.out
    if command in GROUPS:
        assert [name for name in GROUPS[command].split() if name not in ran.out] == []
    else:
        assert f"ale-semantic {command}" in ran.out.split("Example", 1)[1]


def test_the_help_lists_every_command(cli: Cli) -> None:
    out = cli("--help").out
    assert [command for command in COMMANDS if command not in out] == []
    assert "ale-semantic" in cli("--version").out


def test_a_reader_that_has_seen_enough_is_no_fault(table: Path) -> None:
    """The other end of the pipe is closed before the first line: no traceback, no complaint."""
    for arguments in (["lint", "--cards", str(table)], ["--version"]):
        reader, writer = os.pipe()
        os.close(reader)
        try:
            done = subprocess.run([*RUN, *arguments], stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
        finally:
            os.close(writer)
        assert done.stderr == ""
        assert done.returncode in (0, 1)  # 1 where the command was stopped, as all Typer programs do


def test_a_build_whose_cards_are_not_there_does_not_wait_for_the_index_to_be_read(
    cli: Cli, toy_index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Path] = []
    failed = Event()

    def digest(path: Path) -> str:
        read.append(path)
        failed.wait(20)
        found: str = file_digest(path)
        return found

    monkeypatch.setattr("ale_semantic.embeddings.verification.file_digest", digest)
    index = tmp_path / "index"
    shutil.copytree(toy_index, index)
    for record in index.glob("checked-*.json"):
        record.unlink()
    ran = cli("build", "--cards", str(tmp_path / "gone"), "--index", str(index))
    failed.set()
    assert ran.code == 2
    BESIDE.start(lambda: None)()
    assert len(read) <= 1
