"""Tasks by id, by the last part of the id, and by title."""

from __future__ import annotations

import pytest
from toy import toy_card

from ale_semantic.names import BY_ID, BY_TITLE, TaskNames

NAMES = TaskNames.of(
    [
        toy_card("legal/audit", title="Check the books"),
        toy_card("science/audit", title="Check the  Books"),
        toy_card("science/orbit_fit", title="audit"),
    ]
)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("legal/audit", {0: BY_ID}),
        ("  LEGAL/Audit ", {0: BY_ID}),
        ("orbit_fit", {2: BY_ID}),
        ("check THE books", {0: BY_TITLE, 1: BY_TITLE}),
        ("audit", {0: BY_ID, 1: BY_ID, 2: BY_TITLE}),
        ("legal", {}),
        ("check the book", {}),
        ("", {}),
    ],
)
def test_names(query: str, found: dict[int, str]) -> None:
    assert NAMES.named(query) == found
