"""Arrays as one string of bytes and back, for the cache; nothing is ever unpickled."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_LENGTH = 4  # bytes of the header's own length


def pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Return named arrays as bytes."""
    header = json.dumps([(name, array.dtype.str, array.shape) for name, array in arrays.items()]).encode()
    parts = [len(header).to_bytes(_LENGTH, "little"), header]
    parts += [np.ascontiguousarray(array).tobytes() for array in arrays.values()]
    return b"".join(parts)


def unpack(content: bytes) -> dict[str, NDArray[Any]]:
    """Return the arrays that `pack` made bytes of; they can't be written to.

    Raises:
        ValueError: if the bytes are none that `pack` made.
    """
    start = _LENGTH + int.from_bytes(content[:_LENGTH], "little")
    found = {}
    for name, code, shape in json.loads(content[_LENGTH:start]):
        dtype, count = np.dtype(code), math.prod(shape)
        found[name] = np.frombuffer(content, dtype, count, start).reshape(shape)
        start += count * dtype.itemsize
    return found
