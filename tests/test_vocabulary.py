"""Canonical software, formats and machines: the tables, the rules, and what must hold for any text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ale_semantic.errors import AleSemanticError
from ale_semantic.types import OperatingSystem
from ale_semantic.vocabulary import (
    FormatName,
    SoftwareName,
    canonical_formats,
    canonical_software,
    fold,
    is_licensed,
    needs_gpu,
    operating_system,
    settle_spellings,
    unmapped_formats,
    unmapped_software,
)
from ale_semantic.vocabulary_tables import AliasTable, format_table, software_table

WORD_PROCESSOR = "Word processor (any DOCX-capable editor)"


def _software(raw: str) -> list[tuple[str, str | None]]:
    return [(found.name, found.version) for found in canonical_software(raw)]


def _formats(raw: str) -> list[str]:
    return [found.name for found in canonical_formats(raw)]


@pytest.mark.parametrize(
    ("raw", "name", "version"),
    [
        ("numpy", "NumPy", None),
        ("`NumPy`", "NumPy", None),
        ("numpy>=1.26", "NumPy", "1.26"),
        ("numpy==1.26.4", "NumPy", "1.26.4"),
        ("Python 3", "Python", "3"),
        ("Python 3.10+", "Python", "3.10"),
        ("Python v3.12", "Python", "3.12"),
        ("python3.11", "Python", "3.11"),
        ("Python (3.10+)", "Python", "3.10"),
        ("Python >= 3.10, < 3.13", "Python", "3.10"),
        ("Python 3.10 or 3.11", "Python", "3.10"),
        ("software/python", "Python", None),
        ("Python (`software/python`)", "Python", None),
        ("Chrome", "Google Chrome", None),
        ("Chrome browser", "Google Chrome", None),
        ("LEAP 1.26 (leaptorch)", "leaptorch", "1.26"),
        ("leaptorch", "leaptorch", None),
        ("PyTorch (CPU)", "PyTorch", None),
        ("Blender 4.5.1 LTS", "Blender", "4.5.1"),
        ("Blender (4.2 LTS)", "Blender", "4.2"),
        ("Rhino 8", "Rhino", "8"),
        ("Sabaki v0.52.2", "Sabaki", "0.52.2"),
        ("MATLAB R2023b", "MATLAB", "R2023b"),
        ("SolidWorks 2023 SP2", "SolidWorks", "2023"),
        ("Excel 2016 or newer", "Microsoft Excel", "2016"),
        ("AmberTools 23 via software/run_ambertools.sh", "AmberTools", "23"),
        ("software/launch_ghidra.bat", "Ghidra", None),
        (WORD_PROCESSOR, WORD_PROCESSOR, None),
        ("word processor", WORD_PROCESSOR, None),
    ],
)
def test_a_known_spelling_becomes_one_name_and_a_version(raw: str, name: str, version: str | None) -> None:
    assert canonical_software(raw) == (SoftwareName(name, version, mapped=True),)


@pytest.mark.parametrize(
    ("raw", "name", "version"),
    [
        ("Zorbtool v2.3", "Zorbtool", "2.3"),
        ("Zorbtool 2024", "Zorbtool", "2024"),
        ("Zorbtool R2023b", "Zorbtool", "R2023b"),
        ("`Zorbtool`", "Zorbtool", None),
        ("Zorbtool 3.1 or later", "Zorbtool", "3.1"),
        ("Zorbtool (latest)", "Zorbtool", None),
        ("Zorbtool (`software/zorb`)", "Zorbtool", None),
        ("Zorbtool 8 (free plan of it)", "Zorbtool (free plan of it)", "8"),
        ("Zorbtool via software/run_zorb.sh", "Zorbtool", None),
        ("zorbtool-1.2.3", "zorbtool", "1.2.3"),
        (r"C:\Program Files\zorb.exe", "zorb", None),
        ("Zorb2", "Zorb2", None),
        ("GPT-4", "GPT-4", None),
        ("3.10", "3.10", None),
        ("Zorb and Company, Inc.", "Zorb and Company, Inc.", None),
    ],
)
def test_general_rules_shape_a_name_in_no_table(raw: str, name: str, version: str | None) -> None:
    assert canonical_software(raw) == (SoftwareName(name, version, mapped=False),)


@pytest.mark.parametrize(
    "name",
    [
        "7-Zip",
        "3D Slicer",
        "Neo4j",
        "Cinema 4D",
        "Microsoft 365",
        "Fusion 360",
        "PLAXIS 3D",
        "BWA-MEM2",
        "PyQt5",
        "ROS 2",
    ],
)
def test_a_number_that_belongs_to_the_name_stays(name: str) -> None:
    assert _software(name) == [(name, None)]
    assert _software(f"{name} 23.1") == [(name, "23.1")]


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("Python / NumPy", [("Python", None), ("NumPy", None)]),
        ("R and Python 3.12", [("R", None), ("Python", "3.12")]),
        ("Excel or LibreOffice Calc", [("Microsoft Excel", None), ("LibreOffice Calc", None)]),
        ("sbt 1.9+ with Chisel 6.5.0", [("sbt", "1.9"), ("Chisel", "6.5.0")]),
        (
            "Amber 22 / SLURM / CUDA 11.6.2 (reference environment only)",
            [("Amber", "22"), ("SLURM", None), ("CUDA", "11.6.2")],
        ),
        ("Python, pandas, Zorbtool 2", [("Python", None), ("pandas", None), ("Zorbtool", "2")]),
        ("Python (NumPy, pandas)", [("Python", None), ("NumPy", None), ("pandas", None)]),
        ("numpy, NumPy 1.26", [("NumPy", "1.26")]),
        ("nf-core/sarek", [("nf-core/sarek", None)]),
        ("TCP/IP", [("TCP/IP", None)]),
        ("Zorb and Blah", [("Zorb and Blah", None)]),
    ],
)
def test_a_list_is_taken_apart_only_where_its_parts_are_known(raw: str, expected: list[tuple[str, str | None]]) -> None:
    assert _software(raw) == expected


@pytest.mark.parametrize(
    "names",
    [
        ("Docker", "Docker Compose", "Docker Desktop"),
        ("Google Chrome", "Chromium"),
        ("LibreOffice", "LibreOffice Calc", "LibreOffice Writer"),
        ("Amber", "AmberTools"),
        ("Git", "GitHub", "GitLab"),
        ("Visual Studio", "Visual Studio Code"),
        ("BWA", "BWA-MEM2"),
        ("R", "R2", "RGI"),
        ("LEAP", "leaptorch"),
    ],
)
def test_different_products_stay_apart(names: tuple[str, ...]) -> None:
    assert len({name for raw in names for name, _ in _software(raw)}) == len(names)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("csv/json/txt", ["CSV", "JSON", "Text"]),
        ("`.csv`", ["CSV"]),
        ("CSV (UTF-8 BOM)", ["CSV"]),
        ("Directory of PDFs", ["PDF"]),
        ("directory of `.csv.gz` files", ["CSV"]),
        ("PDF file(s)", ["PDF"]),
        ("NIfTI gzip", ["NIfTI"]),
        ("markdown", ["Markdown"]),
        ("md", ["Markdown"]),
        ("gzipped FASTQ pair", ["FASTQ"]),
        ("bzip2-compressed tar of XYZ files", ["XYZ"]),
        ("tar.gz", ["TAR"]),
        ("Directory", ["Directory"]),
        ("asset directory", ["Directory"]),
        ("PDF and plaintext extract", ["PDF", "Text"]),
        ("FASTA, BED, and bgzipped VCF inputs", ["FASTA", "BED", "VCF"]),
        ("PyTorch tensors + JSON", ["PyTorch", "JSON"]),
        ("DOCX/XLSX directory", ["DOCX", "XLSX"]),
        ("pyproject/uv.lock", ["TOML", "Lockfile"]),
        ("NumPy .npy (float32, 512x512)", ["NPY"]),
        ("WFDB `.hea` + `.dat` pairs", ["WFDB"]),
        ("images/*.nii.gz", ["NIfTI"]),
        ("data/records.v2.csv", ["CSV"]),
        ("report.pdf/.txt", ["PDF", "Text"]),
        ("README.md, data.csv", ["Markdown", "CSV"]),
        ("text/csv", ["CSV"]),
        ("image/png", ["PNG"]),
        ("Spreadsheet (.xlsx)", ["XLSX"]),
        ("JSON settings for some solver", ["JSON"]),
    ],
)
def test_a_known_format_spelling_becomes_its_formats(raw: str, expected: list[str]) -> None:
    assert _formats(raw) == expected
    assert all(found.mapped for found in canonical_formats(raw))


@pytest.mark.parametrize("raw", ["zorb", "`.zorb`", "*.ZORB", "ZORB files", "directory of zorb files", "a/b.zorb"])
def test_an_unknown_format_is_one_name_in_the_family_other(raw: str) -> None:
    assert canonical_formats(raw) == (FormatName("ZORB", "other", mapped=False),)


def test_an_unknown_part_of_a_list_of_formats_is_kept() -> None:
    assert canonical_formats("csv/zorb") == (
        FormatName("CSV", "table", mapped=True),
        FormatName("ZORB", "other", mapped=False),
    )


@pytest.mark.parametrize("blank", ["", "  ", "``", "-", "\x00", "none", "N/A"])
def test_blank_and_none_name_nothing(blank: str) -> None:
    assert canonical_software(blank) == ()
    assert canonical_formats(blank) == ()


def test_unmapped_lists_what_the_tables_leave() -> None:
    assert unmapped_software(["zorb", "NumPy", "Python, Zorbtool", "zorb", ""]) == ["Python, Zorbtool", "zorb"]
    assert unmapped_formats(["zorb", "csv", "csv/zorb", "Directory of PDFs"]) == ["csv/zorb", "zorb"]


def test_settled_spellings_prefer_the_frequent_then_capitals_then_the_alphabet() -> None:
    settled = settle_spellings(["zorbtool", "ZorbTool", "Zorb-Tool", "zorb-tool", "blah", "blah", "BLAH", "other"])
    assert settled == {
        "zorbtool": "Zorb-Tool",
        "ZorbTool": "Zorb-Tool",
        "Zorb-Tool": "Zorb-Tool",
        "zorb-tool": "Zorb-Tool",
        "blah": "blah",
        "BLAH": "blah",
        "other": "other",
    }


def test_fold_keeps_what_tells_names_apart() -> None:
    assert fold("`Scikit-Learn`") == fold("scikit learn") == fold("\uff53cikit_learn") == "scikitlearn"
    assert fold("C++") != fold("C")
    assert fold("2023-1") != fold("20231")
    assert fold("3.10") != fold("310")


@pytest.mark.parametrize(
    ("snapshot", "os_field", "expected"),
    [
        ("cpu-free-ubuntu", None, OperatingSystem.LINUX),
        ("cpu-free", "", OperatingSystem.WINDOWS),
        ("gpu-license", None, OperatingSystem.WINDOWS),
        ("cpu-free-ubuntu", "windows", OperatingSystem.WINDOWS),
        ("cpu-free", "Ubuntu 22.04", OperatingSystem.LINUX),
        (None, "Mac OS X", OperatingSystem.MACOS),
        ("cpu-free", "BeOS", None),
        ("cpu-free", "linux or windows", None),
        ("something-else", None, None),
        (None, None, None),
    ],
)
def test_operating_system_is_stated_else_derived_else_unknown(
    snapshot: str | None, os_field: str | None, expected: OperatingSystem | None
) -> None:
    assert operating_system(snapshot, os_field) is expected


@pytest.mark.parametrize(
    ("snapshot", "machine_type", "gpu", "licensed"),
    [
        ("gpu-license", "c4-standard-4", True, True),
        ("gpu-free", None, True, False),
        ("cpu-free-ubuntu", "c4-standard-4", False, False),
        ("cpu-license", None, False, True),
        (None, "g2-standard-8", True, None),
        ("", "c4-standard-16", False, None),
        ("something-else", "z9-standard-1", None, None),
        (None, None, None, None),
    ],
)
def test_gpu_and_licence_are_derived_else_unknown(
    snapshot: str | None, machine_type: str | None, gpu: bool | None, licensed: bool | None
) -> None:
    assert needs_gpu(snapshot, machine_type) is gpu
    assert is_licensed(snapshot) is licensed


def test_every_canonical_name_of_the_tables_stands_for_itself() -> None:
    assert [_software(name) for name in software_table().names] == [[(name, None)] for name in software_table().names]
    assert [_formats(name) for name in format_table().names] == [[name] for name in format_table().names]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('[a]\n"X" = ["Y y"]\n"Z" = ["y-Y"]', "'yy' stands under both 'X' and 'Z'"),
        ('[a]\n"X" = [" "]', "a spelling of 'X' is empty"),
        ('"X" = ["Y"]', "under a \\[section\\]"),
        ('[a]\n"X" = "Y"', "'X' must read"),
        ("[a", "not a TOML file"),
    ],
)
def test_a_faulty_table_is_refused_by_name(text: str, complaint: str) -> None:
    with pytest.raises(AleSemanticError, match=f"^mine.toml: .*{complaint}"):
        AliasTable.parse(text, "mine.toml")


# Texts that look like spellings reach the rules far more often than wholly random ones do.
_PIECES = st.sampled_from(
    ["Python", "Zorb", "csv", ".gz", "v2.3", "8", "R2023b", "/", ",", " and ", "(", ")", "`", "software/", " of ", "+",
     "-", " ", "or later", "LTS", "directory", "files", "*", ">=", "via ", ".sh", "PDFs", "4D", "\u00e9", "\u00df",
     "\u0301", "\u00b4", "\ufb01", "\u0130"]
)  # fmt: skip
_SPELLINGS = st.one_of(st.text(max_size=40), st.lists(_PIECES, max_size=9).map("".join))


@given(_SPELLINGS)
def test_canonical_names_stand_for_themselves_whatever_the_text(raw: str) -> None:
    for software in canonical_software(raw):
        assert canonical_software(software.name) == (SoftwareName(software.name, None, software.mapped),)
    for format_ in canonical_formats(raw):
        assert canonical_formats(format_.name) == (format_,)


@given(_SPELLINGS)
def test_fold_is_idempotent_and_blind_to_case_and_backticks(raw: str) -> None:
    assert fold(fold(raw)) == fold(raw)
    assert fold(f"`{raw}`") == fold(raw)


@given(st.sampled_from(software_table().names), st.sampled_from(format_table().names))
def test_case_backticks_and_spacing_never_make_another_value(software: str, format_: str) -> None:
    for change in (str.upper, str.lower, lambda text: f"`{text}`", lambda text: f"  {text} ", lambda text: f'"{text}"'):
        assert _software(change(software)) == [(software, None)]
        assert _formats(change(format_)) == [format_]


def test_nested_quotes_are_taken_off_at_once() -> None:
    assert _software('"' * 20_001) == []
    assert _software('"' * 20_000 + "zorb" + '"' * 20_000) == [("zorb", None)]


def test_a_very_long_text_is_kept_whole() -> None:
    text = "Python, " * 2000 + "Python"
    assert _software(text) == [(text, None)]
    assert len(_formats("csv/" * 2500)) == 1
