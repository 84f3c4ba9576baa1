"""The MCP tools, through the SDK's own client in memory: what an assistant is told, gets, and is refused."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp import Client
from mcp.server.mcpserver import MCPServer
from mcp.types import CallToolResult
from service_toys import open_toys
from toy import HashEncoder, toy_card, toy_catalogue

from ale_semantic import Engine, build_index
from ale_semantic.curriculum import (
    LadderRequest,
    PathRequest,
    Quota,
    SubsetRequest,
    coverage,
    ladders,
    path,
    prerequisites,
    subset,
)
from ale_semantic.errors import BundleError
from ale_semantic.facet_fields import FIELDS
from ale_semantic.service.mcp_server import explain_in_full, mcp_server
from ale_semantic.service.mcp_strict import slim
from ale_semantic.service.mcp_tools import Asker

pytestmark = pytest.mark.anyio

_Answer = TypeVar("_Answer")
TOOLS = {
    "search",
    "similar",
    "show",
    "facets",
    "curriculum_path",
    "curriculum_subset",
    "curriculum_ladders",
    "curriculum_prerequisites",
    "curriculum_coverage",
}
ORBIT = "science/orbit_fit"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
def engine(toy_index: Path) -> Engine:
    return open_toys(toy_index).engine


def asker(engine: Engine) -> Asker:
    async def ask(
        _stage: str, question: Callable[[Engine], _Answer], /, *, text: str = "", bulk: bool = False
    ) -> _Answer:
        return question(engine)

    return ask


_servers: dict[int, MCPServer[None]] = {}  # making the tools' schemas takes longer than a call


@asynccontextmanager
async def client_of(engine: Engine) -> AsyncIterator[Client]:
    if id(engine) not in _servers:
        _servers[id(engine)] = mcp_server(asker(engine), explain=explain_in_full)
    async with Client(_servers[id(engine)]) as client:
        yield client


async def call(engine: Engine, tool: str, **arguments: Any) -> CallToolResult:
    async with client_of(engine) as client:
        return await client.call_tool(tool, arguments)


async def answered(engine: Engine, tool: str, **arguments: Any) -> tuple[dict[str, Any], str]:
    """Return the structured answer, which the client holds to the tool's schema, and the text."""
    found = await call(engine, tool, **arguments)
    assert not found.is_error, text_of(found)
    assert found.structured_content is not None
    return found.structured_content, text_of(found)


def text_of(found: CallToolResult) -> str:
    (block,) = found.content
    assert block.type == "text"
    return block.text


async def test_tools_say_what_they_take_and_change_nothing(engine: Engine) -> None:
    async with client_of(engine) as client:
        tools = (await client.list_tools()).tools
    assert {tool.name for tool in tools} == TOOLS
    for tool in tools:
        assert tool.description
        assert tool.title
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint
        assert not tool.annotations.open_world_hint
        assert tool.input_schema["additionalProperties"] is False
        assert tool.output_schema is not None
        assert tool.output_schema["type"] == "object"
        assert "$ref" not in json.dumps([tool.input_schema, tool.output_schema])
        for name, schema in tool.input_schema["properties"].items():
            assert schema.get("description"), f"{tool.name}: {name}"


async def test_the_list_of_tools_is_short_enough_to_be_sent_with_each_conversation(engine: Engine) -> None:
    async with client_of(engine) as client:
        tools = [tool.model_dump(mode="json", exclude_none=True) for tool in (await client.list_tools()).tools]
        told = json.dumps(tools) + str(client.instructions)
    assert len(told) / 4 < 7_000  # tokens, at four characters each


async def test_instructions_name_every_field_of_the_filter(engine: Engine) -> None:
    async with client_of(engine) as client:
        told = client.instructions or ""
    assert [field.name for field in FIELDS if f"- {field.name}:" not in told] == []
    assert "near-term, full-spectrum, last-exam" in told


async def test_search_gives_the_engine_s_hits_as_rows(engine: Engine) -> None:
    page, text = await answered(engine, "search", query="orbit of a comet", k=3)
    expected = engine.search("orbit of a comet", k=3)
    assert [hit["task_id"] for hit in page["hits"]] == [hit.task_id for hit in expected.hits]
    assert (page["total"], page["verdict"]) == (expected.total, str(expected.verdict))
    assert page["hits"][0]["score"] == pytest.approx(expected.hits[0].score, abs=1e-3)
    assert "task_prompt" not in json.dumps(page)  # rows, not cards
    assert text.count(ORBIT) == 1
    assert engine.catalogue.get(ORBIT).title in text


