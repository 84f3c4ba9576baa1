"""A build against its bare encoder: the same passages through the same model, sorted by length, and nothing else.

    python benchmarks/build.py --cards path/to/agents-last-exam
    python benchmarks/build.py --cards demo --limit 20

Measures in one run: the bare encoder over the passages of all cards, a full build with an empty cache, a build with
one card changed, and one with nothing changed. On a machine with other work, compare processor seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ale_semantic import Catalogue, build_index
from ale_semantic.card_store import StoredCards
from ale_semantic.embeddings.batches import equal_length_batches
from ale_semantic.embeddings.build import BuildReport
from ale_semantic.embeddings.bundle import open_generation
from ale_semantic.embeddings.encoder import TextKind
from ale_semantic.embeddings.onnx_encoder import OnnxEncoder
from ale_semantic.embeddings.samples import sample_texts
from ale_semantic.embeddings.serving import Exports, serving_encoder
from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.settings import DEFAULT_MODEL, encoders_folder

_BARE_BATCH = 32  # what libraries take by default


@dataclass(frozen=True, slots=True)
class Spent:
    """Seconds by the clock and of the processors."""

    wall: float
    processor: float

    @classmethod
    def on(cls, work: Callable[[], Any]) -> Spent:
        """Measure some work."""
        wall, processor = time.perf_counter(), time.process_time()
        work()
        return cls(time.perf_counter() - wall, time.process_time() - processor)

    def shown(self, bare: Spent | None = None) -> dict[str, float]:
        """Return the figures, and how many times as long as the bare encoder's they are."""
        found = {"wall_s": round(self.wall, 2), "processor_s": round(self.processor, 2)}
        if bare is not None:
            found |= {
                "times_bare_wall": round(self.wall / bare.wall, 3),
                "times_bare_processor": round(self.processor / bare.processor, 3),
            }
        return found


def bare_encoder(encoder: OnnxEncoder, passages: Sequence[str]) -> Spent:
    """Embed passages sorted by length in batches of 32, as a plain script would."""
    ordered = sorted(passages, key=len)

    def embed() -> None:
        for start in range(0, len(ordered), _BARE_BATCH):
            encoder.encode(ordered[start : start + _BARE_BATCH], TextKind.DOCUMENT)

    return Spent.on(embed)


def passages_of(folder: Path) -> list[str]:
    """Return the different texts that the main space of an index embeds."""
    paths, manifest = open_generation(folder)
    space = VectorSpace.open(paths, manifest["spaces"][0])
    return list(dict.fromkeys(space.passages.texts(StoredCards.open(paths.cards))))


def measure(catalogue: Catalogue, model: str, work: Path) -> dict[str, Any]:
    """Measure all of it in a folder."""
    exports = Exports(lambda identity: work / "encoder", kept=encoders_folder())
    serving = serving_encoder(model, exports, lambda: sample_texts(catalogue.cards))
    encoder = serving.encoder
    if not isinstance(encoder, OnnxEncoder):
        raise SystemExit(f"the model could not be exported: {serving.refused}")
    reports: list[BuildReport] = []

    def build(cards: Catalogue) -> Spent:
        return Spent.on(lambda: reports.append(build_index(cards, work / "index", model=model, multilingual=False)))

    full = build(catalogue)
    passages = passages_of(work / "index")
    lengths = [len(spans) + 2 for spans in encoder.token_spans(passages)]
    padded = sum(len(batch) * lengths[batch[0]] for batch in equal_length_batches(lengths))
    bare = bare_encoder(OnnxEncoder.open(encoder.folder), passages)
    changed = replace(catalogue.cards[0], summary=f"{catalogue.cards[0].summary} Then post it to the mill.")
    edited = Catalogue.of([changed, *catalogue.cards[1:]], origin=catalogue.origin)
    one, nothing = build(edited), build(edited)
    assert [report.embedded for report in reports] == [len(catalogue), 1, 0], "the cache was not as expected"
    return {
        "cards": len(catalogue),
        "passages": reports[0].passages,
        "texts": len(passages),
        "tokens": sum(lengths),
        "padding_share": round(padded / sum(lengths) - 1, 4),
        "bare": bare.shown() | {"tokens_per_s": round(sum(lengths) / bare.wall)},
        "full build": full.shown(bare) | {"tokens_per_s": round(sum(lengths) / full.wall)},
        "one card changed": one.shown(),
        "nothing changed": nothing.shown(),
    }


def main() -> None:
    """Print the measures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cards", default="demo")
    parser.add_argument("--model", default=DEFAULT_MODEL)
    parser.add_argument("--limit", type=int, help="take so many cards alone")
    given = parser.parse_args()
    whole = Catalogue.load(given.cards)
    catalogue = Catalogue.of(whole.cards[: given.limit], origin=whole.origin)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ALE_CACHE"] = folder
        print(json.dumps(measure(catalogue, given.model, Path(folder)), indent=2))


if __name__ == "__main__":
    main()
