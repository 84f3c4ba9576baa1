"""A value that is made when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

_Value = TypeVar("_Value")


class Once(Generic[_Value]):
    """A value made by the first who asks, while the others wait; if that fails, by the next."""

    __slots__ = ("_lock", "_make", "_value")

    def __init__(self, make: Callable[[], _Value]) -> None:
        """Keep what makes the value."""
        self._make = make
        self._lock = Lock()
        self._value: tuple[_Value] | None = None  # in a tuple, since None may be the value

    def get(self) -> _Value:
        """Return the value."""
        if self._value is None:
            with self._lock:
                if self._value is None:
                    self._value = (self._make(),)
        return self._value[0]
