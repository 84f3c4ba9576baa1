"""Values of the command line that are read without pydantic are those that Typer reads with it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from typer.core import TyperCommand, TyperGroup
from typer.testing import CliRunner

from ale_semantic.cli.plain import PlainCommand, PlainGroup


class Colour(StrEnum):
    RED = "red"
    BLUE = "dark-blue"


def shout(value: str) -> str:
    if value == "bad":
        raise typer.BadParameter("not this")
    return value.upper()


def _outcome(
    command: type[TyperCommand], group: type[TyperGroup], arguments: list[str], environment: dict[str, str]
) -> tuple[int, str, list[Any]]:
    """Run a command with parameters of all kinds; return exit code, output, and what it was given."""
    given: list[Any] = []
    app = typer.Typer(cls=group, rich_markup_mode=None, add_completion=False)

    def paint(
        text: Annotated[str, typer.Argument()],
        others: Annotated[list[str] | None, typer.Argument()] = None,
        count: int = 10,
        share: float | None = None,
        bounded: Annotated[int, typer.Option(min=0, max=9)] = 3,
        colour: Colour = Colour.RED,
        again: Annotated[list[Colour] | None, typer.Option()] = None,
        place: Annotated[Path | None, typer.Option(envvar="PLACE")] = None,
        loud: Annotated[str, typer.Option(callback=shout)] = "quiet",
        wanted: Annotated[bool | None, typer.Option("--wanted/--unwanted")] = None,
        flag: bool = False,
    ) -> None:
        given.extend([text, others, count, share, bounded, colour, again, place, loud, wanted, flag])

    app.command(cls=command)(paint)
    app.callback()(lambda: None)
    result = CliRunner().invoke(app, arguments, env=environment)
    return result.exit_code, result.output, [(type(value), value) for value in given]


@pytest.mark.parametrize(
    "arguments",
    [
        "paint x",
        "paint x y z --count 7 --share 0.5 --bounded 9",
        "paint x --colour dark-blue --again red --again dark-blue",
        "paint x --place . --loud up --flag --wanted",
        "paint x --place no/such/folder --unwanted",
        "paint --count +7 x",
        "paint x --count -7",
        "paint x --count 7.0",
        "paint x --count 7.5",
        "paint x --count ٧",
        "paint x --count many",
        "paint x --count " + "9" * 18,
        "paint x --count " + "9" * 19,
        pytest.param("paint x --count " + "9" * 5000, id="more digits than int() takes"),
        "paint x --share most",
        "paint x --bounded 10",
        "paint x --colour green",
        "paint x --again red --again green",
        "paint x --loud bad",
        "paint",
        "paint x --count",
        "paint x --unheard-of",
        "paint --help",
        "--help",
        "pain",
        "",
    ],
)
def test_all_is_read_as_typer_reads_it(arguments: str) -> None:
    words = arguments.split()
    assert _outcome(PlainCommand, PlainGroup, words, {}) == _outcome(TyperCommand, TyperGroup, words, {})


def test_variables_are_read_as_typer_reads_them(tmp_path: Path) -> None:
    environment = {"PLACE": str(tmp_path)}
    code, _, given = plain = _outcome(PlainCommand, PlainGroup, ["paint", "x"], environment)
    assert plain == _outcome(TyperCommand, TyperGroup, ["paint", "x"], environment)
    assert code == 0
    assert (type(tmp_path), tmp_path) in given
