"""Cursors: where the next page of an answer begins, bound to its question and to the index that gave it.

A cursor is opaque and checks itself. It grants nothing that `offset` doesn't, so what it needs is a checksum against
damage and mix-ups, not a secret: several processes and a restarted one read each other's.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import struct
from collections.abc import Mapping
from typing import Any

from .problems import CursorError, CursorExpiredError, CursorMismatchError

_LAYOUT = struct.Struct(">BI8s8s")  # version, offset, digests of the question and of the index
_VERSION = 1
_CHECK_BYTES = 8
_MAX_OFFSET = 2**32 - 1


def question_of(route: str, **parts: Any) -> bytes:
    """Return a digest of what is asked, 8 bytes; of parts in whatever order the same."""
    return _digest(json.dumps([route, _sorted(parts)], ensure_ascii=False, sort_keys=True, default=str))


def make_cursor(offset: int, question: bytes, index: str) -> str:
    """Return the cursor of the page that begins after `offset` hits.

    Args:
        offset: the number of hits before the page.
        question: from `question_of`.
        index: what names the index, such as its ETag.

    Raises:
        ValueError: if the offset is out of range.
    """
    if not 0 <= offset <= _MAX_OFFSET:
        raise ValueError(f"no cursor for offset {offset}")
    content = _LAYOUT.pack(_VERSION, offset, question, _digest(index))
    return base64.urlsafe_b64encode(content + _check(content)).decode().rstrip("=")


def read_cursor(cursor: str, question: bytes, index: str) -> int:
    """Return the offset that a cursor stands for.

    Raises:
        CursorError: if it is no cursor, or was changed.
        CursorExpiredError: if the index it was made from is no longer served.
        CursorMismatchError: if it belongs to another question.
    """
    content = _content(cursor)
    version, offset, asked, made_from = _LAYOUT.unpack(content)
    if version != _VERSION:
        raise CursorError("this cursor is of another version of the service; start again without it", param="cursor")
    if made_from != _digest(index):
        raise CursorExpiredError(
            "the index was exchanged since this cursor was given, so pages could overlap; start again without it",
            param="cursor",
        )
    if asked != question:
        raise CursorMismatchError(
            "this cursor belongs to another question; send it with the query, filter and options that it was given for",
            param="cursor",
        )
    return int(offset)


def _content(cursor: str) -> bytes:
    """Return the checked content of a cursor."""
    fault = CursorError("this is no cursor of this service; take `next` of an answer as it is", param="cursor")
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise fault from None
    content, check = raw[:-_CHECK_BYTES], raw[-_CHECK_BYTES:]
    # The spelling too must be the one that was given: Base64 has several for some bytes.
    written = base64.urlsafe_b64encode(raw).decode().rstrip("=")
    if len(content) != _LAYOUT.size or check != _check(content) or written != cursor:
        raise fault
    return content


def _check(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_CHECK_BYTES, person=b"ale-cursor").digest()


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _sorted(parts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: sorted(value) if isinstance(value, (set, frozenset)) else value for name, value in parts.items()}
