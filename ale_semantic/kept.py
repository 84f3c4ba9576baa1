"""What was made last is kept, up to a number: a cache that threads may share."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Generic, TypeVar

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class Kept(Generic[_Key, _Value]):
    """The values that were used last, by key."""

    __slots__ = ("_lock", "_most", "_values")

    def __init__(self, most: int) -> None:
        """Keep at most so many values."""
        self._most = most
        self._lock = Lock()
        self._values: OrderedDict[_Key, _Value] = OrderedDict()

    def __len__(self) -> int:
        """Return how many values are kept."""
        return len(self._values)

    def get(self, key: _Key) -> _Value | None:
        """Return a value, or None if it isn't kept."""
        with self._lock:
            found = self._values.get(key)
            if found is not None:
                self._values.move_to_end(key)
            return found

    def keep(self, key: _Key, value: _Value) -> None:
        """Keep a value, and drop those that were not used for the longest time if there are too many."""
        with self._lock:
            self._values[key] = value
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def forget(self) -> None:
        """Drop all values."""
        with self._lock:
            self._values.clear()