async def test_pages_of_a_search_join_to_the_whole(engine: Engine) -> None:
    found: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page, text = await answered(engine, "search", query="read a report", k=4, offset=offset)
        found += [hit["task_id"] for hit in page["hits"]]
        offset = page.get("next_offset")
        assert (f"offset={offset}" in text) == (offset is not None)
    assert found == [hit.task_id for hit in engine.search("read a report", k=50).hits]


async def test_a_filter_that_leaves_nothing_is_told_from_no_match(engine: Engine) -> None:
    page, text = await answered(engine, "search", query="orbit", where="tier = last-exam and domain = legal")
    assert (page["verdict"], page["total"], page["hits"]) == ("filtered-out", 0, [])
    assert "No task passes the filter" in text


async def test_a_blank_query_browses_without_scores(engine: Engine) -> None:
    page, _ = await answered(engine, "search", k=50)
    assert [hit["task_id"] for hit in page["hits"]] == sorted(card.task_id for card in engine.catalogue)
    assert all("score" not in hit and "band" not in hit for hit in page["hits"])


async def test_what_a_query_was_read_as_is_told_and_can_be_switched_off(engine: Engine) -> None:
    page, text = await answered(engine, "search", query="review a lease on Windows")
    plain, _ = await answered(engine, "search", query="review a lease on Windows", understand=False)
    assert page["recognised"]
    assert "on Windows" in text
    assert plain["recognised"] == []
    assert plain["total"] > page["total"]


async def test_similar_leaves_the_given_tasks_out(engine: Engine) -> None:
    page, _ = await answered(engine, "similar", tasks=[ORBIT], text="soil maps", k=3)
    assert [hit["task_id"] for hit in page["hits"]] == [
        hit.task_id for hit in engine.similar(ORBIT, text="soil maps", k=3).hits
    ]
    assert ORBIT not in [hit["task_id"] for hit in page["hits"]]


async def test_similar_takes_a_variant(engine: Engine) -> None:
    page, _ = await answered(engine, "similar", tasks=[ORBIT], variant="other-domain", k=9)
    assert page["hits"]
    assert "science" not in {hit["domain"] for hit in page["hits"]}


async def test_show_gives_the_whole_card(engine: Engine) -> None:
    page, text = await answered(engine, "show", task_id="business_finance/年报")
    card = engine.catalogue.get("business_finance/年报")
    assert page["text"] == text
    for part in (card.prompt, card.summary, card.title, *card.must_do, card.inputs[0].path, *card.software_names):
        assert part in text


