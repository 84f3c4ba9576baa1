"""Made-up task cards in any number: the words are this project's own, put together by chance from a seed.

    python benchmarks/generated_cards.py --count 100000 --out cards.jsonl

Each card names a kind of work, what it is done on, where, with which tools and what must come out, so that hardly
two are alike but many are near. Facets are as uneven as in real catalogues: a few domains and tools are in many cards.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

Choice = TypeVar("Choice")
_DOMAINS: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {
    # domain: subdomains, things worked on, kinds of work, tools
    "agronomy": (
        ("Irrigation", "Crop protection", "Soil science", "Beekeeping"),
        ("a drip irrigation plan", "a field trial of barley", "soil cores", "an orchard survey", "a hive log"),
        ("schedule", "compare", "map", "estimate the yield of", "find the gaps in"),
        ("QGIS", "R", "Excel", "GRASS GIS", "Python"),
    ),
    "architecture": (
        ("Interior planning", "Restoration", "Daylighting", "Site planning"),
        ("a floor plan of a library", "a school roof", "an old mill", "a stair hall", "a row of courtyard houses"),
        ("redraw", "dimension", "check against the fire code", "render", "take the quantities of"),
        ("AutoCAD", "Rhino", "Blender", "FreeCAD", "Revit"),
    ),
    "bookkeeping": (
        ("Accounts payable", "Payroll", "Audit", "Budgeting"),
        ("a supplier ledger", "travel claims", "a payroll run", "bank statements", "an asset register"),
        ("reconcile", "audit", "close", "forecast", "correct the postings of"),
        ("Excel", "LibreOffice Calc", "Python", "SQLite", "Power BI"),
    ),
    "biology": (
        ("Genomics", "Microscopy", "Ecology", "Protein design"),
        ("sequencing reads of yeast", "stained cell images", "a bird count", "a kinase family", "a plasmid map"),
        ("align", "segment", "annotate", "cluster", "model the growth of"),
        ("ImageJ", "R", "Python", "PyMOL", "Galaxy"),
    ),
    "electronics": (
        ("Circuit design", "Signal integrity", "Embedded systems", "Power"),
        ("a motor driver board", "a sensor front end", "a buck converter", "a radio module", "firmware of a pump"),
        ("route", "simulate", "debug", "lay out", "measure the noise of"),
        ("KiCad", "LTspice", "Python", "Arduino IDE", "MATLAB"),
    ),
    "film": (
        ("Editing", "Colour", "Sound design", "Animation"),
        ("a harbour documentary", "a puppet short", "interview footage", "a title sequence", "a foley track"),
        ("cut", "grade", "mix", "subtitle", "stabilise"),
        ("DaVinci Resolve", "Blender", "Audacity", "FFmpeg", "Premiere Pro"),
    ),
    "geology": (
        ("Seismology", "Hydrology", "Petrology", "Hazards"),
        ("well logs", "a landslide inventory", "seismic traces", "a river gauge series", "thin sections"),
        ("pick the events in", "contour", "classify", "fit a curve to", "grid"),
        ("QGIS", "ParaView", "Python", "MATLAB", "ObsPy"),
    ),
    "law": (
        ("Tenancy", "Patents", "Privacy", "Contracts"),
        ("a lease", "patent claims", "a privacy notice", "a supply contract", "minutes of a hearing"),
        ("review", "redline", "summarise", "compare the clauses of", "index"),
        ("Word", "Acrobat", "LibreOffice Writer", "Excel", "Zotero"),
    ),
    "logistics": (
        ("Routing", "Warehousing", "Customs", "Fleet"),
        ("delivery routes", "a pallet store", "customs forms", "a bus timetable", "a container manifest"),
        ("optimise", "simulate", "check", "re-plan", "find the delays in"),
        ("Python", "Excel", "QGIS", "AnyLogic", "PostgreSQL"),
    ),
    "medicine": (
        ("Radiology", "Epidemiology", "Cardiology", "Pharmacy"),
        ("chest scans", "a ward's infection log", "heart traces", "a dosing table", "a trial protocol"),
        ("segment", "screen", "estimate the risk in", "check the doses of", "register"),
        ("3D Slicer", "R", "Python", "SPSS", "ImageJ"),
    ),
    "music": (
        ("Engraving", "Production", "Archives", "Acoustics"),
        ("a fiddle tune", "a choir score", "a tape recording", "a hall's impulse response", "a drum loop"),
        ("transcribe", "engrave", "master", "restore", "arrange"),
        ("MuseScore", "Audacity", "Reaper", "Dorico", "Python"),
    ),
    "software": (
        ("Web", "Databases", "Security", "Compilers"),
        ("a booking service", "an old parser", "a login page", "a message queue", "a query plan"),
        ("refactor", "profile", "patch", "test", "find the leak in"),
        ("Python", "Docker", "PostgreSQL", "VS Code", "Wireshark"),
    ),
}
_WHOSE = tuple(
    "a harbour town|a hill farm|a small museum|a night school|a repair shop|a cooperative|a theatre|a clinic|a tram "
    "depot|a seed bank|a bakery chain|a choir|a weather station|a bicycle maker|a print works|a ferry line|a hostel|"
    "a quarry|a toy maker|a regional court|a dairy|a glass works|a kayak club|a signal box|a research vessel".split("|")
)
_MANNER = tuple(
    "under a tight budget|for the coming season|after a change of supplier|before the inspection|with half the data "
    "missing|from scanned papers|in three languages|by the old house rules|for a second opinion|without network|"
    "to the millimetre|for an appeal|at double the load|with last year's figures|for a public tender".split("|")
)
_RESULTS = tuple(
    "a table of differences|a two-page memo|a signed drawing|a map at 1:5000|a chart with error bars|a cleaned data "
    "set|a list of faults|a short film|a printed score|a costed plan|a pull request|a register with sources|a slide "
    "deck|a calibration curve|a checklist".split("|")
)
_CHECKS = tuple(
    "Note every value that was changed|Keep the original names|Give the units in each column|Explain each gap|Leave "
    "the source files untouched|Round to three places|Name who must approve it|Mark what is uncertain|Use the house "
    "template|Save a copy without macros|Compare with the year before|Sort by date".split("|")
)
_FORMATS = ("csv", "xlsx", "pdf", "png", "json", "wav", "tif", "docx", "dxf", "txt")
_TIERS = (("near-term",), ("full-spectrum",), ("last-exam",), ("near-term", "full-spectrum"), ())
_MACHINES = (
    ("cpu-free-ubuntu", "e2-standard-4"),
    ("cpu-license", "e2-standard-4"),
    ("gpu-free-ubuntu", "g2-standard-8"),
)


def generated_cards(count: int, *, seed: int = 0) -> Iterator[dict[str, Any]]:
    """Yield cards in the public table's columns."""
    chance = random.Random(seed)
    for number in range(count):
        yield _card(number, chance)


