"""The filter language: what it means, what it refuses and where, and that printing and parsing agree."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tried import inputs, tried

from ale_semantic.errors import FilterError
from ale_semantic.filters import And, Comparison, Condition, Missing, Not, Operator, Or, all_of, any_of, field, parse
from ale_semantic.filters.words import KEYWORDS, MAX_DEPTH, MAX_LENGTH, is_bare_word

EXAMPLE = (
    'domain = legal and (os = linux or gpu = yes) and not software in (Blender, "Rhino 8")'
    " and inputs >= 3 and tier is missing"
)


def equal(name: str, *values: str) -> Comparison:
    return Comparison(name, Operator.EQUAL, values)


def fault(expression: str) -> FilterError:
    with pytest.raises(FilterError) as caught:
        parse(expression)
    return caught.value


def test_the_whole_language_in_one_filter() -> None:
    assert parse(EXAMPLE) == And(
        (
            equal("domain", "legal"),
            Or((equal("os", "linux"), equal("gpu", "yes"))),
            Not(equal("software", "Blender", "Rhino 8")),
            Comparison("inputs", Operator.AT_LEAST, ("3",)),
            Missing("tier"),
        )
    )


def test_the_same_filter_in_python() -> None:
    built = (
        (field("domain") == "legal")
        & ((field("os") == "linux") | (field("gpu") == True))  # noqa: E712
        & ~field("software").is_in("Blender", "Rhino 8")
        & (field("inputs") >= 3)
        & field("tier").is_missing()
    )
    assert built == parse(EXAMPLE)
    assert str(built) == EXAMPLE.replace("not software in", "software not in")


@pytest.mark.parametrize("blank", ["", "  ", "\n\t", "\u3000"])
def test_a_blank_filter_is_no_filter(blank: str) -> None:
    assert parse(blank) is None


@pytest.mark.parametrize(
    ("expression", "condition"),
    [
        ("os = linux", equal("os", "linux")),
        ("os == linux", equal("os", "linux")),
        ("os=linux", equal("os", "linux")),
        ("OS = linux", equal("os", "linux")),
        ("input-format = CSV", equal("input_format", "CSV")),
        ("os in (linux)", equal("os", "linux")),
        ("os IN (linux, windows)", equal("os", "linux", "windows")),
        ("os != linux", Not(equal("os", "linux"))),
        ("not os = linux", Not(equal("os", "linux"))),
        ("os not in (linux, windows)", Not(equal("os", "linux", "windows"))),
        ("not not os = linux", Not(Not(equal("os", "linux")))),
        ("tier Is Missing", Missing("tier")),
        ("tier is present", Not(Missing("tier"))),
        ("tier is not missing", Not(Missing("tier"))),
        ("tier is not present", Missing("tier")),
        ("inputs < 3", Comparison("inputs", Operator.LESS, ("3",))),
        ("inputs <= 3", Comparison("inputs", Operator.AT_MOST, ("3",))),
        ("inputs>3", Comparison("inputs", Operator.MORE, ("3",))),
        ("timeout >= 1.5h", Comparison("timeout", Operator.AT_LEAST, ("1.5h",))),
        ("title contains report", Comparison("title", Operator.CONTAINS, ("report",))),
        ("title ~ report", Comparison("title", Operator.CONTAINS, ("report",))),
        ("title not contains report", Not(Comparison("title", Operator.CONTAINS, ("report",)))),
        ("task_id = some_domain/task-1.2", equal("task_id", "some_domain/task-1.2")),
        ("software = C++", equal("software", "C++")),
        ("software = C#", equal("software", "C#")),
        ("title = 年报", equal("title", "年报")),
        ("title = प्रतिवेदन", equal("title", "प्रतिवेदन")),  # has combining marks
        ("software = 'it\\'s'", equal("software", "it's")),
        ('software = "it\'s"', equal("software", "it's")),
        ('software = "C:\\Tools\\"', None),
        ('software = "C:\\Tools\\\\"', equal("software", "C:\\Tools\\")),
        ('software = "or"', equal("software", "or")),
        ("software = ''", equal("software", "")),
        ("tier = missing", equal("tier", "missing")),
        ("((os = linux))", equal("os", "linux")),
        ("a = 1 and (b = 2 and c = 3)", And((equal("a", "1"), equal("b", "2"), equal("c", "3")))),
        ("a = 1 or b = 2 and c = 3", Or((equal("a", "1"), And((equal("b", "2"), equal("c", "3")))))),
        ("not a = 1 and b = 2", And((Not(equal("a", "1")), equal("b", "2")))),
        ("not (a = 1 and b = 2)", Not(And((equal("a", "1"), equal("b", "2"))))),
    ],
)
def test_parsing(expression: str, condition: Condition | None) -> None:
    if condition is None:
        assert "never closed" in str(fault(expression))
    else:
        assert parse(expression) == condition


def test_a_quoted_value_never_becomes_a_condition() -> None:
    assert parse("software = 'x\" or tier = \"last-exam'") == equal("software", 'x" or tier = "last-exam')


@pytest.mark.parametrize(
    ("expression", "position", "message"),
    [
        ("domain", 6, "expected =, !=, <, <=, >, >=, in, not in, contains, is missing or is present after 'domain'"),
        ("domain legal", 7, "after 'domain', found 'legal'"),
        ("domain =", 8, "expected a value, found the end of the filter"),
        ("domain = )", 9, "expected a value, found ')'"),
        ("domain = or", 9, "as a value, or needs quotes"),
        ("software = Rhino 8", 17, 'a value of several words needs quotes: "Rhino 8"'),
        ("software in (Rhino 8)", 19, 'needs quotes: "Rhino 8"'),
        ("software in Blender", 12, "expected '(' and a list of values"),
        ("software in ()", 13, "expected a value, found ')'"),
        ("software in (a, )", 16, "expected a value"),
        ("software in (a", 14, "expected ',' or ')'"),
        ("software not a", 13, "expected 'in' or 'contains' after 'not'"),
        ("tier is linux", 8, "expected 'missing' or 'present' after 'is'"),
        ("(os = linux", 11, "expected 'and', 'or' or ')'"),
        ("os = linux)", 10, "')' closes nothing"),
        ("os = linux 'x'", 11, "expected 'and', 'or' or the end"),
        ("os = linux and", 14, "expected the name of a field"),
        ("and os = linux", 0, "expected the name of a field"),
        ('"os" = linux', 0, "expected the name of a field"),
        ("= linux", 0, "expected the name of a field"),
        ("os = linux && gpu = yes", 11, "write 'and'"),
        ("os = linux || gpu = yes", 11, "write 'or'"),
        ("!gpu = yes", 0, "write 'not'"),
        ("os:linux", 2, "write '='"),
        ("software = `Rhino`", 11, "use straight quotes"),
        ("software = “Rhino”", 11, "use straight quotes"),
        ("software = 'Rhino", 11, "the quote ' is never closed"),
        ("os = linux\0", 10, "unexpected '\\x00'"),
        ("software = 😀", 11, "in quotes"),
        ("(" * (MAX_DEPTH + 1) + "a = b" + ")" * (MAX_DEPTH + 1), MAX_DEPTH, "nested more than"),
        ("not " * (MAX_DEPTH + 1) + "a = b", 4 * MAX_DEPTH, "nested more than"),
        ("a = 1 or b = 2 and (" * 60 + "c = 3 or d = 4" + ")" * 60, 0, "nested more than"),  # two levels a parenthesis
        ("a" * (MAX_LENGTH + 1), MAX_LENGTH, "at most 10000"),
    ],
)
def test_errors_tell_where_and_what_was_expected(expression: str, position: int, message: str) -> None:
    error = fault(expression)
    assert message in str(error)
    assert (error.position, error.expression) == (position, expression)


def test_nesting_up_to_the_limit_is_taken() -> None:
    assert parse("(" * MAX_DEPTH + "a = b" + ")" * MAX_DEPTH) == equal("a", "b")


def test_positions_are_kept_but_not_compared() -> None:
    condition = parse("os  = linux")
    assert isinstance(condition, Comparison)
    assert condition.written is not None
    assert (condition.written.field, condition.written.values) == (0, (6,))
    assert condition == parse("os = linux")
    assert hash(condition) == hash(parse("os = linux"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: And((equal("a", "1"),)),
        lambda: Or(()),
        lambda: equal("a"),
        lambda: Comparison("a", Operator.LESS, ("1", "2")),
        lambda: equal("two words", "1"),
        lambda: equal("or", "1"),
        lambda: Missing(""),
        lambda: equal("a", "1") & "b = 2",  # type: ignore[operator]
        lambda: Not("a = 1"),  # type: ignore[arg-type]
    ],
)
def test_conditions_that_could_not_be_written_can_not_be_built(make: Callable[[], object]) -> None:
    with pytest.raises(FilterError):
        make()


def test_the_depth_of_built_conditions_is_bounded() -> None:
    condition: Condition = equal("a", "1")
    for _ in range(MAX_DEPTH - 1):
        condition = ~condition
    assert parse(str(condition)) == condition
    with pytest.raises(FilterError, match="nested more than"):
        Not(condition)


def test_pythons_own_connectives_are_refused() -> None:
    with pytest.raises(TypeError, match=r"&, \| and ~"):
        (field("a") == 1) and (field("b") == 2)
    with pytest.raises(TypeError, match="&"):
        _ = 1 <= field("inputs") <= 3


def test_building_in_python() -> None:
    inputs = field("inputs")
    assert (inputs < 3, inputs <= 3, inputs > 3) == (parse("inputs < 3"), parse("inputs <= 3"), parse("inputs > 3"))
    assert (inputs != 3) == parse("inputs != 3")
    assert field("gpu").is_in(True, False) == parse("gpu in (yes, no)")
    assert field("title").contains("a b") == parse('title contains "a b"')
    assert field("tier").is_present() == parse("tier is present")


def test_joining_any_number() -> None:
    one, two = equal("a", "1"), equal("b", "2")
    assert (all_of([]), all_of([None, one]), all_of([one, None, two])) == (None, one, And((one, two)))
    assert (any_of([]), any_of([one]), any_of([one, two])) == (None, one, Or((one, two)))


# --- printing and parsing agree, whatever the condition and whatever the text ---

names = st.from_regex(r"[\w][\w.]{0,8}", fullmatch=True).filter(lambda name: is_bare_word(name.casefold()))
values = st.one_of(st.text(max_size=8), st.sampled_from([*KEYWORDS, "AND", "missing", 'a"b', "a\\", "\\'", "x, y"]))
comparisons = st.one_of(
    st.builds(equal, names, values),
    st.builds(lambda name, many: equal(name, *many), names, st.lists(values, min_size=1, max_size=3)),
    st.builds(
        lambda name, operator, value: Comparison(name, operator, (value,)), names, st.sampled_from(Operator), values
    ),
    st.builds(Missing, names),
)


def compound(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(st.builds(Not, inner), st.builds(And, several), st.builds(Or, several))


conditions: st.SearchStrategy[Condition] = st.recursive(comparisons, compound, max_leaves=12)


@inputs(100, 2_000)
def test_what_is_printed_parses_back(number: int) -> None:
    def check(condition: Condition) -> None:
        assert parse(condition.to_expression()) == condition

    tried(conditions, number, check)


@settings(max_examples=25)
@given(conditions)
def test_conditions_survive_pickling(condition: Condition) -> None:
    assert pickle.loads(pickle.dumps(condition)) == condition


pieces = st.sampled_from(
    [
        *KEYWORDS,
        "missing",
        "present",
        "domain",
        "os",
        "3",
        "=",
        "!=",
        "<",
        ">=",
        "~",
        "(",
        ")",
        ",",
        '"',
        "'",
        "\\",
        " ",
    ]
)


texts = st.one_of(st.text(), st.lists(pieces, max_size=15).map(" ".join), st.lists(pieces, max_size=15).map("".join))


def understood_or_refused(text: str) -> None:
    error, condition = None, None
    try:
        condition = parse(text)
    except FilterError as caught:
        error = caught
    if error is not None:
        assert error.position is not None
        assert 0 <= error.position <= len(text)
        assert (error.expression, bool(str(error))) == (text, True)
    elif condition is None:
        assert not text.strip()
    else:
        assert parse(str(condition)) == condition


@inputs(500, 10_000)
def test_any_text_is_a_filter_or_one_clear_error(number: int) -> None:
    tried(texts, number, understood_or_refused)
