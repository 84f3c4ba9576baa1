"""What was used last is kept."""

from __future__ import annotations

from ale_semantic.kept import Kept


def test_what_was_not_used_for_the_longest_time_is_dropped() -> None:
    kept: Kept[str, int] = Kept(2)
    kept.keep("a", 1)
    kept.keep("b", 2)
    assert kept.get("a") == 1
    kept.keep("c", 3)
    assert [kept.get(key) for key in "abc"] == [1, None, 3]


def test_nothing_is_kept_where_there_is_no_room() -> None:
    kept: Kept[str, int] = Kept(0)
    kept.keep("a", 1)
    assert kept.get("a") is None


def test_all_can_be_forgotten() -> None:
    kept: Kept[str, int] = Kept(2)
    kept.keep("a", 1)
    kept.forget()
    assert kept.get("a") is None


def test_a_value_is_replaced() -> None:
    kept: Kept[str, int] = Kept(2)
    kept.keep("a", 1)
    kept.keep("a", 2)
    kept.keep("b", 3)
    assert (kept.get("a"), kept.get("b")) == (2, 3)
