"""ETags: an answer to a GET is the same as long as the index and the version are."""

from __future__ import annotations

import hashlib

from ale_semantic import __version__
from ale_semantic.serialise import SCHEMA_VERSION


def etag_of(index: str, *parts: str) -> str:
    """Return the ETag of what is answered from an index.

    It is a weak one: a vector that is computed in another batch may differ in its last digits.

    Args:
        index: what names the index's content.
        parts: what else the answer depends on beside its address.
    """
    digest = hashlib.blake2b("\0".join((__version__, str(SCHEMA_VERSION), index, *parts)).encode(), digest_size=12)
    return f'W/"{digest.hexdigest()}"'


def is_known(if_none_match: str | None, etag: str) -> bool:
    """Tell whether the header `If-None-Match` names an ETag, compared weakly as it asks."""
    if not if_none_match:
        return False
    given = [part.strip() for part in if_none_match.split(",")]
    return "*" in given or etag.removeprefix("W/") in (part.removeprefix("W/") for part in given)
