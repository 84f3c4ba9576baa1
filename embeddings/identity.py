"""Which model made a vector, and of what."""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from enum import StrEnum


class TextKind(StrEnum):
    """What a text is to the model: some are trained with other prefixes for queries and documents."""

    QUERY = "query"
    DOCUMENT = "document"


@dataclass(frozen=True, slots=True)
class EncoderIdentity:
    """Which model made a vector; two encoders with equal identities make equal vectors."""

    name: str
    revision: str
    digest: str
    dimension: int
    max_tokens: int
    query_prefix: str = ""
    document_prefix: str = ""

    def prefix(self, kind: TextKind) -> str:
        """Return the text that stands before a query or a document."""
        return self.query_prefix if kind is TextKind.QUERY else self.document_prefix

    @property
    def key(self) -> str:
        """Return a short digest of the whole identity, fit for a file name."""
        return hashlib.sha256(repr(sorted(asdict(self).items())).encode()).hexdigest()[:16]
