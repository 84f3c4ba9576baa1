"""Small made-up cards for tests of facets."""

from __future__ import annotations

from ale_semantic.types import InputFile, OperatingSystem, SoftwareUse, TaskCard
from ale_semantic.vocabulary import canonical_software

LINUX, WINDOWS = OperatingSystem.LINUX, OperatingSystem.WINDOWS


def card(task_id: str, *, software: tuple[str, ...] = (), formats: tuple[str, ...] = (), **given: object) -> TaskCard:
    """Make a card; software by the card's spellings, formats by canonical names."""
    uses = [SoftwareUse(known.name, known.version, raw) for raw in software for known in canonical_software(raw)]
    files = [InputFile(f"f{n}", f"in/f{n}", "", f"{name} file", (name,)) for n, name in enumerate(formats)]
    texts = {"title": f"Title of {task_id}", "summary": "s", "prompt": "p", "domain": task_id.split("/")[0]}
    return TaskCard(task_id, **{**texts, **given}, software=tuple(uses), inputs=tuple(files))  # type: ignore[arg-type]
