"""The same job as `ale-semantic search`, as a user of sentence-transformers and FAISS writes it.

    python benchmarks/bare_search.py MODEL INDEX.faiss TITLES.json QUERY

No more is imported or done than that takes; the model is read from a local folder.
"""

import json
import sys
from pathlib import Path

import faiss
from sentence_transformers import SentenceTransformer

folder, index_file, titles_file, query = sys.argv[1:]
model = SentenceTransformer(folder, device="cpu", local_files_only=True)
index = faiss.read_index(index_file)
titles = json.loads(Path(titles_file).read_text(encoding="utf-8"))
cosines, rows = index.search(model.encode([query], normalize_embeddings=True), 10)
for cosine, row in zip(cosines[0], rows[0], strict=True):
    print(f"{cosine:.3f}  {titles[row]}")
