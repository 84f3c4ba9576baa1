"""Commands about catalogues and indexes: build, lint, vocabulary, info."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from ale_semantic.cli.options import (
    CardsOption,
    IndexOption,
    JsonOption,
    RevisionOption,
    SkipOption,
    SmokeOption,
    index_folder,
    load_catalogue,
    show,
    show_build,
    show_json,
    spool_folder,
)

# Seconds after which who waits for the interpreter gets it, a tenth of the usual. A build has threads that are within
# libraries most of the time and need it for moments, while the main one has Python alone to run.
_SWITCHED = 0.0005


def build(
    cards: CardsOption = None,
    index: IndexOption = None,
    model: Annotated[
        str | None, typer.Option("--model", envvar="ALE_MODEL", help="Registry name, Hub name or local folder.")
    ] = None,
    device: Annotated[
        str | None,
        typer.Option(
            help="Where passages are embedded: cuda or mps, by the original model in half precision; by default the "
            "CPU, by the exported encoder, which answers queries in any case."
        ),
    ] = None,
    revision: RevisionOption = None,
    skip_invalid: SkipOption = False,
    smoke_tests: SmokeOption = False,
    wait: Annotated[float, typer.Option(help="Seconds to wait for another build of this index.")] = 0.0,
    multilingual: Annotated[
        bool | None,
        typer.Option(
            "--multilingual/--no-multilingual",
            help="Also embed for queries in other languages; by default if the extra is installed.",
        ),
    ] = None,
    multilingual_model: Annotated[
        str | None, typer.Option(help="Model for queries in other languages, e.g. e5-small; else the extra's.")
    ] = None,
    cache: Annotated[
        bool,
        typer.Option(
            "--cache/--no-cache",
            help="Take from the cache what it holds (vectors, exported encoders, digests of model files); keep the "
            "rest there. Without it nothing is kept outside the index folder; unchanged cards and the encoder still "
            "come from the index that is there: to make all anew, name another --index.",
        ),
    ] = True,
    redraw: Annotated[
        bool, typer.Option("--redraw", help="Build even if nothing has changed, and draw the map anew.")
    ] = False,
    ledger: Annotated[bool, typer.Option("--ledger", help="List tokens seen and dropped per card and field.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Build the index of a catalogue; only what changed is embedded again.

    Cards that are as they were are taken from the index that is there. Whatever is embedded is also kept in the cache
    (ALE_CACHE, at most ALE_CACHE_MB), for all indexes: a build that was stopped goes on where it was. Exported encoders
    are kept there too, beyond that limit. If nothing has changed, the index stands as it is.

    Examples:

        ale-semantic build --cards path/to/agents-last-exam

        ale-semantic build --cards task_cards.parquet --index my-index --model e5-small
    """
    from contextlib import ExitStack
    from dataclasses import asdict
    from threading import Event

    from ale_semantic.beside import BESIDE
    from ale_semantic.embeddings.bundle import checked_generation

    folder, given_up = index_folder(index), Event()
    with ExitStack() as stack:
        stack.callback(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(_SWITCHED)
        # To hash the index that is there takes about as long as to import the rest and to read the cards.
        checked = BESIDE.start(checked_generation, folder, readers=1, given_up=given_up)
        stack.callback(given_up.set)  # also where the cards can't be read: the process would wait for the thread
        from ale_semantic.embeddings.build import build_index
        from ale_semantic.embeddings.earlier import EarlierIndex
        from ale_semantic.settings import Settings

        spool = stack.enter_context(spool_folder(folder))
        catalogue = load_catalogue(cards, revision, skip_invalid=skip_invalid, smoke_tests=smoke_tests, spool=spool)
        report = build_index(
            catalogue,
            folder,
            model=model or Settings.from_environment().model,
            device=device,
            progress=sys.stderr.isatty(),
            wait=wait,
            multilingual=multilingual_model or multilingual,
            cache=cache,
            redraw=redraw,
            opened=lambda: EarlierIndex.of(checked),
        )
    if as_json:
        shown = asdict(report) | {"folder": str(report.folder), "skipped": [str(fault) for fault in catalogue.skipped]}
        del shown["ledger_file"]
        show_json(shown | {"ledger": [asdict(entry) for entry in report.ledger]} if ledger else shown)
        return
    show_build(report)
    if ledger:
        for entry in report.ledger:
            print(f"{entry.task_id}\t{entry.field}\t{entry.seen}\t{entry.dropped}")


def lint(
    cards: CardsOption = None,
    revision: RevisionOption = None,
    skip_invalid: SkipOption = False,
    smoke_tests: SmokeOption = False,
    as_json: JsonOption = False,
) -> None:
    """List what is odd in the cards of a catalogue: missing, contradicting or drifting fields.

    Example:

        ale-semantic lint --cards path/to/agents-last-exam
    """
    from ale_semantic.render import findings_view

    catalogue = load_catalogue(cards, revision, skip_invalid=skip_invalid, smoke_tests=smoke_tests)
    rows = [(card.task_id, finding.code, finding.message) for card in catalogue for finding in card.findings]
    if as_json:
        show_json([{"task_id": task_id, "code": code, "message": message} for task_id, code, message in rows])
    else:
        show(findings_view(rows))


def vocabulary(
    cards: CardsOption = None,
    revision: RevisionOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the spellings of software and formats that the alias tables leave to general rules.

    Example:

        ale-semantic vocabulary --cards path/to/agents-last-exam
    """
    from ale_semantic.vocabulary import canonical_formats, canonical_software, unmapped_formats, unmapped_software

    catalogue = load_catalogue(cards, revision, skip_invalid=True, smoke_tests=False)
    software = unmapped_software(use.raw for card in catalogue for use in card.software)
    formats = unmapped_formats(file.raw_format for card in catalogue for file in card.inputs if file.raw_format)
    found = {
        "software": {raw: [name.name for name in canonical_software(raw)] for raw in software},
        "formats": {raw: [name.name for name in canonical_formats(raw)] for raw in formats},
    }
    if as_json:
        show_json(found)
        return
    for kind, spellings in found.items():
        print(f"{kind}: {len(spellings)} spellings in no alias table")
        for raw, names in spellings.items():
            print(f"  {raw!r} -> {', '.join(names) or '(none)'}")


def info(index: IndexOption = None, as_json: JsonOption = False) -> None:
    """Say what an index holds, and whether all its files are whole.

    Example:

        ale-semantic info
    """
    from ale_semantic.embeddings.bundle import open_generation

    folder = index_folder(index)
    _, manifest = open_generation(folder, thorough=True)
    shown = {"index": str(folder), **{key: value for key, value in manifest.items() if key != "files"}}
    shown["bytes"] = sum(entry["bytes"] for entry in manifest["files"].values())
    if as_json:
        show_json(shown)
        return
    catalogue = manifest["catalogue"]
    print(f"index      {folder} ({shown['bytes'] / 1e6:.0f} MB, all files whole)")
    print(f"catalogue  {catalogue['name']} {catalogue['revision'] or ''}, {catalogue['cards']} tasks")
    print(f"           fingerprint {catalogue['fingerprint']}")
    for space in manifest["spaces"]:
        for line in _space_lines(space):
            print(line)
    print(f"built      {manifest['created']} with {', '.join(f'{k} {v}' for k, v in manifest['libraries'].items())}")


def _space_lines(space: dict[str, Any]) -> Iterator[str]:
    """Yield what one space was embedded with, what its queries are, and why that isn't the exported encoder."""
    from ale_semantic.embeddings.multilingual import ROLE
    from ale_semantic.embeddings.nano_e5 import NANO_E5

    model = space["encoder"]
    title = "languages" if ROLE in space else "model"
    yield (
        f"{title:<11}{model['name']}@{model['revision']}, {model['dimension']} dimensions, {space['passages']} passages"
    )
    if space["exported"]:
        yield "queries    exported encoder (ONNX Runtime)"
    elif model["name"] == NANO_E5:
        yield "queries    the engine of its package"
    else:
        place = space.get("source")
        yield f"queries    sentence-transformers{f', the model in {place}' if place else ''}"
    for reason in space.get("serving", ()):
        yield f"           {reason}"
