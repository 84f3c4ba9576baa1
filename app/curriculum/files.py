"""An answer of the Curriculum tab as a file: curriculum, task list, Markdown, picture, or the whole answer as JSON."""

from __future__ import annotations

import json
from enum import StrEnum

from ale_semantic.curriculum import chart, markdown, task_list
from ale_semantic.errors import CurriculumError

from ..context import Site
from ..state import State
from .tab import list_of


class CurriculumForm(StrEnum):
    """The forms, by their file ending."""

    YAML = "yaml"
    TASK_LIST = "txt"
    MARKDOWN = "md"
    SVG = "svg"
    PNG = "png"
    JSON = "json"


MEDIA_TYPES = {
    CurriculumForm.YAML: "application/yaml",
    CurriculumForm.TASK_LIST: "text/plain",
    CurriculumForm.MARKDOWN: "text/markdown",
    CurriculumForm.SVG: "image/svg+xml",
    CurriculumForm.PNG: "image/png",
    CurriculumForm.JSON: "application/json",
}


def content_of(site: Site, state: State, form: str, part: str) -> tuple[CurriculumForm, bytes]:
    """Return the file's form and content.

    Args:
        site: the page.
        state: the address whose answer is kept; it is computed anew, and comes out the same.
        form: the file's ending.
        part: the number of the list, where the view shows several.

    Raises:
        AleSemanticError: if there is no such form, answer or list, or the picture can't be drawn.
    """
    try:
        kind = CurriculumForm(form)
    except ValueError:
        raise CurriculumError(f"unknown form {form!r}; valid are {', '.join(CurriculumForm)}") from None
    number = int(part) if part.isascii() and part.isdigit() and len(part) < 9 else -1
    answer, place = list_of(site, state, number)
    if kind is CurriculumForm.JSON:
        return kind, (json.dumps(answer.record.to_dict(), ensure_ascii=False, indent=2) + "\n").encode()
    if not answer.lists:
        raise CurriculumError("this view has no list of tasks to keep: take its JSON")
    curriculum = answer.lists[place]
    match kind:
        case CurriculumForm.YAML:
            return kind, curriculum.to_yaml().encode()
        case CurriculumForm.TASK_LIST:
            return kind, task_list(site.engine, curriculum).encode()
        case CurriculumForm.MARKDOWN:
            return kind, markdown(site.engine, curriculum).encode()
    return kind, chart(site.engine, curriculum, form=str(kind))
