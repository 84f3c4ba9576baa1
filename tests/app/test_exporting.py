"""Downloads and the endpoints for scripts."""

from __future__ import annotations

import base64
import io
import json

import pytest

from ale_semantic.app.context import Site
from ale_semantic.app.endpoints import MAX_HITS, _without_paths, functions
from ale_semantic.app.exporting import Download, download
from ale_semantic.app.guard import is_closed
from ale_semantic.errors import AleSemanticError, UnknownNameError

ADDRESS = "q=lease&os=windows&sel=legal/patent_claims&sel=legal/lease_review&note=legal/lease_review:check+it"


def content(file: Download) -> bytes:
    assert file.problem == ""
    return base64.b64decode(file.base64)


def test_the_task_list_has_the_ids_in_the_users_order_and_tells_where_it_comes_from(site: Site) -> None:
    file = download(site, ADDRESS, "txt", "selection")
    lines = content(file).decode().splitlines()
    assert file.name == "ale-selection.txt"
    assert [line for line in lines if not line.startswith("#")] == ["legal/patent_claims", "legal/lease_review"]
    told = "\n".join(line for line in lines if line.startswith("#"))
    for part in ("lease", "os = windows", site.engine.provenance.model, site.engine.provenance.fingerprint):
        assert part in told


def test_every_form_carries_notes_and_origin(site: Site) -> None:
    csv = content(download(site, ADDRESS, "csv", "selection")).decode("utf-8-sig")
    rows = [json.loads(line) for line in content(download(site, ADDRESS, "jsonl", "selection")).splitlines()]
    markdown = content(download(site, ADDRESS, "md", "selection")).decode()
    assert "check it" in csv
    assert "os = windows" in csv
    assert [row["note"] for row in rows] == ["", "check it"]
    assert rows[0]["export"]["fingerprint"] == site.engine.provenance.fingerprint
    assert "check it" in markdown


def test_parquet_is_a_table(site: Site) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(content(download(site, ADDRESS, "parquet", "selection"))))
    assert table.column("task_id").to_pylist() == ["legal/patent_claims", "legal/lease_review"]


def test_results_are_all_hits_whatever_page_is_shown(site: Site) -> None:
    file = download(site, "domain=other&page=2", "txt", "results")
    ids = [line for line in content(file).decode().splitlines() if not line.startswith("#")]
    assert len(ids) == 24


def test_results_of_the_similar_tab_are_its_own(site: Site) -> None:
    file = download(site, "tab=similar&like=legal/lease_review", "jsonl", "results")
    ids = [json.loads(line)["task_id"] for line in content(file).splitlines()]
    assert "legal/lease_review" not in ids
    assert len(ids) == len(site.engine.catalogue) - 1


@pytest.mark.parametrize(
    ("address", "form", "scope", "told"),
    [
        ("", "csv", "selection", "selection is empty"),
        ("sel=gone/task", "csv", "selection", "gone/task"),
        (ADDRESS, "docx", "selection", "csv, jsonl"),
        ("where=os+=", "csv", "results", "expected"),
        ("domain=legal&tier=last-exam", "csv", "results", "no task to export"),
    ],
)
def test_what_cannot_be_exported_is_told(site: Site, address: str, form: str, scope: str, told: str) -> None:
    assert told in download(site, address, form, scope).problem


def test_endpoints_answer_with_plain_json(site: Site) -> None:
    call = functions(site)
    found = call["search"]("lease", where="domain = legal", k=2)
    assert [hit["task_id"].split("/")[0] for hit in found["hits"]] == ["legal", "legal"]
    assert call["similar"](["legal/lease_review"], k=1)["hits"][0]["task_id"] != "legal/lease_review"
    assert call["task"]("legal/lease_review")["title"] == "Review a lease"
    assert call["facets"]("domain = legal")["domain"]["values"]
    assert base64.b64decode(call["export"](["legal/lease_review"], "txt")["base64"]).endswith(b"legal/lease_review\n")
    json.dumps([found, call["facets"]()])


def test_no_answer_holds_what_gradio_client_takes_for_a_file(site: Site) -> None:
    answer = _without_paths(functions(site)["task"]("legal/lease_review"))
    assert '"path"' not in json.dumps(answer)
    assert answer["input_files"][0]["file_path"] == "input/lease.docx"


def test_endpoints_are_documented(site: Site) -> None:
    for function in functions(site).values():
        assert function.__doc__


def test_endpoints_refuse_with_a_sentence(site: Site) -> None:
    call = functions(site)
    with pytest.raises(UnknownNameError, match="legal/lease_review"):
        call["task"]("legal/lease_reviw")
    with pytest.raises(AleSemanticError, match="offset"):
        call["search"]("", k=MAX_HITS + 1)
    with pytest.raises(AleSemanticError, match="empty"):
        call["export"]([])


@pytest.mark.parametrize(
    ("path", "closed"),
    [
        ("/gradio_api/file=/etc/passwd", True),
        ("/gradio_api/file/etc/passwd", True),
        ("/gradio_api/upload", True),
        ("/gradio_api//upload", True),
        ("/space/gradio_api/proxy=http://x", True),
        ("/gradio_api/component_server/", False),
        ("/gradio_api/queue/join", False),
        ("/gradio_api/info", False),
        ("/", False),
    ],
)
def test_routes_that_the_page_does_not_need_are_closed(path: str, closed: bool) -> None:
    assert is_closed(path) is closed
