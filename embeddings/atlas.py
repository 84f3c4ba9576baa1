"""The atlas: all cards in the plane, near ones close together, with named clusters. Deterministic."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
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
_REDRAWN = 0.1  # share of the cards beyond which a change redraws the map
_NEIGHBOURS = 5  # among which a new card is put
_PLACES, _NAMES = "atlas.npz", "atlas.json"


@dataclass(frozen=True, slots=True)
class Atlas:
    """Where each card lies, and in which cluster.

    Attributes:
        points: float32 of shape (cards, 2), each axis from 0 to 1.
        clusters: the cluster of each card, int32 of shape (cards,).
        names: one name a cluster, of the words that tell it from the others.
        keys: a digest of what each card was placed by, uint64 of shape (cards,).
    """

    points: NDArray[np.float32]
    clusters: NDArray[np.int32]
    names: tuple[str, ...]
    keys: NDArray[np.uint64]

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
            return cls(arrays["points"], arrays["clusters"], names, arrays["keys"])
        except (OSError, ValueError, KeyError, TypeError) as fault:
            raise BundleError(f"{folder / _PLACES}: the map can't be read: {fault}") from None

    def write(self, folder: Path) -> None:
        """Write the atlas into a folder."""
        np.savez(folder / _PLACES, points=self.points, clusters=self.clusters, keys=self.keys)
        (folder / _NAMES).write_text(json.dumps(self.names, ensure_ascii=False) + "\n", encoding="utf-8")


def draw_atlas(vectors: NDArray[np.float32], texts: Sequence[str], *, earlier: Atlas | None = None) -> Atlas:
    """Lay cards out in the plane and cluster them.

    Args:
        vectors: one unit row a card, shape (cards, dimension).
        texts: what each card is about, in a few sentences; the clusters' names come from them.
        earlier: a map of mostly the same cards: they keep their places, and others get one among their nearest.
            If more than a tenth of the cards is new, or as many are gone, the map is drawn anew.

    Raises:
        ValueError: if there isn't one text a vector.
    """
    if len(vectors) != len(texts):
        raise ValueError(f"{len(vectors)} vectors, but {len(texts)} texts")
    keys = _keys(vectors, texts)
    if len(vectors) < _SMALLEST or not np.ptp(vectors, axis=0).any():
        names = ("all",) if texts else ()
        return Atlas(_circle(len(vectors)), np.zeros(len(vectors), dtype=np.int32), names, keys)
    if earlier is not None and _changed(earlier.keys, keys) <= _REDRAWN:
        points, clusters = _placed(earlier, vectors, keys)
        return Atlas(points, clusters, _names(clusters, texts, len(earlier.names)), keys)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):  # threads that wait for each other take far longer than the work, on a busy machine
        points = _spread(_plane(vectors))
        clusters = _clustered(points)
    return Atlas(points, clusters, _names(clusters, texts, int(clusters.max()) + 1), keys)


def _keys(vectors: NDArray[np.float32], texts: Sequence[str]) -> NDArray[np.uint64]:
    """Return a digest of each card's vector and text."""
    digests = (blake2b(row.tobytes() + text.encode(), digest_size=8) for row, text in zip(vectors, texts, strict=True))
    return np.array([int.from_bytes(digest.digest(), "little") for digest in digests], dtype=np.uint64)


def _changed(earlier: NDArray[np.uint64], now: NDArray[np.uint64]) -> float:
    """Return the share of cards that are new or gone, whichever are more."""
    new, gone = np.isin(now, earlier, invert=True).sum(), np.isin(earlier, now, invert=True).sum()
    return float(max(new, gone)) / max(1, len(now))


def _placed(
    earlier: Atlas, vectors: NDArray[np.float32], keys: NDArray[np.uint64]
) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return the places and clusters of cards most of which an earlier map holds."""
    order = np.argsort(earlier.keys, kind="stable")
    at = order[np.minimum(np.searchsorted(earlier.keys, keys, sorter=order), len(order) - 1)]
    known = earlier.keys[at] == keys
    points = np.where(known[:, None], earlier.points[at], 0.5).astype(np.float32)
    clusters = np.where(known, earlier.clusters[at], 0).astype(np.int32)
    old = np.flatnonzero(known)
    for row in np.flatnonzero(~known):
        cosines = vectors[old] @ vectors[row]
        best = np.argsort(-cosines, kind="stable")[:_NEIGHBOURS]
        weights = np.maximum(cosines[best], 1e-3)
        points[row] = weights @ earlier.points[at[old[best]]] / weights.sum()
        clusters[row] = earlier.clusters[at[old[best[0]]]]
    return points, clusters


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


def _names(clusters: NDArray[np.int32], texts: Sequence[str], count: int) -> tuple[str, ...]:
    """Name each cluster by the words with the highest weight (TF-IDF, a cluster as one document) in it."""
    spelt: dict[str, Counter[str]] = {}
    counts: list[Counter[str]] = [Counter() for _ in range(count)]
    for cluster, text in zip(clusters, texts, strict=True):
        for root, word in {stem(word): word for word in words(text) if _tells(word)}.items():
            spelt.setdefault(root, Counter())[word] += 1
            counts[cluster][root] += 1  # once a card: a long text doesn't name its cluster alone
    holders = Counter(root for own in counts for root in own)

    def weight(own: Counter[str], root: str) -> float:
        return (1 + math.log(own[root])) * (math.log((1 + count) / (1 + holders[root])) + 1)

    best = [sorted(own, key=lambda root: (-weight(own, root), root))[:_NAME_WORDS] for own in counts]
    return tuple(", ".join(spelt[root].most_common(1)[0][0] for root in roots) for roots in best)


def _tells(word: str) -> bool:
    return len(word) > 2 and word not in STOP_WORDS and not word.isdigit()
