"""The memory of a process that opens a vector index and searches, and does nothing else. On Linux alone.

    python benchmarks/scale_memory.py FOLDER

`scale.py` leaves the index, queries and filters in the folder and starts this. From `/proc/self/smaps_rollup`, before
opening (interpreter, NumPy and FAISS) and after all queries under all filters:

- proportional: the set size in which a page that several processes have mapped counts in parts (Pss);
- private: pages that no other process has mapped. Those of vectors and index are among them, since this is the one
  process that maps them, but the system can drop them at any time and read them again;
- written: the private pages that it can't drop.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ROLLUP = Path("/proc/self/smaps_rollup")
_QUERIES, _MASKS = "queries.npy", "masks.npy"
_K = 10

Memory = dict[str, dict[str, float]]


def keep_questions(folder: Path, queries: NDArray[np.float32], masks: Sequence[NDArray[np.bool_]]) -> None:
    """Write queries, and filters over the passages, beside the index."""
    np.save(folder / _QUERIES, queries)
    np.save(folder / _MASKS, np.stack([np.packbits(mask) for mask in masks]))


def memory_of_search(folder: Path) -> Memory | None:
    """Return the memory of a new process before it opens the index and after it searched; None where none is told."""
    if not _ROLLUP.exists():
        return None
    done = subprocess.run([sys.executable, __file__, str(folder)], stdout=subprocess.PIPE, check=True)
    found: Memory = json.loads(done.stdout)
    return found


def rollup(text: str) -> dict[str, float]:
    """Return the kinds of memory in MB that the text of a `smaps_rollup` file tells."""
    lines = [line.split() for line in text.splitlines()[1:]]  # the first tells of addresses
    kilobytes = {line[0].removesuffix(":"): int(line[1]) for line in lines}
    written = kilobytes["Private_Dirty"]
    found = {"proportional_mb": kilobytes["Pss"], "private_mb": kilobytes["Private_Clean"] + written}
    return {name: value * 1024 / 1e6 for name, value in {**found, "written_mb": written}.items()}


def main() -> None:
    """Search what stands in a folder, and print the memory that this takes."""
    import faiss  # noqa: F401 - its own memory isn't the index's

    from ale_semantic.embeddings.backend import FaissBackend

    folder = Path(sys.argv[1])
    found: dict[str, Any] = {"before": rollup(_ROLLUP.read_text(encoding="ascii"))}
    backend = FaissBackend.open(folder)
    queries, passages = np.load(folder / _QUERIES), len(backend.vectors)
    for packed in np.load(folder / _MASKS, mmap_mode="r"):
        mask = np.unpackbits(packed, count=passages).astype(bool)
        for query in queries:
            backend.search(query[None, :], _K, None if mask.all() else mask)
    found["after"] = rollup(_ROLLUP.read_text(encoding="ascii"))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
