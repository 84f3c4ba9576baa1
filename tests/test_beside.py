"""Work in a second thread: its value, its faults, and who does it when the thread is busy or there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from threading import Event, current_thread

import pytest

from ale_semantic.beside import Beside


def whose(_: object = None) -> str:
    return current_thread().name


def test_the_call_is_made_in_the_other_thread_with_its_arguments() -> None:
    beside = Beside()
    name = beside.start(whose, None)
    assert name().startswith("beside")
    assert name() == name()  # who asks again gets the same
    assert beside.start(divmod, 7, 2)() == (3, 1)


def test_a_fault_is_raised_where_the_value_is_waited_for() -> None:
    value = Beside().start(divmod, 1, 0)
    with pytest.raises(ZeroDivisionError):
        value()


def test_who_waits_for_a_busy_thread_does_it_himself() -> None:
    beside, begun, go_on = Beside(), Event(), Event()

    def busy() -> str:
        begun.set()
        assert go_on.wait(30)
        return whose()

    first, second = beside.start(busy), beside.start(whose)
    assert begun.wait(30)
    assert second() == current_thread().name
    go_on.set()
    assert first().startswith("beside")


def test_one_processor_has_no_second_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    assert Beside().start(whose)() == current_thread().name


_AT_THE_END = """
import atexit
from ale_semantic.beside import BESIDE
assert BESIDE.start(divmod, 7, 2)() == (3, 1)
atexit.register(lambda: print(BESIDE.start(divmod, 9, 2)()))
"""
_FORKED = """
import os, sys
from ale_semantic.beside import BESIDE
assert BESIDE.start(divmod, 7, 2)() == (3, 1)
if (child := os.fork()) == 0:
    first, second = BESIDE.start(divmod, 9, 2), BESIDE.start(divmod, 5, 2)
    os.write(1, f"{first()} {second()}".encode())
    os._exit(0)
sys.exit(os.waitpid(child, 0)[1])
"""


@pytest.mark.parametrize(("code", "told"), [(_AT_THE_END, "(4, 1)"), (_FORKED, "(4, 1) (2, 1)")])
def test_calls_are_made_when_a_program_ends_and_in_a_forked_one(code: str, told: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert told in done.stdout
