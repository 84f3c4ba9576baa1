"""The optional second stage: a cross-encoder that reads query and card together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ale_semantic.errors import EncoderError

_BATCH = 32


class CrossEncoderReranker:
    """A sentence-transformers cross-encoder."""

    def __init__(self, model: Any, name: str) -> None:
        """Keep a loaded model."""
        self.model = model
        self.name = name

    @classmethod
    def load(cls, name: str, *, device: str | None = None) -> CrossEncoderReranker:
        """Load a cross-encoder from a local folder or the Hub.

        Raises:
            EncoderError: if it can't be found, fetched or loaded.
        """
        folder = Path(name).expanduser()
        if not folder.is_dir() and (name.count("/") != 1 or name.startswith((".", "/", "~"))):
            raise EncoderError(f"no cross-encoder at {name!r}: give a local folder or a Hub name (owner/name)")
        from sentence_transformers import CrossEncoder

        try:
            model = CrossEncoder(
                str(folder) if folder.is_dir() else name,
                device=device,
                local_files_only=folder.is_dir(),
                model_kwargs={"use_safetensors": True},
            )
        except Exception as fault:  # the loader and the Hub's client raise many kinds; each means that it isn't usable
            reason = (str(fault).strip() or type(fault).__name__).splitlines()[0]
            raise EncoderError(f"{name}: can't be loaded as a cross-encoder: {reason}") from None
        if int(getattr(model, "num_labels", 1)) != 1:
            raise EncoderError(f"{name}: gives {model.num_labels} labels, a reranker gives one score")
        return cls(model, name)

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return how well each text answers the query, shape (texts,); on no fixed scale."""
        if not texts:
            return np.zeros(0, dtype=np.float32)
        found = self.model.predict([(query, text) for text in texts], batch_size=_BATCH, show_progress_bar=False)
        return np.asarray(found, dtype=np.float32).reshape(len(texts))
