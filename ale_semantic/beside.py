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
        self._alone = (os.cpu_count() or 1) == 1
        self._begin()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin)  # a forked process has no threads but its own

    def _begin(self) -> None:
        self._thread = Once(lambda: ThreadPoolExecutor(1, "beside"))

    def start(
        self, function: Callable[_Given, _Value], *args: _Given.args, **kwargs: _Given.kwargs
    ) -> Callable[[], _Value]:
        """Begin a call, and return what waits for its value; a fault is raised there.

        Who comes to wait for a call that the thread, busy with another one, hasn't begun makes it himself.
        """

        def here() -> _Value:
            return function(*args, **kwargs)

        if self._alone:
            return here
        try:
            begun = self._thread.get().submit(function, *args, **kwargs)
        except RuntimeError:  # Python starts no threads any more: the program ends
            return here
        return lambda: here() if begun.cancel() else begun.result()


BESIDE = Beside()
