"""Whether cards stand in the same order before and after the encoder is exported and vectors are planned.

    python benchmarks/same_ranking.py --index INDEX --cards path/to/agents-last-exam --judgments queries.jsonl

Builds the cards once more with sentence-transformers embedding passages and queries, one text after the other in its
own batches, and compares the whole lists of all cards for each query with those of the index. Prints JSON: how many
lists are the same, and of the others how far the scores of exchanged neighbours are apart.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
from pathlib import Path

from ale_semantic import Catalogue, Engine, build_index
from ale_semantic.embeddings.encoder import SentenceTransformerEncoder
from ale_semantic.evaluation.judgments import load_judgments
from ale_semantic.settings import DEFAULT_MODEL


def compare(served: Engine, original: Engine, queries: list[str]) -> dict[str, object]:
    """Compare the order of all cards for each query."""
    same, apart, first = 0, [0.0], 0
    for query in queries:
        ours, theirs = (
            engine.search(query, k=len(engine.catalogue), facets=False).hits for engine in (served, original)
        )
        moved = [abs(a.score - b.score) for a, b in zip(ours, theirs, strict=True) if a.task_id != b.task_id]
        same += not moved
        first += [hit.task_id for hit in ours[:10]] == [hit.task_id for hit in theirs[:10]]
        apart += moved
    return {
        "queries": len(queries),
        "same order of all cards": same,
        "same first ten": first,
        "largest difference of scores that changed places": round(max(apart), 6),
    }


def main() -> None:
    """Build, compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, required=True, help="of the cards, with the default model")
    parser.add_argument("--cards", required=True)
    parser.add_argument("--judgments", type=Path, required=True)
    given = parser.parse_args()
    queries = [judged.query for judged in load_judgments(given.judgments)]
    model = SentenceTransformerEncoder.load(DEFAULT_MODEL, device="cpu")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ALE_CACHE"] = folder
        build_index(Catalogue.load(given.cards), Path(folder) / "index", encoder=model, cache=False)
        original = Engine.open(Path(folder) / "index", encoder=model)
        print(json.dumps(compare(Engine.open(given.index), original, queries), indent=2))


if __name__ == "__main__":
    main()
