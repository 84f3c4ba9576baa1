"""Serves an index of the toys in a process of its own, or in several: `python service_process.py INDEX WORKERS`.

Their encoder stands in no registry, so each worker is given it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from toy import HashEncoder

from ale_semantic.embeddings.space import VectorSpace
from ale_semantic.service import serving
from ale_semantic.service.config import ServiceConfig

if TYPE_CHECKING:
    from fastapi import FastAPI


class ToyWorker(serving.Worker):
    """A worker whose indexes are opened with the toys' encoder."""

    def __call__(self) -> FastAPI:
        VectorSpace.load_encoder = lambda space, **options: HashEncoder()
        return super().__call__()


def main() -> None:
    index, workers = Path(sys.argv[1]), int(sys.argv[2])
    config = ServiceConfig.exactly(
        index=index, port=0, ui=False, mcp=False, workers=workers, threads=1, keys_file=index.parent / "keys.json"
    )
    serving.Worker = ToyWorker  # type: ignore[misc]
    serving.serve(config, ready=lambda address: print(address, flush=True))


if __name__ == "__main__":
    main()
