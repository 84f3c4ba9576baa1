"""From a raw mapping to a TaskCard and back: validation, drifting field names, lint findings."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from ale_semantic.errors import CardError
from ale_semantic.fields import FieldReader, RawCard
from ale_semantic.types import Finding, InputFile, SoftwareUse, TaskCard, Tier
from ale_semantic.vocabulary import canonical_formats, canonical_software, is_licensed, needs_gpu, operating_system

# The card's own names for these fields; another spelling is a lint finding.
_USUAL_NAMES = {"title": {"title"}, "task_id": {"taskId", "task_id"}, "inputs": {"inputFiles", "input_files"}}


def card_from_raw(raw: RawCard) -> TaskCard:
    """Validate one raw card.

    Raises:
        CardError: naming the file and the field that can't be read.
    """
    reader = FieldReader(raw)
    task_id = _task_id(reader, raw)
    folder = task_id.rsplit("/", 1)[-1]
    taxonomy = reader.mapping("taxonomy")
    vm = reader.mapping("vm")
    snapshot = _optional_text(reader, vm, "snapshot")
    given_os = reader.text("os") or _optional_text(reader, vm, "os") or _optional_text(reader, vm, "osType")
    card = TaskCard(
        task_id=task_id,
        title=reader.text("title") or folder.replace("_", " ").replace("-", " ").strip() or folder,
        summary=reader.required_text("summary"),
        prompt=reader.required_text("prompt"),
        domain=task_id.split("/", 1)[0] if "/" in task_id else reader.required_text("category"),
        subdomain=reader.text("subdomain") or _optional_text(reader, taxonomy, "subdomain_name", "taxonomy"),
        taxonomy_domain=_optional_text(reader, taxonomy, "domain_code", "taxonomy"),
        must_do=reader.texts("must_do"),
        software=_software(reader),
        inputs=_inputs(reader),
        tiers=_tiers(reader),
        os=operating_system(snapshot, given_os),
        gpu=_first(reader.boolean("gpu"), needs_gpu(snapshot, _optional_text(reader, vm, "machineType"))),
        licensed=_first(reader.boolean("licensed"), is_licensed(snapshot)),
        timeout=_timeout(reader, vm),
        variants=_variants(reader),
        published=reader.boolean("published"),
        source_path=reader.text("source_path") or f"tasks/{task_id}",
    )
    card = _with_findings(card, reader, snapshot, given_os)
    _require_whole_characters(card, raw.where)
    return card


def card_to_row(card: TaskCard) -> dict[str, Any]:
    """Return the card in the public data set's columns, plus what that table leaves out.

    `card_from_raw` reads it back to an equal card: nothing is lost.
    """
    taxonomy = {"domain_code": card.taxonomy_domain} if card.taxonomy_domain else {}
    return {
        "task_id": card.task_id,
        "title": card.title,
        "summary": card.summary,
        "category": card.domain,
        "subdomain": card.subdomain,
        "task_prompt": card.prompt,
        "agent_must_do": list(card.must_do),
        "software": list(dict.fromkeys(use.raw for use in card.software)),
        "input_files": [
            {"name": file.name, "format": file.raw_format, "path": file.path, "description": file.description}
            for file in card.inputs
        ],
        "taxonomy": taxonomy,
        "source_repo_path": card.source_path,
        "tiers": [str(tier) for tier in card.tiers],
        "os": str(card.os) if card.os else None,
        "gpu": card.gpu,
        "licensed": card.licensed,
        "timeout": card.timeout,
        "variants": list(card.variants),
        "published": card.published,
        "findings": [{"code": finding.code, "message": finding.message} for finding in card.findings],
    }


def _task_id(reader: FieldReader, raw: RawCard) -> str:
    """Return the id: the card's place in a checkout is authoritative, else its own field."""
    task_id = raw.task_id or reader.required_text("task_id")
    steps = task_id.split("/")
    if any(character.isspace() for character in task_id) or any(step in ("", ".", "..") for step in steps):
        field = "(folder)" if raw.task_id else reader.used_name("task_id") or "task_id"
        raise CardError(raw.where, field, f"is not an id like domain/task, without blanks: {task_id!r}")
    return task_id


def _require_whole_characters(card: TaskCard, where: str) -> None:
    """Refuse half characters (lone surrogates), which JSON can spell but no file, index or page can hold."""
    row = card_to_row(card)
    if _is_whole(row):  # all columns at once take half as long as each alone
        return
    column = next(name for name, value in row.items() if not _is_whole(value))
    raise CardError(where, column, "holds half a character (a lone surrogate)")


