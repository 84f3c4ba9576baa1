"""Filters and facets on the real cards: the counts that a reader can check against the benchmark's own lists."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ale_semantic.catalogue import Catalogue
from ale_semantic.errors import UnknownNameError
from ale_semantic.facets import FacetTable
from ale_semantic.filters import field, parse
from ale_semantic.types import Facet
from ale_semantic.vocabulary import fold

TOTAL = 157


@pytest.fixture(scope="module")
def catalogue(real_cards: Path) -> Catalogue:
    return Catalogue.load(real_cards)


@pytest.fixture(scope="module")
def table(catalogue: Catalogue) -> FacetTable:
    return FacetTable.from_cards(catalogue.cards)


def facet(table: FacetTable, name: str, where: str = "") -> Facet:
    (found,) = table.counts(condition=parse(where), fields=[name])
    return found


def counted(found: Facet) -> dict[str, int]:
    return {value.value: value.count for value in found.values}


@pytest.mark.parametrize(
    ("where", "count"),
    [
        ("", TOTAL),
        ("domain = legal", 2),
        ("tier = last-exam and os = linux and software = numpy", 6),
        ("tier = last-exam and domain = legal", 0),
        ("os = linux", 105),
        ("os = windows", 52),
        ("not os = windows", 105),
        ("tier is missing", 10),
        ("has_tier = no", 10),
        ("tier = near-term", 59),
        ("tier = full-spectrum", 55),
        ("tier = last-exam", 35),
        ("tier is present", 147),
        ("gpu = yes", 20),
        ("licensed = yes", 20),
        ("software = numpy", 36),
        ("software = NumPy", 36),
        ("published = yes", 153),
        ("finding = domain-mismatch", 18),
        ("finding = missing-must-do", 5),
        ("finding = several-tiers", 2),
        ('software = "Word processor (any DOCX-capable editor)"', 1),
        ('software = "Rhino 8"', 2),
        ("task_id = engineering/mold-flow", 1),
    ],
)
def test_counts_of_filters(table: FacetTable, where: str, count: int) -> None:
    assert table.mask(parse(where)).sum() == count


def test_every_spelling_of_software_finds_its_card(catalogue: Catalogue, table: FacetTable) -> None:
    for row, card in enumerate(catalogue.cards):
        for use in card.software:
            for spelling in (use.raw, use.name, use.raw.upper()):
                assert table.mask(field("software") == spelling)[row], spelling


def test_a_value_that_looks_like_a_condition_is_a_value(table: FacetTable) -> None:
    with pytest.raises(UnknownNameError, match="unknown software value"):
        table.mask(parse("software = 'x\" or tier = \"last-exam'"))


def test_unknown_names_are_hinted(table: FacetTable) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'domain'"):
        table.mask(parse("domian = legal"))
    with pytest.raises(UnknownNameError, match="did you mean 'legal'"):
        table.mask(parse("domain = leagl"))


def test_a_task_in_two_tiers_counts_under_each(table: FacetTable) -> None:
    found = facet(table, "tier")
    assert counted(found) == {"near-term": 59, "full-spectrum": 55, "last-exam": 35}
    assert found.missing == 10


def test_a_chosen_domain_does_not_narrow_the_domains(table: FacetTable) -> None:
    everywhere, chosen = facet(table, "domain"), facet(table, "domain", "domain = engineering")
    assert len(everywhere.values) == 14
    assert counted(everywhere) == counted(chosen)
    assert [value.value for value in chosen.values if value.selected] == ["engineering"]
    for name in ("os", "gpu", "licensed", "inputs", "has_tier", "published"):
        narrowed = facet(table, name, "domain = engineering")
        assert sum(counted(narrowed).values()) + narrowed.missing == 20


def test_values_no_passing_card_has_count_zero(table: FacetTable) -> None:
    software = counted(facet(table, "software", "domain = legal"))
    assert software.keys() == counted(facet(table, "software")).keys()
    assert software["Blender"] == 0


def test_single_valued_facets_add_up(table: FacetTable) -> None:
    single = [found for found in table.counts() if not found.multivalued]
    assert len(single) >= 10
    for found in single:
        assert sum(counted(found).values()) + found.missing == TOTAL, found.field


def test_no_two_values_differ_by_spelling_alone(table: FacetTable) -> None:
    for name in table.countable_fields:
        values = table.values(name)
        assert len({fold(value) for value in values}) == len(values), name


def test_each_value_can_be_filtered_by_and_gives_its_count(table: FacetTable) -> None:
    for found in table.counts():
        for value in found.values:
            condition = field(found.field) == value.value
            assert table.mask(condition).sum() == value.count
            assert (table.mask(parse(str(condition))) == table.mask(condition)).all()


def test_the_filter_that_leaves_nothing_still_counts_the_alternatives(table: FacetTable) -> None:
    where = "tier = last-exam and domain = legal"
    assert not np.any(table.mask(parse(where)))
    assert sum(counted(facet(table, "domain", where)).values()) == 35
    assert sum(value.selected for value in facet(table, "tier", where).values) == 1
