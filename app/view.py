"""Templates and the safe ways from card text to HTML. Everything is escaped unless it comes from here as Markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from ale_semantic.analysis import stem, words
from ale_semantic.export import CARD_ADDRESS
from ale_semantic.types import InputFile, TaskCard

from . import labels

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

DATA_ADDRESS = "https://huggingface.co/datasets/agents-last-exam/agents-last-exam-data/resolve/main/tasks/"
SNIPPET = 300  # characters: three to four lines of a result card
_LEAD = 70  # characters kept before the first marked word
_OUTSIDE = {"target": "_blank", "rel": "noopener noreferrer nofollow"}


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("ale_semantic.app", "assets/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        marked=marked,
        snippet=snippet,
        markdown=markdown,
        field_label=labels.field_label,
        passage_label=labels.passage_label,
        duration=labels.duration,
        machine=labels.machine,
        card_url=card_url,
    )
    environment.globals.update(plural=labels.plural, value_label=labels.value_label, file_url=file_url)
    return environment


def render(template: str, **values: Any) -> str:
    """Return a template of `assets/templates` filled with values; a missing value is an error."""
    return _environment().get_template(template).render(**values)


def marked(text: str, matched: Iterable[str]) -> Markup:
    """Return text with every word marked that has the stem of a matched word."""
    spans = _spans(text, matched)
    parts: list[Markup] = []
    end = 0
    for start, stop in spans:
        parts += [escape(text[end:start]), Markup("<mark>"), escape(text[start:stop]), Markup("</mark>")]
        end = stop
    return Markup("").join([*parts, escape(text[end:])])


def snippet(text: str, matched: Sequence[str]) -> Markup:
    """Return the part of a passage around its first matched words, on one line, with them marked."""
    flat = " ".join(text.split())
    if len(flat) <= SNIPPET:
        return marked(flat, matched)
    spans = _spans(flat, matched)
    start = max(0, min(spans[0][0] - _LEAD if spans else 0, len(flat) - SNIPPET))
    if start:
        start = flat.find(" ", start) + 1
    cut = flat[start : start + SNIPPET]
    if start + SNIPPET < len(flat):
        cut = cut.rsplit(" ", 1)[0] + " …"
    return marked(("… " if start else "") + cut, matched)


def _spans(text: str, matched: Iterable[str]) -> list[tuple[int, int]]:
    """Return start and end of each matched word, in order; touching ones are joined."""
    import re

    stems = {stem(word) for phrase in matched for word in words(phrase)}
    if not stems:
        return []
    spans: list[tuple[int, int]] = []
    for match in re.finditer(r"[^\W_]+", text):
        parts = words(match.group())
        if len(parts) == 1 and stem(parts[0]) in stems:
            spans.append(match.span())
        elif len(parts) > 1:  # Chinese and Japanese: the words are pairs of signs within the run
            spans += _inner_spans(match.group(), match.start(), [part for part in parts if stem(part) in stems])
    return _joined(spans)


def _inner_spans(run: str, offset: int, parts: Iterable[str]) -> list[tuple[int, int]]:
    found = []
    for part in parts:
        at = run.find(part)
        while at >= 0:
            found.append((offset + at, offset + at + len(part)))
            at = run.find(part, at + 1)
    return sorted(set(found))


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    joined: list[tuple[int, int]] = []
    for start, stop in spans:
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
        else:
            joined.append((start, stop))
    return joined


def markdown(text: str) -> Markup:
    """Return a card's Markdown as HTML that can do nothing: no raw HTML, no pictures, links to http(s) only."""
    return Markup(_markdown().render(text))


@cache
def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable("table")
    parser.disable("image")  # a picture would be fetched from wherever the card says
    parser.validateLink = _is_web_link  # type: ignore[method-assign, assignment]
    parser.core.ruler.push("page", lambda state: _fit_into_page(state.tokens))
    return parser


def _is_web_link(address: str) -> bool:
    return address.strip().lower().startswith(("https://", "http://"))


def _fit_into_page(tokens: Sequence[Token]) -> None:
    """Put the card's headings below the page's own, and send its links to a new tab."""
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
        if token.type == "link_open":
            token.attrs.update(_OUTSIDE)
        if token.children:
            _fit_into_page(token.children)


def card_url(card: TaskCard) -> str:
    """Return the public address of a task's source folder."""
    return CARD_ADDRESS + quote(card.task_id)


def file_url(card: TaskCard, file: InputFile) -> str | None:
    """Return the public address of an input file, None where the card doesn't tell its place."""
    if not file.path or not card.variants:
        return None
    path = file.path.strip().strip("/")
    if ".." in path.split("/") or "://" in path:
        return None
    return DATA_ADDRESS + quote(f"{card.task_id}/{card.variants[0]}/{path}")
