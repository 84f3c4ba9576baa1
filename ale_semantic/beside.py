"""Work in a second thread while the caller does something else that takes about as long."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from ale_semantic.once import Once

_Given = ParamSpec("_Given")
_Value = TypeVar("_Value")


class Beside:
    """One thread for all callers, started by the first of them; none on a machine with one processor."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._thread = Once(lambda: ThreadPoolExecutor(1, "beside"))
        self._alone = (os.cpu_count() or 1) == 1

    def start(
        self, function: Callable[_Given, _Value], *args: _Given.args, **kwargs: _Given.kwargs
    ) -> Callable[[], _Value]:
        """Begin a call, and return what waits for its value; a fault is raised there.

        Who comes to wait for a call that the thread, busy with another one, hasn't begun makes it himself.
        """
        if self._alone:
            return lambda: function(*args, **kwargs)
        begun = self._thread.get().submit(function, *args, **kwargs)
        return lambda: function(*args, **kwargs) if begun.cancel() else begun.result()


BESIDE = Beside()