def _is_whole(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _optional_text(reader: FieldReader, mapping: Mapping[str, Any], key: str, field: str = "vm") -> str | None:
    value = mapping.get(key)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise CardError(reader.where, f"{field}.{key}", f"must be text, found {type(value).__name__}")
    return value.strip() or None


def _first(given: bool | None, derived: bool | None) -> bool | None:
    return derived if given is None else given


def _timeout(reader: FieldReader, vm: Mapping[str, Any]) -> int | None:
    given = reader.integer("timeout")
    value = vm.get("timeout")
    if given is not None or value is None:
        return given
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise CardError(reader.where, "vm.timeout", f"must be a whole number of seconds, found {value!r}")
    return value


def _variants(reader: FieldReader) -> tuple[str, ...]:
    """Return the variants' names; a bare number of variants names none."""
    if reader.used_name("variants") is None:
        return ()
    try:
        reader.integer("variants")
    except CardError:
        return reader.texts("variants")
    return ()


def _tiers(reader: FieldReader) -> tuple[Tier, ...]:
    names = [part.strip() for item in reader.texts("tiers") for part in item.split(",") if part.strip()]
    valid = {str(tier): tier for tier in Tier}
    for name in names:
        if name not in valid:
            raise reader.error("tiers", f"names an unknown tier {name!r}; valid are {', '.join(valid)}")
    return tuple(tier for tier in Tier if tier in names)


def _software(reader: FieldReader) -> tuple[SoftwareUse, ...]:
    return tuple(
        SoftwareUse(name=known.name, version=known.version, raw=raw)
        for raw in dict.fromkeys(reader.texts("software"))
        for known in canonical_software(raw)
    )


def _inputs(reader: FieldReader) -> tuple[InputFile, ...]:
    files = []
    for number, item in enumerate(reader.items("inputs")):
        if isinstance(item, str):  # an older card shape lists bare paths
            item = {"name": PurePosixPath(item).name, "path": item}
        if not isinstance(item, Mapping):
            raise reader.error("inputs", f"must hold objects or paths, found {type(item).__name__}")
        name, path, description, raw_format = (
            _optional_text(reader, item, key, f"{reader.used_name('inputs')}[{number}]") or ""
            for key in ("name", "path", "description", "format")
        )
        if not name and not path:
            raise reader.error("inputs", f"must give each file a name or a path; number {number} has none")
        formats = canonical_formats(raw_format or PurePosixPath(path).suffix)
        files.append(
            InputFile(
                name=name or PurePosixPath(path).name,
                path=path,
                description=description,
                raw_format=raw_format,
                formats=tuple(dict.fromkeys(known.name for known in formats)),
            )
        )
    return tuple(files)


def _with_findings(card: TaskCard, reader: FieldReader, snapshot: str | None, given_os: str | None) -> TaskCard:
    kept = reader.items("findings")
    if kept:
        findings = [_kept_finding(item, reader) for item in kept]
    elif reader.used_name("findings"):
        findings = []
    else:
        findings = [*_gaps(card, reader), *_oddities(card, reader, snapshot, given_os)]
    return replace(card, findings=tuple(findings))


def _kept_finding(item: Any, reader: FieldReader) -> Finding:
    if not isinstance(item, Mapping) or not {"code", "message"} <= item.keys():
        raise reader.error("findings", "must hold objects with 'code' and 'message'")
    return Finding(code=str(item["code"]), message=str(item["message"]))


def _gaps(card: TaskCard, reader: FieldReader) -> list[Finding]:
    """Return a finding for each thing that a card should have and lacks."""
    present = {
        "missing-id": (reader.used_name("task_id"), "the card has no id of its own; its folder gives it"),
        "missing-title": (reader.used_name("title"), "the card has no title; its folder's name stands in"),
        "missing-tier": (card.tiers, "the task stands in no difficulty tier"),
        "missing-must-do": (card.must_do, "the card doesn't say what the agent must do"),
        "missing-software": (card.software, "the card names no software"),
        "missing-inputs": (card.inputs, "the card lists no input files"),
        "missing-subdomain": (card.subdomain, "the card has no subdomain"),
        "missing-timeout": (reader.used_name("vm") is None or card.timeout is not None, "the machine has no timeout"),
    }
    return [Finding(code, message) for code, (value, message) in present.items() if not value]


def _oddities(card: TaskCard, reader: FieldReader, snapshot: str | None, given_os: str | None) -> list[Finding]:
    """Return a finding for each thing in a card that contradicts another or itself."""
    found = []
    if len(card.tiers) > 1:
        found.append(Finding("several-tiers", f"the task stands in {', '.join(card.tiers)}"))
    if card.published is False:
        found.append(Finding("unpublished", "the task isn't in the list of published tasks"))
    if card.taxonomy_domain and card.taxonomy_domain != card.domain:
        found.append(Finding("domain-mismatch", f"folder says {card.domain}, taxonomy says {card.taxonomy_domain}"))
    if reader.used_name("title") and card.title == card.task_id.rsplit("/", 1)[-1]:
        found.append(Finding("title-is-id", "the title is the folder's name"))
    own_id = reader.text("task_id")
    if own_id and own_id != card.task_id:
        found.append(Finding("id-mismatch", f"the card calls itself {own_id}"))
    for field, usual in _USUAL_NAMES.items():
        name = reader.used_name(field)
        if name and name not in usual:
            found.append(Finding("drifted-field", f"{field} stands under '{name}'"))
    derived = operating_system(snapshot, None)
    if given_os and derived and card.os is not derived:
        found.append(Finding("os-conflict", f"the card says {given_os}, its snapshot {snapshot} is {derived}"))
    spellings = Counter(use.name for raw in reader.texts("software") for use in canonical_software(raw))
    found += [
        Finding("duplicate-software", f"{name} is listed {times} times")
        for name, times in spellings.items()
        if times > 1
    ]
    return found
