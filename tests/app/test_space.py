"""The Space's entry point: its README's front matter, and that a bare copy of the repository is found."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from importlib.metadata import version
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


def test_the_front_matter_names_files_and_versions_that_are_there() -> None:
    _, front, _ = (ROOT / "app" / "SPACE.md").read_text(encoding="utf-8").split("---\n", 2)
    given = yaml.safe_load(front)
    assert given["sdk"] == "gradio"
    assert (ROOT / given["app_file"]).is_file()
    assert given["sdk_version"].split(".")[0] == version("gradio").split(".")[0]
    assert len(given["short_description"]) <= 60  # the Hub refuses longer ones


def test_a_bare_copy_is_importable_without_an_install() -> None:
    code = (
        "import runpy; space = runpy.run_path('app/space.py'); space['_make_importable']();"
        "import ale_semantic.app.page, ale_semantic.embeddings.bundle as bundle; print(bundle.__file__)"
    )
    # Without `site`, an editable install's hooks are not there; the libraries come by their path alone.
    environment = {"PYTHONPATH": sysconfig.get_path("purelib"), "PATH": ""}
    command = [sys.executable, "-S", "-W", "ignore", "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()) == ROOT / "embeddings" / "bundle.py"
