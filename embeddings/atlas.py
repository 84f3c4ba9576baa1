"""The atlas: all cards in the plane, near ones close together, with named clusters. Deterministic."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ale_semantic.analysis import STOP_WORDS, stem, words
from ale_semantic.arrays import archive
from ale_semantic.errors import BundleError

_SMALLEST = 5  # below this, or with equal cards only, t-SNE means nothing: the cards stand on a circle
_PERPLEXITY = 30.0  # t-SNE's usual one, less for few cards
_CLUSTERS = (2, 16)
_NAME_WORDS = 3
_SEED = 0
_PLACES, _NAMES = "atlas.npz", "atlas.json"


@dataclass(frozen=True, slots=True)
class Atlas:
    """Where each card lies, and in which cluster.

    Attributes:
        points: float32 of shape (cards, 2), each axis from 0 to 1.
        clusters: the cluster of each card, int32 of shape (cards,).
        names: one name a cluster, of the words that tell it from the others.
    """

    points: NDArray[np.float32]
    clusters: NDArray[np.int32]
    names: tuple[str, ...]

    @classmethod
    def open(cls, folder: Path) -> Atlas | None:
        """Read the atlas that `write` wrote into a folder; None if there is none.

        Raises:
            BundleError: if it can't be read.
        """
        if not (folder / _NAMES).is_file():
            return None
        try:
            names = tuple(json.loads((folder / _NAMES).read_text(encoding="utf-8")))
            arrays = archive(folder / _PLACES)
            return cls(arrays["points"], arrays["clusters"], names)
        except (OSError, ValueError, KeyError, TypeError) as fault:
            raise BundleError(f"{folder / _PLACES}: the map can't be read: {fault}") from None

    def write(self, folder: Path) -> None:
        """Write the atlas into a folder."""
        np.savez(folder / _PLACES, points=self.points, clusters=self.clusters)
        (folder / _NAMES).write_text(json.dumps(self.names, ensure_ascii=False) + "\n", encoding="utf-8")


def draw_atlas(vectors: NDArray[np.float32], texts: Sequence[str]) -> Atlas:
    """Lay cards out in the plane and cluster them.

    Args:
        vectors: one unit row a card, shape (cards, dimension).
        texts: what each card is about, in a few sentences; the clusters' names come from them.

    Raises:
        ValueError: if there isn't one text a vector.
    """
    if len(vectors) != len(texts):
        raise ValueError(f"{len(vectors)} vectors, but {len(texts)} texts")
    if len(vectors) < _SMALLEST or not np.ptp(vectors, axis=0).any():
        return Atlas(_circle(len(vectors)), np.zeros(len(vectors), dtype=np.int32), ("all",) if texts else ())
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # threads that wait for each other take far longer than the work, on a busy machine
        points = _spread(_plane(vectors))
        clusters = _clustered(points)
    return Atlas(points, clusters, _names(clusters, texts))


def mean_vectors(vectors: NDArray[np.float32], starts: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the unit mean vector of each card's passages, shape (cards, dimension).

    Args:
        vectors: one row a passage, ordered by card; every card has at least one.
        starts: the first passage of each card and, last, the number of passages, shape (cards + 1,).
    """
    sums = np.add.reduceat(vectors, starts[:-1], axis=0)
    return np.asarray(sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9), dtype=np.float32)


def _plane(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    from sklearn.manifold import TSNE

    perplexity = min(_PERPLEXITY, (len(vectors) - 1) / 3)
    model = TSNE(metric="cosine", init="pca", perplexity=perplexity, random_state=_SEED)
    return np.asarray(model.fit_transform(vectors.astype(np.float64)), dtype=np.float32)


def _spread(points: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return points scaled to 0..1 on each axis."""
    low, high = points.min(axis=0), points.max(axis=0)
    return np.asarray((points - low) / np.where(high > low, high - low, 1), dtype=np.float32)


def _circle(count: int) -> NDArray[np.float32]:
    angles = np.linspace(0, 2 * np.pi, count, endpoint=False)
    return (0.5 + 0.4 * np.column_stack([np.cos(angles), np.sin(angles)])).astype(np.float32).reshape(count, 2)


def _clustered(points: NDArray[np.float32]) -> NDArray[np.int32]:
    """Cluster in the plane: a name on the map must stand over one place."""
    from sklearn.cluster import KMeans

    wanted = int(np.clip(round((len(points) / 2) ** 0.5), *_CLUSTERS))
    return np.asarray(KMeans(wanted, n_init=10, random_state=_SEED).fit_predict(points), dtype=np.int32)


def _names(clusters: NDArray[np.int32], texts: Sequence[str]) -> tuple[str, ...]:
    """Name each cluster by the words with the highest weight (TF-IDF, a cluster as one document) in it."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    spelt: dict[str, Counter[str]] = {}
    counts: list[Counter[str]] = [Counter() for _ in range(int(clusters.max()) + 1)]
    for cluster, text in zip(clusters, texts, strict=True):
        for root, word in {stem(word): word for word in words(text) if _tells(word)}.items():
            spelt.setdefault(root, Counter())[word] += 1
            counts[cluster][root] += 1  # once a card: a long text doesn't name its cluster alone
    weights = TfidfVectorizer(analyzer=_elements, sublinear_tf=True).fit(counts)
    roots = weights.get_feature_names_out()
    table = weights.transform(counts).toarray()
    best = np.argsort(-table, axis=1, kind="stable")[:, :_NAME_WORDS]
    return tuple(
        ", ".join(spelt[roots[column]].most_common(1)[0][0] for column in columns if weight[column] > 0)
        for columns, weight in zip(best, table, strict=True)
    )


def _elements(counter: Counter[str]) -> Iterable[str]:
    return counter.elements()


def _tells(word: str) -> bool:
    return len(word) > 2 and word not in STOP_WORDS and not word.isdigit()
