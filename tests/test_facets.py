"""Facets over small made-up cards: masks, disjunctive counts, hints."""

from __future__ import annotations

import numpy as np
import pytest
from made_up_cards import LINUX, WINDOWS, card

from ale_semantic.errors import FilterError, UnknownNameError
from ale_semantic.facet_columns import nearest
from ale_semantic.facet_fields import FIELDS, FieldKind, number_of, seconds_of
from ale_semantic.facets import FacetTable, selection_field
from ale_semantic.filters import Condition, field, parse
from ale_semantic.types import Facet, FacetValue, Finding, SoftwareUse, Tier

CARDS = (
    card("bakery/bread", software=("Python 3.10", "numpy", "NumPy"), formats=("CSV", "CSV", "PDF"), os=LINUX,
         tiers=(Tier.NEAR_TERM, Tier.FULL_SPECTRUM), gpu=False, timeout=3_600, published=True),
    card("bakery/cake", software=("Blender",), formats=("PDF",), os=WINDOWS, tiers=(Tier.NEAR_TERM,), gpu=True,
         timeout=7_200, subdomain="Sweet & Sour", published=False),
    card("garden/hedge", software=("`Python`", "Blender 4.1"), os=LINUX, tiers=(Tier.LAST_EXAM,), gpu=True,
         licensed=True, subdomain="Hedges, \"green\" ones", findings=(Finding("missing-title", "none"),)),
    card("garden/lawn", formats=("JSON",) * 4, taxonomy_domain="bakery"),
    card("harbour/crane", software=("Crane Studio (any edition)",), formats=("CSV",), os=WINDOWS, gpu=False,
         tiers=(Tier.NEAR_TERM,), timeout=7_200),
)  # fmt: skip


@pytest.fixture(scope="module")
def table() -> FacetTable:
    return FacetTable.from_cards(CARDS)


def passing(table: FacetTable, where: str) -> list[str]:
    return [CARDS[row].task_id.split("/")[1] for row in np.flatnonzero(table.mask(parse(where)))]


def counted(facets: tuple[Facet, ...], name: str) -> dict[str, int]:
    (facet,) = (facet for facet in facets if facet.field == name)
    return {value.value: value.count for value in facet.values}


@pytest.mark.parametrize(
    ("where", "tasks"),
    [
        ("", "bread cake hedge lawn crane"),
        ("domain = garden", "hedge lawn"),
        ("domain = GARDEN", "hedge lawn"),
        ("domain in (garden, harbour)", "hedge lawn crane"),
        ("tier = near-term", "bread cake crane"),
        ('tier = "Near Term"', "bread cake crane"),
        ("tier = near-term and tier = full-spectrum", "bread"),
        ("tier is missing", "lawn"),
        ("tier is present", "bread cake hedge crane"),
        ("has_tier = no", "lawn"),
        ("os = linux", "bread hedge"),
        ("os = ubuntu", "bread hedge"),
        ("not os = windows", "bread hedge lawn"),
        ("os != windows", "bread hedge lawn"),
        ("os not in (windows, linux)", "lawn"),
        ("not (os = windows or os is missing)", "bread hedge"),
        ("os = macos", ""),
        ("tier = last-exam and domain = bakery", ""),
        ("software = numpy", "bread"),
        ("software = python", "bread hedge"),
        ("software = `python`", None),
        ("software = '`python`'", "bread hedge"),
        ("software = 'Python 3.10'", "bread"),
        ("software = python3.10", "bread"),
        ("software_version = 'python 3.10'", "bread"),
        ("software = 'Blender 4.1'", "hedge"),
        ("software in (numpy, 'Blender 4.1')", "bread hedge"),
        ("software = 'Crane Studio (any edition)'", "crane"),
        ("software contains crane", "crane"),
        ("software contains '4.1'", "hedge"),
        ("input_format = .csv", "bread crane"),
        ("input_format = 'pdf file'", "bread cake"),
        ("format_family = table", "bread crane"),
        ("inputs = 0", "hedge"),
        ("inputs in (0, 4)", "hedge lawn"),
        ("inputs >= 3", "bread lawn"),
        ("inputs > 3", "lawn"),
        ("inputs < 1", "hedge"),
        ("inputs <= 1e0", "cake hedge crane"),
        ("inputs = 99", ""),
        ("timeout = 2h", "cake crane"),
        ("timeout <= 60m", "bread"),
        ("timeout > '1h 30m'", "cake crane"),
        ("not timeout > 1h", "bread hedge lawn"),
        ("gpu = yes", "cake hedge"),
        ("gpu = TRUE", "cake hedge"),
        ("gpu != yes", "bread lawn crane"),
        ("licensed is missing", "bread cake lawn crane"),
        ("published = no", "cake"),
        ("has_title = no", "hedge"),
        ("finding = missing-title", "hedge"),
        ("taxonomy_domain = bakery", "lawn"),
        ("subdomain = 'Sweet & Sour'", "cake"),
        ("subdomain = 'hedges, \"green\" ones'", "hedge"),
        ("subdomain contains SOUR", "cake"),
        ("task_id = bakery/cake", "cake"),
        ("task_id contains bak", "bread cake"),
        ("title = 'title of garden/lawn'", "lawn"),
        ("title contains zebra", ""),
        ("title not contains lawn", "bread cake hedge crane"),
    ],
)
def test_masks(table: FacetTable, where: str, tasks: str | None) -> None:
    if tasks is None:
        with pytest.raises(FilterError):
            passing(table, where)
    else:
        assert passing(table, where) == tasks.split()


