"""The memory that the benchmark of scale tells is that of a process that only opens and searches."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from ale_semantic.embeddings.backend import FaissBackend

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

import scale_memory  # type: ignore[import-not-found]
from scale_report import markdown  # type: ignore[import-not-found]

ROLLUP = """\
55d0c0a5e000-7ffd4b9f1000 ---p 00000000 00:00 0                          [rollup]
Rss:               11000 kB
Pss:                8000 kB
Pss_Anon:           3000 kB
Shared_Clean:       4000 kB
Shared_Dirty:          0 kB
Private_Clean:      2000 kB
Private_Dirty:      3000 kB
"""


def test_the_kinds_of_memory_are_told_apart() -> None:
    assert scale_memory.rollup(ROLLUP) == pytest.approx(
        {"proportional_mb": 8.192, "private_mb": 5.12, "written_mb": 3.072}
    )


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="Linux alone tells")
def test_what_a_search_reads_is_in_its_memory(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).standard_normal((20_000, 256), dtype=np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    FaissBackend.of(rows).write(tmp_path)
    scale_memory.keep_questions(tmp_path, rows[:2], [np.ones(len(rows), bool), np.arange(len(rows)) % 50 == 0])
    found = scale_memory.memory_of_search(tmp_path)
    before, after = found["before"], found["after"]
    assert after["private_mb"] - before["private_mb"] > 0.9 * rows.nbytes / 1e6  # a scan reads all of the index
    assert after["written_mb"] <= after["private_mb"] <= after["proportional_mb"]


def test_where_the_system_tells_no_memory_the_table_has_dashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scale_memory, "_ROLLUP", tmp_path / "none")
    assert scale_memory.memory_of_search(tmp_path) is None
    sizes = {"passages": 9, "cards": 1, "build_s": 0, "build_cpu_s": 0, "index_mb": 0, "vectors_mb": 0}
    assert "| 9 | 1 | 0 (0) | 0 | 0 | - | - | - | - |" in markdown([{**sizes, "memory": None, "cases": []}])
