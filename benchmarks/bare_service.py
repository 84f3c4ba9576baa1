"""The yardstick of benchmarks/load.py: what one writes in thirty lines with sentence-transformers, FAISS and FastAPI.

    ALE_INDEX=INDEX uvicorn --app-dir benchmarks bare_service:app

One vector a card, exact search, a sync handler (FastAPI runs it on its own threads): no batches, no cache, no limits.
The model and the cards are those of the index; the answer has no facets, no reasons and no whole cards.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import faiss
from fastapi import FastAPI
from sentence_transformers import SentenceTransformer

from ale_semantic import Engine
from ale_semantic.embeddings.registry import find_model, locate

engine = Engine.open(Path(os.environ["ALE_INDEX"]))
cards = engine.catalogue.cards
model = SentenceTransformer(str(locate(find_model(engine.provenance.model))), device="cpu", local_files_only=True)
texts = [f"{card.title}\n{card.summary}\n{card.prompt}" for card in cards]
vectors = model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
index = faiss.IndexFlatIP(vectors.shape[1])
index.add(vectors)
app = FastAPI()


@app.get("/search")
def search(query: str, k: int = 10) -> list[dict[str, Any]]:
    """Return the k cards nearest to a query."""
    vector = model.encode([query], normalize_embeddings=True, show_progress_bar=False)
    scores, rows = index.search(vector, k)
    return [
        {"task_id": cards[row].task_id, "title": cards[row].title, "summary": cards[row].summary, "score": float(score)}
        for score, row in zip(scores[0], rows[0], strict=True)
    ]