@pytest.mark.parametrize(
    ("where", "position", "nearest_name", "message"),
    [
        ("os = linux and domian = garden", 15, "domain", "unknown field 'domian'"),
        ("domian is missing", 0, "domain", "unknown field 'domian'"),
        ("domain = gardn", 9, "garden", "unknown domain value 'gardn'"),
        ("domain in (garden, bakry)", 19, "bakery", "unknown domain value 'bakry'"),
        ("tier = last-exams", 7, "last-exam", "unknown tier value"),
        ("gpu = maybe", 6, "yes", "unknown gpu value"),
        ("os = ''", 5, "linux", "unknown os value"),
        ("software = numpi", 11, "NumPy", "unknown software value"),
        ("software = 'Python 2.7'", 11, "Python", "unknown software value"),
        ("software = 'Python / NumPy'", 11, "NumPy", "unknown software value"),
        ("software = 'x\" or tier = \"last-exam'", 11, "", "unknown software value"),
        ("subdomain = sweet", 12, "Sweet & Sour", "unknown subdomain value"),
        ("task_id = bakery/cakes", 10, "bakery/cake", "unknown task_id value"),
        ("os = linux or not (domain = nowhere)", 28, "", "unknown domain value"),
    ],
)
def test_unknown_names_are_errors_with_the_nearest(
    table: FacetTable, where: str, position: int, nearest_name: str, message: str
) -> None:
    for ask in (table.mask, lambda condition: table.counts(condition=condition)):
        with pytest.raises(UnknownNameError, match=message) as caught:
            ask(parse(where))
        assert (caught.value.position, caught.value.expression) == (position, where)
        assert nearest_name in (*caught.value.nearest, "")
        assert caught.value.nearest


@pytest.mark.parametrize(
    ("where", "position", "message"),
    [
        ("inputs >= many", 10, "inputs takes a number, not 'many'"),
        ("inputs in (1, nan)", 14, "inputs takes a number"),
        ("timeout = 2 ", None, ""),
        ("timeout > 2w", 10, "timeout takes seconds or a time such as 90m or 2h, not '2w'"),
        ("domain > garden", 0, "domain is no number"),
        ("gpu contains y", 0, "gpu is no text"),
        ("title contains ' - '", 15, "holds nothing to look for"),
    ],
)
def test_comparisons_that_mean_nothing_are_errors(
    table: FacetTable, where: str, position: int | None, message: str
) -> None:
    if position is None:
        assert passing(table, where) == []
        return
    with pytest.raises(FilterError, match=message) as caught:
        table.mask(parse(where))
    assert (caught.value.position, caught.value.expression) == (position, where)


