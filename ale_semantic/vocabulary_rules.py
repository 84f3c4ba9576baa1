"""The general rules of the vocabulary: what can be said of a spelling without knowing the product or format.

All functions are pure, take any text, and never lengthen it, so that applying them again and again ends.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

LONGEST_NAME = 160  # characters; longer "names" are prose, kept as they are and never taken apart
SHORTEST_GLUED = 3  # letters before a glued-on number ("python3") for it to count as a version; "r2" is a name


def word_set(words: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(words.split())


_QUOTES = "`'\"\u00b4\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb"
_STRAY = " ,;:"
_DROPPED = re.compile(rf"[{_QUOTES}\s_\-\u00ad\u2010-\u2015\u2212]+")
_BETWEEN_DIGITS = re.compile(rf"(?<=\d)[{_QUOTES}\s_\-\u00ad\u2010-\u2015\u2212]+(?=\d)")
_KEPT_APART = "\ue000"  # private-use mark for a separator between two digits

_NUMBER = r"(?:R20\d\d[ab]|\d\dH[12]|v?\d+(?:\.(?:\d+|x))*(?:[-_.]?(?:alpha|beta|rc|post|dev|sp|a|b|p|u)\.?\d*)?)\+?"
_OPERATOR = r"(?:>=|<=|==|~=|=|>|<|\u2265|\u2264|\^|~|@)"
_INTRODUCTION = rf"(?:(?:version|ver\.?|release|rel\.?|v\.?)\s*|{_OPERATOR}\s*)"
_TRAILER = (
    r"(?:\s*[,;]?\s*(?:\+|LTS|LTSC|SP\s?\d+|update\s\d+|latest|stable|release|version"
    r"|(?:or|and)\s(?:later|newer|above|higher|greater|up)(?:\sversions?)?))"
)
_VERSION_LIST = rf"(?P<version>{_NUMBER})(?:\s*(?:[,/\-\u2013]|\bor\b|\band\b|\bto\b)\s*{_INTRODUCTION}?{_NUMBER})*"
_AT_END = re.compile(
    rf"(?:\s*[,;:]?\s+{_INTRODUCTION}?|\s*{_OPERATOR}\s*|[-_](?=v?\d+\.\d)){_VERSION_LIST}{_TRAILER}*\s*$",
    re.IGNORECASE,
)
_ALONE = re.compile(rf"^{_INTRODUCTION}?{_VERSION_LIST}{_TRAILER}*$", re.IGNORECASE)
_GLUED = re.compile(rf"^(?P<name>.*?[^\W\d_])[-_]?(?P<version>{_NUMBER})$", re.IGNORECASE)
_TRAILER_ALONE = re.compile(rf"(?<=\S)\s(?=\S){_TRAILER}$", re.IGNORECASE)

_PARENTHESIS = re.compile(r"\s*\(([^()]*)\)")
_LAUNCH_ROOT = re.compile(r"^(?:\.{0,2}[/\\]|~[/\\]|[a-z]:[/\\]|(?:software|tools?|bin|usr|opt|apps?)[/\\])\S", re.I)
_LAUNCH_FILE = re.compile(r"[/\\][\w.\-]+\.(?:sh|bat|cmd|exe|ps1|app)$", re.I)
_DRIVE_FILE = re.compile(r"^[a-z]:\\.*\.(?:bat|cmd|exe|ps1|lnk)$", re.I)  # may hold spaces: C:\Program Files\x.exe
_LAUNCH_WORD = re.compile(r"^(?:launch|run|start|open)[_\-]", re.I)
_LAUNCH_SUFFIX = re.compile(r"\.(?:sh|bat|cmd|exe|ps1|app|lnk|py)$", re.I)
_VIA = re.compile(r"\s+(?:via|through|using|at|in|from)\s+(\S+)$", re.I)
# A remark of these words alone tells where or how a program runs, never which program it is.
_REMARK_WORDS = word_set(
    "cpu gpu only optional required recommended headless gui cli free latest stable portable preinstalled installed"
    " installation reference environment desktop windows linux ubuntu macos mac or and the any version 64 bit 32 x64"
    " x86 x86_64 64bit 32bit 64-bit 32-bit for via local locally offline lts build edition if needed available"
)


class Versioned(NamedTuple):
    """A name with the version that was taken off it."""

    name: str
    version: str | None


@lru_cache(maxsize=4096)  # formats, programs and machines of different cards are spelled alike
def fold(text: str) -> str:
    """Return the key under which spellings compare equal.

    NFKC, case-folded, without quotes, backticks, spaces, hyphens, underscores and control characters; a
    separator between two digits stays (as a hyphen), so that `2023-1` isn't `20231`.
    """
    before, after = "", text
    while before != after:  # each round may expose something for the next; two or three rounds settle any text
        before, after = after, _fold_once(after)
    return after


def _fold_once(text: str) -> str:
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    kept = _BETWEEN_DIGITS.sub(_KEPT_APART, text)
    return _without_controls(_DROPPED.sub("", kept).replace(_KEPT_APART, "-"))


def tidy(text: str) -> str:
    """Return the text fit for display: no backticks, control characters, wrapping quotes or doubled spaces."""
    before, after = "", text
    while before != after:
        before = after
        after = unicodedata.normalize("NFC", after).replace("`", "")
        if not after.isprintable():  # else its only blanks are spaces
            after = _without_controls("".join(" " if char.isspace() else char for char in after))
        after = _unwrap(" ".join(after.split()))
    return after


def _without_controls(text: str) -> str:
    if text.isprintable():  # nearly all are, and looking at each character takes ten times as long
        return text
    return "".join(char for char in text if unicodedata.category(char) not in {"Cc", "Cf", "Cs"})


def _unwrap(text: str) -> str:
    """Take wrapping quotes and stray punctuation off both ends, however deeply nested, in one pass."""
    start, end = 0, len(text)
    while True:
        while start < end and text[start] in _STRAY:
            start += 1
        while start < end and text[end - 1] in _STRAY:
            end -= 1
        if end - start < 2 or text[start] not in _QUOTES or text[end - 1] not in _QUOTES:
            return text[start:end]
        start, end = start + 1, end - 1


def split_version(text: str) -> Versioned:
    """Take a version off the end: `Rhino 8`, `Tool v2.3`, `tool>=1.2`, `Tool R2023b`, `Tool 3.10 or later`.

    Of several versions the first is kept. A text with no letter before the number is left whole.
    """
    match = _AT_END.search(text)
    if match:
        name = text[: match.start()].rstrip(" ,;:")
        if any(char.isalpha() for char in name):
            return Versioned(name, clean_version(match["version"]))
    match = _TRAILER_ALONE.search(text)
    if match and any(char.isalpha() for char in text[: match.start()]):
        return Versioned(text[: match.start()].rstrip(" ,;:"), None)
    return Versioned(text, None)


def split_glued(text: str) -> Versioned:
    """Take off a number that has no space before it (`python3.10`, `blender-4`): safe for known names only."""
    match = _GLUED.match(text)
    if match and sum(char.isalpha() for char in match["name"]) >= SHORTEST_GLUED:
        return Versioned(match["name"], clean_version(match["version"]))
    return Versioned(text, None)


def bare_version(text: str) -> str | None:
    """Return the version if the text is nothing else (`3.10+`, `v2.3 or later`), else None."""
    match = _ALONE.match(text)
    return clean_version(match["version"]) if match else None


def clean_version(version: str) -> str:
    """Drop the leading `v` and the trailing `+` of a version."""
    return re.sub(r"^[vV](?=\d)", "", version).rstrip("+")


def take_parentheses(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the text without its parentheses, and what stood in them."""
    return tidy(_PARENTHESIS.sub(" ", text)), tuple(tidy(inside) for inside in _PARENTHESIS.findall(text))