def write_cards(path: Path, count: int, *, seed: int = 0) -> None:
    """Write cards as JSONL."""
    with path.open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(card, ensure_ascii=False) + "\n" for card in generated_cards(count, seed=seed))


def _card(number: int, chance: random.Random) -> dict[str, Any]:
    domain = _uneven(tuple(_DOMAINS), chance)
    subdomains, things, works, tools = _DOMAINS[domain]
    work, thing, whose = chance.choice(works), chance.choice(things), chance.choice(_WHOSE)
    manner, result, check = chance.choice(_MANNER), chance.choice(_RESULTS), chance.choice(_CHECKS)
    used = list(dict.fromkeys(_uneven(tools, chance) for _ in range(chance.choice((1, 1, 2, 3)))))
    form = chance.choice(_FORMATS)
    snapshot, machine = _uneven(_MACHINES, chance)
    lot = chance.randrange(100, 10_000)
    return {
        "task_id": f"{domain}/task_{number:07d}",
        "title": f"{work} {thing} for {whose}".capitalize(),
        "summary": f"{work} {thing} of {whose} {manner}.".capitalize(),
        "task_prompt": f"Lot {lot} holds {thing}. Deliver {result} made with {used[0]}. {check}.",
        "agent_must_do": [f"Open lot {lot} in {used[0]}", f"Deliver {result}"],
        "software": used,
        "input_files": [{"name": f"lot {lot}", "format": form, "path": f"input/{lot}.{form}", "description": ""}],
        "tiers": list(_uneven(_TIERS, chance)),
        "taxonomy": {"domain_code": domain, "subdomain_name": _uneven(subdomains, chance)},
        "vm": {"snapshot": snapshot, "machineType": machine, "timeout": chance.choice((1800, 3600, 7200, 14400))},
    }


def _uneven(choices: Sequence[Choice], chance: random.Random) -> Choice:
    """Return a choice; the n-th is n times rarer than the first."""
    return chance.choices(choices, weights=[1 / (place + 1) for place in range(len(choices))])[0]


def main() -> None:
    """Write cards into a file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    write_cards(given.out, given.count, seed=given.seed)


if __name__ == "__main__":
    main()