@pytest.fixture(scope="module")
def long_card(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """Return an engine whose one card is longer than a page."""
    card = toy_card("legal/long", task_prompt="A long sentence. " * 60, agent_must_do=[f"step {n}" for n in range(60)])
    files = tuple(replace(card.inputs[0], name=f"file {number}") for number in range(30))
    folder = tmp_path_factory.mktemp("long") / "index"
    build_index(toy_catalogue([replace(card, inputs=files)]), folder, encoder=HashEncoder())
    return Engine.open(folder, encoder=HashEncoder())


@pytest.mark.parametrize("part", ["whole", "overview", "prompt", "must_do", "inputs"])
async def test_pages_of_a_card_join_to_the_whole(long_card: Engine, part: str) -> None:
    whole, _ = await answered(long_card, "show", task_id="legal/long", part=part, limit=50_000)
    pieces: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page, text = await answered(long_card, "show", task_id="legal/long", part=part, offset=offset, limit=500)
        pieces.append(page["text"])
        assert len(page["text"]) <= 500
        offset = page.get("next_offset")
        assert (f"offset={offset}" in text) == (offset is not None)
    assert "".join(pieces) == whole["text"]
    assert len(whole["text"]) == whole["total_characters"]


async def test_facets_count_as_the_engine_does(engine: Engine) -> None:
    counts, text = await answered(engine, "facets", fields=["domain", "tier"], where="domain = legal")
    expected = {facet.field: facet for facet in engine.facets(where="domain = legal")}
    for facet in counts["facets"]:
        named = expected[facet["field"]]
        assert facet["values"] == {value.value: value.count for value in named.values}
        assert facet["missing"] == named.missing
    assert [facet["selected"] for facet in counts["facets"]] == [["legal"], []]
    assert "science 3" in text  # its own selection doesn't narrow a facet


async def test_facets_say_how_many_values_they_leave_out(engine: Engine) -> None:
    (software,) = (await answered(engine, "facets", fields=["software"], limit=2))[0]["facets"]
    (all_of_it,) = (await answered(engine, "facets", fields=["software"], limit=200))[0]["facets"]
    assert len(software["values"]) == 2
    assert software["left_out"] == len(all_of_it["values"]) - 2
    assert min(software["values"].values()) >= max(count for count in list(all_of_it["values"].values())[2:])


async def test_facets_are_those_by_which_one_chooses_unless_named(engine: Engine) -> None:
    counts, _ = await answered(engine, "facets")
    named = [facet["field"] for facet in counts["facets"]]
    assert named[:4] == ["domain", "tier", "os", "software"]
    assert set(named) < {facet.field for facet in engine.facets()}


async def test_a_path_is_the_library_s(engine: Engine) -> None:
    found, text = await answered(engine, "curriculum_path", goal=ORBIT, length=3, min_closeness=-1.0)
    expected = path(engine, PathRequest(goal=ORBIT, length=3, min_step=-1.0))
    assert [step["task_id"] for step in found["steps"]] == list(expected.task_ids)
    assert [step["reason"] for step in found["steps"]] == [step.reason for step in expected.steps]
    assert all(task_id in text for task_id in expected.task_ids)


async def test_a_subset_is_the_library_s(engine: Engine) -> None:
    found, _ = await answered(engine, "curriculum_subset", k=3, quotas=["tier=last-exam:1.."], must=[ORBIT])
    request = SubsetRequest(k=3, quotas=(Quota.parse("tier=last-exam:1.."),), must=(ORBIT,))
    assert [pick["task_id"] for pick in found["picks"]] == list(subset(engine, request).task_ids)


async def test_ladders_are_the_library_s(engine: Engine) -> None:
    found, _ = await answered(engine, "curriculum_ladders", min_closeness=-1.0, limit=2)
    expected = ladders(engine, LadderRequest(min_closeness=-1.0)).ladders
    assert found["total"] == len(expected) > 0
    shown = [tuple(rung["task_id"] for rung in ladder["rungs"]) for ladder in found["ladders"]]
    assert shown == [ladder.task_ids for ladder in expected[:2]]


async def test_prerequisites_are_the_library_s(engine: Engine) -> None:
    found, _ = await answered(engine, "curriculum_prerequisites", task_id=ORBIT)
    expected = prerequisites(engine, ORBIT)
    assert [row["task_id"] for row in found["before"]] == [each.task.task_id for each in expected.before]
    assert list(found["skills"]) == [each.skill for each in expected.skills]


async def test_coverage_tells_weak_topics(engine: Engine) -> None:
    topics = ["fit the orbit of a comet", "khgcvyuui"]
    found, text = await answered(engine, "curriculum_coverage", topics=topics, where="domain = science")
    expected = coverage(engine, topics=topics)
    assert found["weak_topics"] == list(expected.weak_topics)
    assert {topic["topic"]: bool(topic["tasks"]) for topic in found["topics"]} == {
        topics[0]: True,
        topics[1]: False,
    }
    assert list(found["counts"]) == ["science"]
    assert "3 tasks." in text


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("search", {"where": "domian = legal"}, "unknown field 'domian'; did you mean 'domain'"),
        ("search", {"where": "domain = legall"}, "'legal'"),
        ("search", {"where": "domain = "}, "\n         ^"),
        ("search", {"domian": "legal"}, "unknown argument 'domian'; known are query, where, k"),
        ("search", {"k": "many"}, "argument 'k' must be a whole number such as 10, not the text 'many'"),
        ("search", {"k": "5"}, "argument 'k' must be a whole number such as 10, not the text '5'; write it without"),
        ("search", {"k": True}, "argument 'k' must be a whole number such as 10, not true"),
        ("search", {"offset": 5.0}, "argument 'offset' must be a whole number such as 10, not the number 5.0; write"),
        ("search", {"understand": "yes"}, "argument 'understand' must be true or false, not the text 'yes'"),
        ("curriculum_path", {"length": "5"}, "argument 'length' must be a whole number"),
        ("curriculum_path", {"min_closeness": "0.5"}, "argument 'min_closeness' must be a number such as 0.5"),
        ("similar", {"tasks": "science/orbit_fit"}, "argument 'tasks' must be a list, not the text"),
        ("search", {"k": 51}, "argument 'k': Input should be less than or equal to 50"),
        ("search", {"min_band": "good"}, "'strong', 'weak' or 'none'"),
        ("search", {"query": "x" * 20_001}, "argument 'query': String should have at most 20000 characters"),
        ("similar", {}, "at least one task id or a text"),
        ("similar", {"tasks": ["science/orbit"]}, "'science/orbit_fit'"),
        ("similar", {"tasks": [ORBIT], "unlike": [ORBIT]}, "both as like and as unlike"),
        ("show", {"task_id": "science/orbit"}, "'science/orbit_fit'"),
        ("show", {"task_id": ORBIT, "offset": 99_999}, "past the end"),
        ("show", {}, "argument 'task_id': Field required"),
        ("facets", {"fields": ["domian"]}, "unknown facet 'domian'"),
        ("curriculum_subset", {"k": 99}, "9 can be had"),
        ("curriculum_subset", {"quotas": ["nonsense"]}, "write field=value:3"),
        ("curriculum_path", {"start": ORBIT, "goal": ORBIT}, "the same task"),
        ("curriculum_path", {"skill": "weaving"}, "unknown skill 'weaving'"),
        ("curriculum_path", {"goal": ORBIT, "min_closeness": 0.99}, "In the way: min_step"),
        ("curriculum_prerequisites", {"task_id": "nope"}, "unknown task 'nope'"),
        ("no_such_tool", {}, "Unknown tool: no_such_tool"),
    ],
)
async def test_refusals_name_the_thing_and_the_cure(
    engine: Engine, tool: str, arguments: dict[str, Any], told: str
) -> None:
    found = await call(engine, tool, **arguments)
    assert found.is_error
    assert told in text_of(found)
    assert "Traceback" not in text_of(found)
    assert "pydantic" not in text_of(found)


