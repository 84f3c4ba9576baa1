"""Reading a query: text, filter and relation, each part reversible."""

from __future__ import annotations

from ale_semantic.filters import parse
from ale_semantic.understanding.phrases import SoftwarePhrases
from ale_semantic.understanding.reading import RELATION, read_query
from ale_semantic.understanding.relations import Direction

SOFTWARE = SoftwarePhrases.of(["Blender"])


def test_plain_words_stay_what_they_are() -> None:
    reading = read_query("reconcile invoices", None, SOFTWARE)
    assert (reading.text, reading.condition, reading.recognised, reading.relation) == (
        "reconcile invoices",
        None,
        (),
        None,
    )


def test_an_explicit_phrase_becomes_a_filter_and_leaves_the_text() -> None:
    reading = read_query("invoices on Windows", parse("domain = legal"), SOFTWARE)
    assert reading.text == "invoices"
    assert str(reading.condition) == str(parse("domain = legal and os = windows"))


def test_a_chip_switched_off_is_mere_words_again() -> None:
    (chip,) = read_query("invoices on Windows", None, SOFTWARE).recognised
    reading = read_query("invoices on Windows", None, SOFTWARE, ignore=[chip.key])
    assert (reading.text, reading.condition) == ("invoices on Windows", None)
    assert [one.applied for one in reading.recognised] == [False]  # still shown, so that it can be switched on


def test_the_users_own_filter_on_a_field_goes_before_the_phrase() -> None:
    own = parse("not os = linux")
    reading = read_query("invoices on Windows", own, SOFTWARE)
    assert reading.condition == own
    assert not reading.recognised[0].applied


def test_a_relation_is_read_from_what_the_filter_leaves() -> None:
    reading = read_query("easier than the KiCad layout on Linux", None, SOFTWARE)
    assert str(reading.condition) == "os = linux"
    assert reading.relation is not None
    assert (reading.relation.direction, reading.relation.target) == (Direction.EASIER, "KiCad layout")
    assert read_query("easier than the KiCad layout", None, SOFTWARE, ignore=[RELATION]).relation is None
