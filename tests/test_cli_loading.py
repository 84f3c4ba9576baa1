"""The command line imports what the command that is asked for needs, and no more."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from ale_semantic.cli import main
from ale_semantic.cli.loading import COMMANDS, application, whole_application


def names(app: typer.Typer) -> list[str | None]:
    commands = [info.name for info in app.registered_commands]
    return commands + [info.name for info in app.registered_groups]


def test_the_list_of_commands_says_what_the_commands_say_of_themselves() -> None:
    whole = whole_application()
    own = {info.name: str(info.callback.__doc__).splitlines()[0] for info in whole.registered_commands if info.callback}
    own |= {
        info.typer_instance.info.name: str(info.typer_instance.info.help)
        for info in whole.registered_groups
        if info.typer_instance
    }
    assert own == {name: source.help for name, source in COMMANDS.items()}


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"], ["--version"], ["serach"], ["--help", "unheard-of"]])
def test_the_help_names_all_commands_and_imports_none(arguments: list[str]) -> None:
    assert names(application(arguments)) == list(COMMANDS)
    shown = CliRunner().invoke(application(arguments), ["--help"]).output
    assert all(name in shown for name in COMMANDS)


@pytest.mark.parametrize("arguments", [["search", "x"], ["--help", "search"], ["search", "--help"]])
def test_a_command_comes_alone(arguments: list[str]) -> None:
    assert names(application(arguments)) == ["search"]


def test_a_slip_gets_a_hint() -> None:
    result = CliRunner().invoke(application(["serach"]), ["serach"])
    assert result.exit_code == 2
    assert "search" in result.output


@pytest.mark.parametrize(
    ("code", "kept_out"),
    [
        ("import ale_semantic", "numpy typer rich pydantic"),
        (
            "import sys; sys.argv[1:] = ['--help']\n"
            "from ale_semantic.cli import main\ntry: main()\nexcept SystemExit: pass",
            "numpy rich pydantic ale_semantic.engine ale_semantic.cli.searching ale_semantic.cli.curriculum",
        ),
    ],
    ids=["import", "help"],
)
def test_what_isnt_needed_isnt_imported(code: str, kept_out: str) -> None:
    show = "\nimport sys, json; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code + show], check=True, capture_output=True, text=True)
    loaded = set(done.stderr.strip().strip("[]").replace('"', "").split(", "))
    assert loaded & set(kept_out.split()) == set()


@pytest.mark.parametrize("command", ["search", "build"])
def test_products_have_one_thread(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    monkeypatch.setattr(sys, "argv", ["ale-semantic", command, "--help"])
    with pytest.raises(SystemExit):
        main()
    assert os.environ.pop("OPENBLAS_NUM_THREADS", None) == "1"
