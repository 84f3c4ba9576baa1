"""The documentation keeps up with the code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from ale_semantic import settings

ROOT = Path(__file__).resolve().parent.parent


def test_the_page_of_the_command_line_is_what_its_help_says(tmp_path: Path) -> None:
    made = tmp_path / "cli.md"
    command = [sys.executable, "-m", "typer", "ale_semantic.cli.commands", "utils", "docs", "--name", "ale-semantic"]
    subprocess.run([*command, "--output", str(made)], check=True, capture_output=True, cwd=tmp_path)
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == made.read_text(encoding="utf-8"), "run: make docs"


def test_each_setting_is_documented() -> None:
    names = [value for name, value in vars(settings).items() if name.endswith("_VARIABLE")]
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert names
    assert [name for name in names if name not in readme or name not in (settings.__doc__ or "")] == []


def test_each_link_in_the_documentation_leads_somewhere() -> None:
    import re

    broken = []
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#\s]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target and not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert broken == []