def test_conditions_built_in_python_give_the_same_errors_without_a_position(table: FacetTable) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'domain'") as caught:
        table.mask(field("domian") == "garden")
    assert caught.value.position is None
    with pytest.raises(FilterError, match="takes a number"):
        table.mask(field("inputs") >= "x")


def test_a_facet_is_whole_and_ordered(table: FacetTable) -> None:
    facets = {facet.field: facet for facet in table.counts()}
    assert facets["domain"] == Facet(
        "domain", (FacetValue("bakery", 2), FacetValue("garden", 2), FacetValue("harbour", 1)), 0, False
    )
    near, full, last = FacetValue("near-term", 3), FacetValue("full-spectrum", 1), FacetValue("last-exam", 1)
    assert facets["tier"] == Facet("tier", (near, full, last), 1, True)
    assert [value.value for value in facets["inputs"].values] == ["0", "1", "3", "4"]
    assert tuple(facets) == table.countable_fields
    assert {"title", "task_id"} & set(facets) == set()


def test_a_software_in_two_spellings_counts_once(table: FacetTable) -> None:
    assert counted(table.counts(), "software")["NumPy"] == 1
    assert counted(table.counts(), "input_format")["CSV"] == 2


def test_values_that_differ_by_case_alone_are_one() -> None:
    tools = [[SoftwareUse(name, None, name)] for name in ("odd tool", "Odd Tool", "Odd-Tool", "Odd Tool")]
    cards = [card(f"d/{n}") for n in range(len(tools))]
    merged = FacetTable.from_cards(cards, extra={"tool": [[use.name for use in uses] for uses in tools]})
    assert counted(merged.counts(), "tool") == {"Odd Tool": 4}


def test_a_fields_own_selection_does_not_narrow_it(table: FacetTable) -> None:
    facets = table.counts(condition=parse("domain = bakery"))
    assert counted(facets, "domain") == {"bakery": 2, "garden": 2, "harbour": 1}
    assert counted(facets, "os") == {"linux": 1, "windows": 1}
    assert counted(facets, "tier") == {"near-term": 2, "full-spectrum": 1, "last-exam": 0}


def counts_of(
    table: FacetTable, condition: Condition | None, fields: list[str] | None, matching: np.ndarray | None
) -> tuple[Facet, ...]:
    """Count under a condition."""
    return table.counts(condition=condition, fields=fields, matching=matching)


def test_counts_that_were_asked_before_are_the_same(table: FacetTable) -> None:
    matching = np.array([True, False, True, False, False])
    ways = [
        (condition, fields, narrowed)
        for condition in (None, parse("domain = bakery"), parse("os = linux"), parse("domain = bakery and os = linux"))
        for fields in (None, ["os", "domain"], ["domain", "os"])
        for narrowed in (None, matching)
    ]
    first = [counts_of(FacetTable.of(table.cards, table.columns), *way) for way in ways]
    assert [counts_of(table, *way) for way in ways] == first
    assert [counts_of(table, *way) for way in ways] == first


def test_fields_narrow_each_other(table: FacetTable) -> None:
    facets = table.counts(condition=parse("domain in (bakery, garden) and os = linux"))
    assert counted(facets, "domain") == {"bakery": 1, "garden": 1, "harbour": 0}
    assert counted(facets, "os") == {"linux": 2, "windows": 1}
    assert counted(facets, "gpu") == {"yes": 1, "no": 1}


@pytest.mark.parametrize(
    "where", ["not domain = garden", "domain = bakery or os = windows", "not (domain = garden and os is missing)"]
)
def test_other_conditions_narrow_every_field(table: FacetTable, where: str) -> None:
    condition = parse(where)
    within = table.mask(condition)
    for facet in table.counts(condition=condition):
        if not facet.multivalued:
            assert sum(value.count for value in facet.values) + facet.missing == within.sum()


def test_what_matches_the_query_narrows_every_field(table: FacetTable) -> None:
    matching = np.array([True, False, True, False, False])
    facets = table.counts(condition=parse("domain = bakery"), matching=matching)
    assert counted(facets, "domain") == {"bakery": 1, "garden": 1, "harbour": 0}
    assert counted(facets, "os") == {"linux": 1, "windows": 0}
    assert matching.tolist() == [True, False, True, False, False]


