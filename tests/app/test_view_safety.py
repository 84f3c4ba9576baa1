"""No text of a card, nor of an address, can become anything but text."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from markupsafe import Markup

from ale_semantic.app.context import Site
from ale_semantic.app.router import screen
from ale_semantic.app.view import markdown

HOSTILE_ID = "legal/hostile"
VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
ADDRESSES = [
    "",
    "q=hostile",
    "q=hostile&view=table&sort=title",
    f"task={HOSTILE_ID}&q=hostile+onerror",
    f"tab=similar&like={HOSTILE_ID}",
    "tab=similar&text=<script>alert(1)</script>",
    "tab=map&q=hostile",
    "tab=map&color=tier",
    "tab=overview",
    f"tab=selection&sel={HOSTILE_ID}&sel=legal/lease_review&note={HOSTILE_ID}:<img src=x onerror=alert(1)>",
    f"tab=curriculum&curriculum.start={HOSTILE_ID}",
    "tab=curriculum&curriculum.goal=<img src=x onerror=alert(1)>&curriculum.length=<b>",
    f"tab=curriculum&curriculum.exclude=<script>alert(1)</script>&curriculum.goal={HOSTILE_ID}",
    "tab=curriculum&curriculum.view=ladders&curriculum.min_closeness=-1",
    f"tab=curriculum&curriculum.view=subset&curriculum.k=3&curriculum.must={HOSTILE_ID}&curriculum.quota=<script>",
    f"tab=curriculum&curriculum.view=subset&curriculum.k=34&curriculum.twins=yes&sel={HOSTILE_ID}",
    "tab=curriculum&curriculum.view=subset&curriculum.k=33&curriculum.quota=tier%3Dlast-exam:33",
    "tab=curriculum&curriculum.view=split&curriculum.test=20",
    "tab=curriculum&curriculum.view=coverage&curriculum.skill=<svg onload=alert(1)>",
    "tab=curriculum&curriculum.view=topics&curriculum.topics=hostile%0A<script>alert(1)</script>",
    "tab=curriculum&curriculum.view=duplicates&curriculum.wording=0.01&curriculum.closeness=0.01",
    "tab=curriculum&curriculum.view=duplicates&curriculum.own=<script>alert(1)</script> img src onerror window",
    f"tab=curriculum&curriculum.view=prerequisites&curriculum.task={HOSTILE_ID}",
    'q="><script>alert(1)</script>',
    "where=<img src=x onerror=alert(1)>",
    "os=<svg onload=alert(1)>",
    "task=<script>alert(1)</script>",
    "sel=<script>alert(1)</script>&tab=selection",
    "page=<b onclick=alert(1)>",
]


class Reader(HTMLParser):
    """Collects what could act, and whether every element is closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.dangers: list[str] = []
        self.open: list[str] = []
        self.hrefs: list[str] = []
        self.ids: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "img", "iframe", "object", "embed", "link", "meta", "base", "style"):
            self.dangers.append(f"<{tag}>")
        for name, value in attrs:
            if name.startswith("on") or name in ("srcdoc", "src", "formaction"):
                self.dangers.append(f"{tag} {name}")
            if name == "href" and not (value or "").startswith(("?", "#", "https://", "http://")):
                self.dangers.append(f"href {value}")
            if name == "href" and value:
                self.hrefs.append(value)
            if name == "id" and value:
                self.ids.append(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.dangers.append(f"stray </{tag}>")


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_text_becomes_anything_but_text(site: Site, address: str) -> None:
    read = Reader(screen(site, address).html)
    assert read.dangers == []
    assert read.open == []
    assert len(read.ids) == len(set(read.ids))


def test_hostile_text_is_shown_as_it_is(site: Site) -> None:
    shown = Markup(screen(site, f"task={HOSTILE_ID}").html).unescape()
    assert shown.count("<script>window.hacked=1</script>") >= 6
    assert "{{7*7}}" in shown
    assert "${7*7}" in shown


def test_no_picture_is_fetched_for_a_prompt(site: Site) -> None:
    html = screen(site, f"task={HOSTILE_ID}").html
    assert "<img" not in html
    assert "evil.invalid" in html  # told, as a link to follow by hand


@pytest.mark.parametrize(
    "source",
    [
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](java\nscript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "[x](vbscript:x)",
        "[x](file:///etc/passwd)",
        "[x](&#106;avascript:alert(1))",
        "[x][y]\n\n[y]: javascript:alert(1)",
        "<javascript:alert(1)>",
        '<a href="javascript:alert(1)">x</a>',
        "![x](http://evil.invalid/x.png)",
        "<svg/onload=alert(1)>",
        "```\n</code></pre><script>alert(1)</script>\n```",
        "`<img src=x onerror=alert(1)>`",
    ],
)
def test_markdown_can_do_nothing(source: str) -> None:
    assert Reader(str(markdown(source))).dangers == []