def is_remark(text: str) -> bool:
    """Tell whether a parenthesis only says where or how a program runs: a launch path, a platform, a version."""
    words = text.casefold().replace(",", " ").replace("/", " ").split()
    return is_launch_path(text) or bare_version(text) is not None or all(word in _REMARK_WORDS for word in words)


def is_launch_path(text: str) -> bool:
    """Tell whether the text is the path of a program rather than its name (`software/python`)."""
    if _DRIVE_FILE.match(text):
        return True
    return " " not in text and bool(_LAUNCH_ROOT.match(text) or _LAUNCH_FILE.search(text))


def program_of(path: str) -> str:
    """Return the program that a launch path names: `software/run_tool.sh` gives `tool`."""
    stem = _LAUNCH_SUFFIX.sub("", re.split(r"[/\\]", path.rstrip("/\\"))[-1])
    return _LAUNCH_WORD.sub("", stem) or stem


def drop_via(text: str) -> str:
    """Drop a trailing launch path: `Tool 23 via software/run_tool.sh` gives `Tool 23`."""
    match = _VIA.search(text)
    return text[: match.start()] if match and is_launch_path(match[1]) else text


def split_outside(text: str, separator: re.Pattern[str]) -> tuple[str, ...]:
    """Split the text at a separator, but not inside parentheses; empty parts vanish."""
    parts, start = [], 0
    for match in separator.finditer(text):
        if text.count("(", 0, match.start()) > text.count(")", 0, match.start()):
            continue
        parts.append(text[start : match.start()])
        start = match.end()
    parts.append(text[start:])
    return tuple(part for part in map(tidy, parts) if part)