async def test_a_crash_tells_nothing_of_its_cause(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    async def ask(
        _stage: str, _question: Callable[[Engine], _Answer], /, *, text: str = "", bulk: bool = False
    ) -> _Answer:
        raise RuntimeError("/home/someone/secret")

    async with Client(mcp_server(ask, explain=explain_in_full)) as client:
        found = await client.call_tool("search", {"query": "leases"})
    assert found.is_error
    assert "secret" not in text_of(found)
    assert "leases" not in caplog.text


async def test_an_engine_that_can_t_be_opened_is_told(engine: Engine) -> None:
    async def ask(
        _stage: str, _question: Callable[[Engine], _Answer], /, *, text: str = "", bulk: bool = False
    ) -> _Answer:
        raise BundleError("the index is damaged: rebuild it")

    async with Client(mcp_server(ask, explain=explain_in_full)) as client:
        found = await client.call_tool("search", {"query": "leases"})
    assert "the index is damaged: rebuild it" in text_of(found)


async def test_what_was_asked_is_not_logged(engine: Engine, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        await call(engine, "search", query="secret project", where="domian = secret")
    assert "secret" not in caplog.text


@pytest.mark.parametrize("query", ["C++", '"unclosed', "*", "(", "OR", "a'b", "\x00", "😀", "EPSG:2154", "x" * 10_000])
async def test_odd_queries_are_answered(engine: Engine, query: str) -> None:
    page, _ = await answered(engine, "search", query=query)
    assert page["total"] == len(engine.catalogue)


async def test_card_text_is_repeated_as_it_stands(tmp_path: Path) -> None:
    title = "<img src=x onerror=alert(1)> [x](javascript:alert(1))"
    build_index(toy_catalogue([toy_card("legal/odd", title=title)]), tmp_path / "index", encoder=HashEncoder())
    engine = Engine.open(tmp_path / "index", encoder=HashEncoder())
    page, text = await answered(engine, "search", query="odd")
    assert page["hits"][0]["title"] == title
    assert title in text


async def test_lists_written_as_json_text_are_taken(engine: Engine) -> None:
    page, _ = await answered(engine, "similar", tasks=json.dumps([ORBIT]))
    assert ORBIT not in [hit["task_id"] for hit in page["hits"]]


def test_slim_schemas_keep_a_property_called_title() -> None:
    schema = {
        "title": "Row",
        "properties": {
            "title": {"title": "Title", "type": "string"},
            "tier": {"anyOf": [{"$ref": "#/$defs/Tier"}, {"type": "null"}], "default": None, "description": "d"},
        },
        "$defs": {"Tier": {"title": "Tier", "enum": ["a"], "type": "string", "description": "The enumeration."}},
    }
    assert slim(schema) == {
        "properties": {
            "title": {"type": "string"},
            "tier": {"enum": ["a"], "type": "string", "description": "d"},
        }
    }
