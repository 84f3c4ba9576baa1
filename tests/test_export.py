"""Exports: nothing lost, nothing executed, and each file says what made it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy import toy_card, toy_cards, toy_catalogue

from ale_semantic.catalogue import Catalogue
from ale_semantic.errors import AleSemanticError
from ale_semantic.export import ExportFormat, Selected, Selection, export_bytes, export_format, selection_of
from ale_semantic.sources.checkout import read_task_list
from ale_semantic.types import Band, Hit, Mode, Provenance, SearchResult, TaskCard, Verdict, Why

PROVENANCE = Provenance("toys", "f" * 64, 9, "hash", "1", 1, "0.1")
ORIGIN = {
    "query": "leases",
    "filter": "os = linux",
    "model": "hash@1",
    "catalogue": "toys",
    "fingerprint": "f" * 64,
    "made_by": "ale-semantic 0.1",
}
NASTY = toy_card(
    "art_media/nasty",
    title="=HYPERLINK(\"http://x\") 'quoted', 年报",
    summary="<img src=x onerror=alert(1)> & [x](javascript:alert(1)) | `a` *b* _c_ ~~d~~ $e$ @team &lt;",
    task_prompt='1. one\r\ntwo\rthree\n\n\'=four\u2028five, "six" \0 seven',
    agent_must_do=["-1+1", "+2", "@SUM(1)"],
)


def selection(*cards: TaskCard, query: str = "leases", note: str = "") -> Selection:
    tasks = tuple(Selected(card, rank, 1 / rank, note) for rank, card in enumerate(cards, start=1))
    return Selection(tasks, query, "os = linux", PROVENANCE)


def rows(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline="")))


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("x.csv", ExportFormat.CSV),
        ("x.JSONL", ExportFormat.JSONL),
        ("x.ndjson", ExportFormat.JSONL),
        ("x.md", ExportFormat.MARKDOWN),
        ("x.markdown", ExportFormat.MARKDOWN),
        ("x.parquet", ExportFormat.PARQUET),
        ("x.txt", ExportFormat.TASK_LIST),
    ],
)
def test_a_files_ending_names_its_format(name: str, form: ExportFormat) -> None:
    assert export_format(Path(name)) is form


@pytest.mark.parametrize("name", ["x", "x.", ".csv", "x.xlsx", "x.csv.gz"])
def test_another_ending_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(AleSemanticError, match=r"known are \.csv, \.jsonl, \.md, \.parquet, \.txt"):
        export_format(Path(name))


@pytest.mark.parametrize("form", [ExportFormat.CSV, ExportFormat.JSONL, ExportFormat.PARQUET], ids=str)
def test_an_export_is_a_catalogue_again(tmp_path: Path, form: ExportFormat) -> None:
    path = tmp_path / f"export.{form}"
    path.write_bytes(export_bytes(selection(*toy_cards(), NASTY), form))
    assert Catalogue.load(path).fingerprint == toy_catalogue([*toy_cards(), NASTY]).fingerprint


@settings(max_examples=30)
@given(text=st.text(alphabet=st.sampled_from("'=+-@＝\t\r\n\",x年"), min_size=1).filter(str.strip))
def test_any_text_survives_a_csv_and_none_is_a_formula(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    card = toy_card(title=text, summary=text, task_prompt=text, agent_must_do=[text])
    content = export_bytes(selection(card, query=text, note=text), ExportFormat.CSV)
    for cell in rows(content)[0].values():
        assert not cell.startswith(tuple("=+-@＝\t\r\n"))
    path = tmp_path_factory.mktemp("csv") / "export.csv"
    path.write_bytes(content)
    assert Catalogue.load(path).cards == (card,)


def test_a_csv_is_what_a_spreadsheet_takes_for_unicode() -> None:
    content = export_bytes(selection(*toy_cards()), ExportFormat.CSV)
    assert content.startswith(b"\xef\xbb\xbf")
    assert rows(content)[3]["task_id"] == "business_finance/年报"
    assert json.loads(rows(content)[3]["input_files"])[0]["name"] == "年报"


def test_rows_say_what_made_them() -> None:
    chosen = selection(*toy_cards()[:2], note="why not")
    csv_row = rows(export_bytes(chosen, ExportFormat.CSV))[1]
    table = pyarrow.parquet.read_table(io.BytesIO(export_bytes(chosen, ExportFormat.PARQUET)))
    line = json.loads(export_bytes(chosen, ExportFormat.JSONL).splitlines()[1])
    for row in (csv_row, table.to_pylist()[1]):
        assert {name: row[f"export_{name}"] for name in ORIGIN} == ORIGIN
        assert (int(row["rank"]), float(row["score"]), row["note"]) == (2, 0.5, "why not")
    assert (line["export"], line["rank"], line["score"], line["note"]) == (ORIGIN, 2, 0.5, "why not")
    assert {name: table.schema.metadata[f"ale_semantic.{name}".encode()].decode() for name in ORIGIN} == ORIGIN


def test_a_task_list_is_read_by_the_runner(tmp_path: Path) -> None:
    cards = [*toy_cards(), toy_card("code/c#_port"), toy_cards()[0]]
    path = tmp_path / "list.txt"
    path.write_bytes(
        export_bytes(selection(*cards, query="two\nlines\u2028legal/none\x85\x0bx"), ExportFormat.TASK_LIST)
    )
    assert read_task_list(path) == tuple(dict.fromkeys(card.task_id for card in cards))
    header = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("# ")]
    assert header[0] == "# query: two lines legal/none x"
    assert len(header) == len(ORIGIN)


def test_markdown_shows_every_text_literally_and_on_its_line() -> None:
    query = "`<img src=x>`\n# heading"
    text = export_bytes(selection(NASTY, query=query, note="- [x](javascript:1)"), ExportFormat.MARKDOWN).decode()
    assert "<" not in text
    assert re.findall(r"(?<!\\)\]\((\w+)", text) == ["https"]  # the one link is the card's own
    assert r"\[x\](javascript:alert(1)) \| \`a\` \*b\* \_c\_ \~\~d\~\~ \$e\$ \@team &amp;lt;" in text
    assert "- query: \\`&lt;img src=x\\>\\` \\# heading\n" in text
    assert "\n## &#61;HYPERLINK" in text
    assert "](https://github.com/rdi-berkeley/agents-last-exam/tree/main/tasks/art_media/nasty)" in text
    table = [line for line in text.splitlines() if line.startswith("| ")]
    assert [line.replace(r"\|", "").count("|") for line in table] == [8, 8]


@pytest.mark.parametrize("start", ["-", "+", "=", "1.", "12)"])
def test_markdown_makes_no_block_of_a_summary(start: str) -> None:
    text = export_bytes(selection(toy_card(summary=f"{start} words")), ExportFormat.MARKDOWN).decode()
    assert text.splitlines()[-1] == f"&#{ord(start[0])};{start[1:]} words"


@pytest.mark.parametrize("form", list(ExportFormat), ids=str)
def test_an_empty_selection_is_an_empty_file_of_its_form(tmp_path: Path, form: ExportFormat) -> None:
    path = tmp_path / f"export.{form}"
    path.write_bytes(export_bytes(selection(), form))
    if form is ExportFormat.TASK_LIST:
        assert read_task_list(path) == ()
    elif form is not ExportFormat.MARKDOWN:
        with pytest.raises(AleSemanticError, match="holds no readable task card"):
            Catalogue.load(path)


def test_no_form_tells_how_a_task_is_graded() -> None:
    secrets = {name: f"secret {name}" for name in ("evaluation", "referenceFiles", "evaluatorCredentials")}
    card = toy_card(**secrets, outputContracts=["secret"])
    for form in ExportFormat:
        assert b"secret" not in export_bytes(selection(card), form)


def test_hits_and_hand_picked_cards_are_selections() -> None:
    hit = Hit(toy_card(), 0.25, Band.WEAK, 4, Why(None, (), None, None))
    result = SearchResult("q", "w", Mode.DENSE, Verdict.WEAK, 9, (hit,), (), "all", PROVENANCE)
    assert Selection.of_result(result) == Selection((Selected(hit.card, 4, 0.25),), "q", "w", PROVENANCE)
    picked = selection_of([hit.card], PROVENANCE)
    assert picked.tasks == (Selected(hit.card),)
    assert rows(export_bytes(picked, ExportFormat.CSV))[0]["rank"] == ""