@pytest.mark.parametrize(
    ("where", "name", "selected"),
    [
        ("software in (NUMPY, blender)", "software", ["Blender", "NumPy"]),
        ("software = numpy or software = python", "software", ["NumPy", "Python"]),
        ("software = 'Blender 4.1'", "software", []),
        ("not software = numpy", "software", []),
        ("timeout = 1h and os = linux", "timeout", ["3600"]),
        ("timeout >= 1h", "timeout", []),
        ("gpu = true", "gpu", ["yes"]),
        ("tier is missing", "tier", []),
        ("os = macos", "os", []),
    ],
)
def test_values_chosen_by_name_are_flagged(table: FacetTable, where: str, name: str, selected: list[str]) -> None:
    (facet,) = table.counts(condition=parse(where), fields=[name])
    assert sorted(value.value for value in facet.values if value.selected) == selected


def test_only_the_fields_asked_for_are_counted(table: FacetTable) -> None:
    assert [facet.field for facet in table.counts(fields=["title", "os"])] == ["title", "os"]
    with pytest.raises(UnknownNameError, match="did you mean 'os'"):
        table.counts(fields=["oss"])


def test_extra_fields_are_like_the_others() -> None:
    skills = [["Baking", "baking"], ["Baking", "Icing"], [], ["Mowing"], []]
    table = FacetTable.from_cards(CARDS, extra={"skill": skills})
    assert passing(table, "skill = baking and not skill = icing") == ["bread"]
    (facet,) = table.counts(fields=["skill"])
    assert facet == Facet("skill", (FacetValue("Baking", 2), FacetValue("Icing", 1), FacetValue("Mowing", 1)), 2, True)


@pytest.mark.parametrize("extra", [{"os": [[]] * len(CARDS)}, {"skill": [[]]}])
def test_wrong_extra_fields_are_refused(extra: dict[str, list[list[str]]]) -> None:
    with pytest.raises(ValueError, match="extra field"):
        FacetTable.from_cards(CARDS, extra=extra)


def test_a_table_without_cards_or_values() -> None:
    empty = FacetTable.from_cards([])
    assert empty.mask(None).shape == (0,)
    assert all(facet.values == () and facet.missing == 0 for facet in empty.counts(condition=parse("tier = last-exam")))


def test_each_field_is_described(table: FacetTable) -> None:
    summaries = {summary.name: summary for summary in table.describe()}
    assert list(summaries) == [field.name for field in FIELDS] == list(table.fields)
    assert all(summary.description.endswith(".") for summary in summaries.values())
    assert summaries["tier"].missing == 1
    assert summaries["domain"].examples == table.values("domain") == ("bakery", "garden", "harbour")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7200", 7200), ("2h", 7200), ("90m", 5400), ("1h30m", 5400), ("1 d", 86400), ("0.5H", 1800), ("30s", 30)],
)
def test_durations(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "2w", "-1h", "h2", "1h30", "nan", "inf", "0x10", "1_000", "٣"])
def test_what_is_no_number(text: str) -> None:
    assert number_of(text) is None
    assert seconds_of(text) is None


def test_nearest_prefers_names_that_hold_the_word() -> None:
    assert nearest("format", ["formal", "input_format", "title"])[0] == "input_format"
    assert nearest("domian", ["title", "subdomain", "domain"])[0] == "domain"


@pytest.mark.parametrize(
    ("where", "name"),
    [
        ("os = linux", "os"),
        ("os is missing", "os"),
        ("inputs >= 3", "inputs"),
        ("os = linux or os is missing", "os"),
        ("os = linux or gpu = yes", None),
        ("os != linux", None),
        ("os = linux or os != windows", None),
    ],
)
def test_a_selection_asks_for_values_of_one_field(where: str, name: str | None) -> None:
    condition = parse(where)
    assert condition is not None
    assert selection_field(condition) == name


def test_kinds_of_fields_are_consistent() -> None:
    for facet_field in FIELDS:
        assert not (facet_field.kind.is_ordered and facet_field.kind.is_textual)
        assert (facet_field.kind is FieldKind.BOOL) == (facet_field.vocabulary == ("yes", "no"))
