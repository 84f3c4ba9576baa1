"""Canonical input formats and their families: the alias table first, then rules that are safe for any format."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from ale_semantic import vocabulary_rules as rules
from ale_semantic.vocabulary_rules import fold, tidy
from ale_semantic.vocabulary_tables import format_table

UNKNOWN_FAMILY = "other"
_UNSPECIFIED = "unspecified"  # the family of formats that say nothing of the contents
_DIRECTORY = "Directory"
_NOTHING = frozenset({"none", "n/a", "nothing", "notapplicable"})
_LISTING = re.compile(r"\s*[,;|]\s*(?:(?:and|or)\s)?")
_WORDS = re.compile(rf"{_LISTING.pattern}|\s+(?:and|or|with|plus)\s+|\s*[+&]\s*")
_SLASH = re.compile(rf"{_WORDS.pattern}|\s*/\s*")
_LONGEST_EXTENSION = 5  # characters; an unknown word up to this long is shown in capitals, as extensions are
_COMPRESSION = re.compile(r"\.(?:gz|bgz|bz2|xz|zst)$", re.I)
_EXTENSION = re.compile(r"^[\w\-]*[^\W\d_][\w\-]*$")
_MEDIA_TYPE = re.compile(r"^(application|audio|image|text|video)/(?:x-)?([\w.+\-]+)$", re.I)
_MEDIA_FAMILIES = {  # the families that a media type of each kind may name; "text/pdf" is a list, not a media type
    "audio": {"audio"},
    "image": {"image"},
    "text": {"table", "text", "web"},
    "video": {"video and animation"},
}
_SHORT_WORD = re.compile(r"^\.?\w{1,6}$")
_LOUD_WORD = re.compile(r"^\.\w+$|^[A-Z0-9]{3,}$")  # an extension or capitals: a format, whatever stands around it

_FOLDER_WORDS = rules.word_set("directory directories folder folders dir dirs subdirectory subdirectories tree subtree")
_CONTAINER_WORDS = _FOLDER_WORDS | rules.word_set(
    "file files of a an the one multiple several many set sets collection list containing"
)
_DESCRIPTION_WORDS = rules.word_set(
    "gzipped bgzipped gzip bgzip compressed gzip-compressed bgzip-compressed bzip2-compressed zip-compressed zipped"
    " tar zip archive archives bundle utf-8 utf8 ascii raw binary single paired scanned annotated image images photo"
    " photos screenshot screenshots scan scans raster rasters layer layers volume volumes mask masks mesh meshes stack"
    " series sequence sequences pair pairs dataset datasets data array arrays tensor tensors matrix matrices document"
    " documents page pages deck decks slide slides presentation presentations brief briefs note notes memo memos"
    " letter letters guide instructions spec specification specifications report reports table tables sheet sheets"
    " workbook workbooks spreadsheet spreadsheets record records extract extracts export exports label labels"
    " annotation annotations input inputs resource resources asset assets format formats formatted config"
    " configuration metadata schema model models drawing drawings material materials template templates video videos"
    " clip clips audio recording recordings instance instances"
)


@dataclass(frozen=True, slots=True)
class FormatName:
    """One canonical input format and its family ("CSV", "table").

    `mapped` is False if the alias table doesn't know the format; its family is then "other".
    """

    name: str
    family: str
    mapped: bool


@lru_cache(maxsize=4096)
def canonical_formats(raw: str) -> tuple[FormatName, ...]:
    """Return the formats that one spelling of a card names, each once; nothing for a blank or "none"."""
    text = tidy(raw)
    if not fold(text) or fold(text) in _NOTHING:
        return ()
    if len(text) > rules.LONGEST_NAME:
        return (FormatName(text, UNKNOWN_FAMILY, False),)
    found = _known_formats(text)
    if not found:
        shorter = _shorten(text)
        found = canonical_formats(shorter) if shorter != text else (FormatName(text, UNKNOWN_FAMILY, False),)
    return tuple({format_.name: format_ for format_ in found}.values())


def _known_formats(text: str) -> tuple[FormatName, ...]:
    """Try the ways to read a text, the surest first."""
    single = _named(text) or _media_type(text)
    if single:
        return (single,)
    found = _parts(text, paths=False)
    if found:
        return found
    by_extension = _by_extension(text)
    if by_extension:
        return (by_extension,)
    return _parts(text, paths=True) or _partly_known(text) or _loud_words(text)


def _lookup(spelling: str) -> FormatName | None:
    """Look a spelling up, also uncompressed and in the singular."""
    for candidate in (spelling, _COMPRESSION.sub("", spelling), re.sub(r"s$", "", spelling)):
        entry = format_table().lookup(candidate)
        if entry:
            return FormatName(entry.name, entry.section, True)
    return None


def _named(text: str) -> FormatName | None:
    """Look a text up, without its parentheses, container words, description words and version in turn."""
    base = rules.take_parentheses(text)[0] or text
    contained = _without(base, _CONTAINER_WORDS)
    described = _without(contained, _DESCRIPTION_WORDS)
    for candidate in (text, base, contained, described, rules.split_version(described).name):
        found = _lookup(candidate)
        if found:
            return found
    is_folder = not contained and any(word in _FOLDER_WORDS for word in map(_bare, base.split()))
    return _lookup(_DIRECTORY) if is_folder else None


def _media_type(text: str) -> FormatName | None:
    """Read the text as a media type (`text/csv`, `application/json`)."""
    match = _MEDIA_TYPE.match(text)
    found = _lookup(match[2]) if match else None
    if not match or not found:
        return None
    families = _MEDIA_FAMILIES.get(match[1].casefold())
    return found if families is None or found.family in families else None


def _bare(word: str) -> str:
    return word.casefold().strip(".,;:*")


def _without(text: str, noise: frozenset[str]) -> str:
    return " ".join(word for word in text.split() if _bare(word) not in noise)


def _by_extension(text: str) -> FormatName | None:
    """Read the text as a file name, path or pattern (`images/*.nii.gz`): its longest known extension counts."""
    file_name = _file_name(text)
    suffixes = file_name.split(".")
    candidates = (".".join(suffixes[start:]) for start in range(len(suffixes)))
    return next((found for found in map(_lookup, candidates) if found), None) if file_name else None


def _file_name(text: str) -> str:
    """Return the last part of a path if it reads `stem.extension`, else an empty string."""
    *folders, name = re.split(r"[/\\]", text)
    stem, _, extension = name.rpartition(".")
    is_path = not any("." in folder.strip(".") for folder in folders)
    return name if is_path and stem and " " not in text and _EXTENSION.match(extension) else ""


def _parts(text: str, *, paths: bool) -> tuple[FormatName, ...]:
    """Read the text as a list whose parts are all known; file names count only with `paths`."""
    for separator in (_WORDS, _SLASH):
        if separator is _SLASH and "*" in text:
            continue  # a pattern in a folder: `images/*.png`
        parts = rules.split_outside(text, separator)
        found = [_named(part) or (_by_extension(part) if paths else None) for part in parts]
        known = tuple(format_ for format_ in found if format_)
        if len(parts) > 1 and len(known) == len(parts):
            return known
    return ()


def _partly_known(text: str) -> tuple[FormatName, ...]:
    """Read the text as a list with some unknown parts: `CSV, FOO` or `csv/foo`, not running text."""
    for separator, plausible in ((_LISTING, re.compile(r"^\S+( \S+){0,2}$")), (_SLASH, _SHORT_WORD)):
        parts = rules.split_outside(text, separator)
        found = [_named(part) or _by_extension(part) for part in parts]
        if len(parts) > 1 and any(found) and all(map(plausible.match, parts)):
            return tuple(
                format_
                for known, part in zip(found, parts, strict=True)
                for format_ in ((known,) if known else canonical_formats(part))
            )
    return ()


def _loud_words(text: str) -> tuple[FormatName, ...]:
    """Pick the extensions and capitals that are known out of a longer description, else out of its remarks."""
    base, remarks = rules.take_parentheses(text)
    for place in (base, " ".join(remarks)):
        words = (word.strip(",;:()") for word in place.split())
        found = (_lookup(word) for word in words if _LOUD_WORD.match(word))
        known = tuple(format_ for format_ in found if format_ and format_.family != _UNSPECIFIED)
        if known:
            return known
    return ()


def _shorten(text: str) -> str:
    """Take the noise off a text that the table doesn't know; one short word is shown in capitals."""
    base = tidy(rules.take_parentheses(text)[0]) or text
    name = _file_name(base).rpartition(".")[2] or _without(base, _CONTAINER_WORDS) or base
    name = tidy(_COMPRESSION.sub("", tidy(rules.split_version(name).name).lstrip(".*"))) or base
    if not fold(name) or len(name) > len(text):
        return text
    shout = name.upper()
    is_extension = len(name) <= _LONGEST_EXTENSION and name.isalnum() and fold(shout) == fold(name)
    return shout if is_extension and len(shout) == len(name) else name
