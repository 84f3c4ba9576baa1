"""Judgments from JSON lines and TREC files; each fault names file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from ale_semantic.errors import JudgmentError
from ale_semantic.evaluation.judgments import JudgedQuery, load_judgments


def written(folder: Path, text: str, name: str = "judged.jsonl") -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_json_lines(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "\ufeff"
        '{"qid": "D1", "query": "maps", "lang": "de", "kind": "topic", "filters": {"os": "linux", "tier": ["a", "b"]},'
        ' "rel": {"x/y": 3, "x/z": 0}}\n\n{"task": "x/y", "rel": {"x/z": 1}}\n{"query": "nothing", "rel": {}}\n',
    )
    first, second, third = load_judgments(file)
    assert first == JudgedQuery(
        "D1", "maps", {"x/y": 3}, kind="topic", lang="de", filters={"os": ("linux",), "tier": ("a", "b")}
    )
    assert (second.qid, second.task, second.kind) == ("x/y", "x/y", "similar")
    assert (third.qid, third.answerable, first.answerable) == ("line-4", False, True)


def test_trec_qrels_with_topics(tmp_path: Path) -> None:
    qrels = written(tmp_path, "q1 0 x/y 2\nq1 0 x/z 0\nq2 0 x/z -1\n", "qrels.txt")
    topics = written(tmp_path, "q1\tmaps of soil\nq2\tleases\n", "topics.tsv")
    first, second = load_judgments(qrels, topics=topics)
    assert (first.qid, first.query, dict(first.relevant)) == ("q1", "maps of soil", {"x/y": 2})
    assert not second.answerable


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "holds no judgments"),
        ('{"query": "a", "rel": {}}\n{"query": ', ":2: is not JSON"),
        ('{"rel": {}}', ":1: must be an object with 'query'"),
        ('{"query": "a"}', ":1: 'rel' must map"),
        ('{"query": "a", "rel": {"x": "3"}}', ":1: 'rel' must map"),
        ('{"query": "a", "rel": {"x": -1}}', ":1: 'rel' must map"),
        ('{"query": "a", "rel": {}, "filters": ["os"]}', ":1: 'filters' must map"),
        ('{"qid": "1", "query": "a", "rel": {}}\n{"qid": "1", "query": "b", "rel": {}}', "'1' stands twice"),
        ("q1 0 x/y 2", "--topics"),
    ],
)
def test_a_fault_names_file_and_line(tmp_path: Path, text: str, problem: str) -> None:
    file = written(tmp_path, text)
    with pytest.raises(JudgmentError) as caught:
        load_judgments(file)
    assert str(file) in str(caught.value)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("qrels", "topics", "problem"),
    [
        ("q1 0 x/y two", "q1\tmaps", ":1: must be 'qid 0 task_id grade'"),
        ("q1 x/y 2", "q1\tmaps", ":1: must be 'qid 0 task_id grade'"),
        ("q1 0 x/y 2\nq9 0 x/y 2", "q1\tmaps", ":2: query id 'q9'"),
        ("q1 0 x/y 2", "q1 maps", "topics:1: must be a query id, a tab"),
    ],
)
def test_faults_in_trec_files(tmp_path: Path, qrels: str, topics: str, problem: str) -> None:
    with pytest.raises(JudgmentError, match=problem.replace("(", r"\(")):
        load_judgments(written(tmp_path, qrels, "qrels"), topics=written(tmp_path, topics, "topics"))


def test_no_file_and_no_text(tmp_path: Path) -> None:
    with pytest.raises(JudgmentError, match="can't be read"):
        load_judgments(tmp_path / "absent")
    (tmp_path / "bytes").write_bytes(b'{"query": "\xff"}')
    with pytest.raises(JudgmentError, match="not UTF-8 at byte 11"):
        load_judgments(tmp_path / "bytes")
