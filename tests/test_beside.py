"""Work in a second thread: its value, its faults, and who does it when the thread is busy or there is none."""

from __future__ import annotations

import os
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
