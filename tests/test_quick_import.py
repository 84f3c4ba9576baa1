"""A library is imported without what it can do without, and nobody else in the program notices."""

from __future__ import annotations

import subprocess
import sys


def prints(code: str) -> str:
    """Return what a script prints in a process of its own."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_bm25s_weighs_without_scipy_and_stays_whole_for_others() -> None:
    code = """
import sys
from ale_semantic.quick_import import own_copy
quick = own_copy("bm25s", leave_out=("scipy", "tqdm"))
left = [name for name in ("bm25s", "scipy", "tqdm") if name in sys.modules]
import bm25s
texts = [[0, 1, 1], [2, 3, 3], [0, 3]]
ours, theirs = (one.BM25(method="lucene").build_index_from_ids(range(4), texts, show_progress=False)
                for one in (quick, bm25s))
same = all((ours[part] == theirs[part]).all() for part in ("data", "indices", "indptr"))
print(left, quick.SCIPY_AVAILABLE, bm25s.SCIPY_AVAILABLE, same, own_copy("bm25s", leave_out=("numpy",)) is bm25s)
"""
    assert prints(code) == "[] False True True True"


def test_what_is_left_out_is_there_for_other_threads() -> None:
    code = """
import threading
from ale_semantic.quick_import import without
with without("wave"):
    try:
        import wave
    except ModuleNotFoundError as fault:
        print(fault.name)
    def other():
        import wave
        print(wave.__name__)
    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
with without("colorsys"):
    pass
import colorsys
print(colorsys.__name__)
"""
    assert prints(code).split() == ["wave", "wave", "colorsys"]
