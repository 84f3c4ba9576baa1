"""Cards from tables: every form of the public data set, and files that aren't tables."""

from __future__ import annotations

import csv
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas
import pyarrow
import pyarrow.parquet
import pytest
from toy import toy_cards

from ale_semantic.cards import card_from_raw, card_to_row
from ale_semantic.errors import CardError, SourceError
from ale_semantic.fields import RawCard
from ale_semantic.sources.tables import TableSource
from ale_semantic.types import TaskCard

ROWS = [card_to_row(card) for card in toy_cards()]


def cards(path: Path) -> list[TaskCard]:
    read = []
    for raw in TableSource(path).raw_cards():
        assert isinstance(raw, RawCard), raw
        read.append(card_from_raw(raw))
    return read


def faults(path: Path) -> list[str]:
    return [str(raw) for raw in TableSource(path).raw_cards() if isinstance(raw, CardError)]


def texts(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row whose lists and objects are JSON text."""
    return {name: json.dumps(value) if isinstance(value, (list, dict)) else value for name, value in row.items()}


def write_jsonl(path: Path) -> None:
    path.write_text("\n".join(json.dumps(row) for row in ROWS) + "\n\n")


def write_json(path: Path) -> None:
    path.write_text("\ufeff" + json.dumps(ROWS, ensure_ascii=False), encoding="utf-8")


def write_csv(path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8-sig") as stream:
        writer = csv.DictWriter(stream, list(ROWS[0]))
        writer.writeheader()
        writer.writerows(texts(row) for row in ROWS)


def write_csv_with_python_lists(path: Path) -> None:
    pandas.DataFrame(ROWS).to_csv(path, index=False)


def write_parquet(path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist([texts(row) for row in ROWS]), path)


def write_nested_parquet(path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), path)


def write_csv_with_numpy_lists(path: Path) -> None:
    nested = path.with_suffix(".parquet")
    write_nested_parquet(nested)
    pandas.read_parquet(nested).to_csv(path, index=False)


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("cards.jsonl", write_jsonl),
        ("cards.ndjson", write_jsonl),
        ("CARDS.JSON", write_json),
        ("cards.csv", write_csv),
        ("python.csv", write_csv_with_python_lists),
        ("numpy.csv", write_csv_with_numpy_lists),
        ("texts.parquet", write_parquet),
        ("nested.parquet", write_nested_parquet),
    ],
)
def test_every_form_gives_the_same_cards(tmp_path: Path, name: str, write: Any) -> None:
    write(tmp_path / name)
    assert cards(tmp_path / name) == list(toy_cards())


def test_the_origin_is_the_file(tmp_path: Path) -> None:
    assert TableSource(tmp_path / "cards.csv").origin.name == "cards.csv"
    assert TableSource(tmp_path / "cards.csv", name="own/set", revision="abc").origin.revision == "abc"


def test_bad_lines_are_named_and_the_others_read(tmp_path: Path) -> None:
    path = tmp_path / "cards.jsonl"
    path.write_text("\ufeff" + json.dumps(ROWS[0]) + "\n{oops\n\n[1]\n" + json.dumps(ROWS[1]) + "\n" + "[" * 100_000)
    assert faults(path) == [
        "cards.jsonl:2: field '(line)' is not JSON: Expecting property name enclosed in double quotes at character 2",
        "cards.jsonl:4: field '(row)' must be an object, found list",
        "cards.jsonl:6: field '(line)' is not JSON: too deeply nested",
    ]
    assert sum(isinstance(raw, RawCard) for raw in TableSource(path).raw_cards()) == 2


def test_csv_rows_of_another_width_are_named_by_their_line(tmp_path: Path) -> None:
    path = tmp_path / "cards.csv"
    path.write_text('task_id,summary\na/b,"two\nlines"\na/c\na/d,x,y\n')
    assert faults(path) == [f"cards.csv:{line}: field '(row)' must have 2 cells like the header" for line in (4, 5)]


def test_a_long_prompt_fits_a_csv_cell(tmp_path: Path) -> None:
    path = tmp_path / "cards.csv"
    path.write_text(f"task_id,category,summary,prompt\nx/a,x,s,{'word ' * 50_000}\n")
    assert len(cards(path)[0].prompt) == 249_999


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("cards.txt", b"", r"unknown form '\.txt'; known are \.csv, \.json, \.jsonl"),
        ("cards", b"", r"unknown form ''"),
        ("cards.json", b"{", r"is not JSON: .* at line 1"),
        ("cards.json", b"{}", r"must hold a list of cards, found dict"),
        ("cards.json", b'["\xff"]', r"is not UTF-8 at byte 2"),
        ("cards.jsonl", b'{"a": "\xff"}', r"is not UTF-8 at byte 7"),
        ("cards.csv", b"\xff\xfet", r"is not UTF-8 at byte 0"),
        ("cards.csv", b"", r"has no 'task_id' column; its columns are none"),
        ("cards.csv", b"name,text\n", r"has no 'task_id' column; its columns are name, text"),
        ("cards.parquet", b"", r"is not a readable Parquet file"),
        ("cards.parquet", b"PAR1 not really PAR1", r"is not a readable Parquet file|can't be read"),
    ],
)
def test_what_is_no_table_is_one_clear_error(tmp_path: Path, name: str, content: bytes, problem: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SourceError, match=f"{name}: {problem}"):
        list(TableSource(path).raw_cards())


def test_a_parquet_file_cut_or_spoilt_anywhere_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "cards.parquet"
    write_parquet(path)
    whole = path.read_bytes()
    for place in range(8, len(whole), 97):
        path.write_bytes(whole[:place])
        with pytest.raises(SourceError, match=r"cards\.parquet: "):
            list(TableSource(path).raw_cards())
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with suppress(SourceError):  # a flipped byte of a text may still be a table
            list(TableSource(path).raw_cards())


def test_what_the_csv_reader_refuses_is_named_by_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ale_semantic.sources.tables._LONGEST_CELL", 10)
    path = tmp_path / "cards.csv"
    path.write_text("task_id,x\na/b,short\na/c,much too long a cell\n")
    with pytest.raises(SourceError, match=r"cards\.csv: is not CSV after line 2: field larger than field limit"):
        list(TableSource(path).raw_cards())


def test_a_missing_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"gone\.csv: can't be read: No such file"):
        list(TableSource(tmp_path / "gone.csv").raw_cards())


def test_only_public_columns_are_read_from_parquet(tmp_path: Path) -> None:
    path = tmp_path / "cards.parquet"
    table = pyarrow.Table.from_pylist([{**texts(row), "evaluation": "secret"} for row in ROWS])
    pyarrow.parquet.write_table(table, path)
    raw = next(TableSource(path).raw_cards())
    assert isinstance(raw, RawCard)
    assert "evaluation" not in raw.data


def test_only_an_exports_cells_lose_the_quote_before_a_formula(tmp_path: Path) -> None:
    cells = "'=1+1,''=x,'plain,-5"
    (tmp_path / "own.csv").write_text(f"task_id,title,summary,prompt,subdomain,export_made_by\nx/a,{cells},me\n")
    (tmp_path / "other.csv").write_text(f"task_id,title,summary,prompt,subdomain\nx/a,{cells}\n")
    (own,), (other,) = cards(tmp_path / "own.csv"), cards(tmp_path / "other.csv")
    assert (own.title, own.summary, own.prompt, own.subdomain) == ("=1+1", "'=x", "'plain", "-5")
    assert (other.title, other.summary) == ("'=1+1", "''=x")
