"""The MCP tools on the real cards: what they cost an assistant, and the process that assistants start."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import CallToolResult

from ale_semantic import Engine
from ale_semantic.service.mcp_server import explain_in_full, mcp_server

pytestmark = pytest.mark.anyio

_Answer = TypeVar("_Answer")
TWIN = "business_finance/ar_full_1500"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


async def call(engine: Engine, tool: str, **arguments: Any) -> CallToolResult:
    async def ask(
        _stage: str, question: Callable[[Engine], _Answer], /, *, text: str = "", bulk: bool = False
    ) -> _Answer:
        return question(engine)

    async with Client(mcp_server(ask, explain=explain_in_full)) as client:
        return await client.call_tool(tool, arguments)


def tokens(engine: Engine, found: CallToolResult) -> int:
    """Return what an answer costs a client that reads both its parts: the model's own tokens, or four characters."""
    texts = [block.text for block in found.content if block.type == "text"]
    texts.append(json.dumps(found.structured_content, ensure_ascii=False))
    counted = sum(len(spans) for spans in engine.vectors.encoder.token_spans(texts))
    return max(counted, sum(map(len, texts)) // 4)


@pytest.mark.parametrize(
    "query", ["", "reconcile supplier invoices", "年报 核心技术人员", "medical imaging", "write code"]
)
async def test_a_search_of_twenty_is_compact(real_engine: Engine, query: str) -> None:
    found = await call(real_engine, "search", query=query, k=20)
    assert found.structured_content is not None
    assert len(found.structured_content["hits"]) == 20
    assert tokens(real_engine, found) < 6_000


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("facets", {}),
        ("similar", {"tasks": [TWIN], "k": 20}),
        ("curriculum_path", {"goal": "medical imaging"}),
        ("curriculum_subset", {"k": 20}),
        ("curriculum_ladders", {}),
        ("curriculum_prerequisites", {"task_id": TWIN}),
        ("curriculum_coverage", {"topics": ["tumour imaging", "contract law"]}),
    ],
)
async def test_other_answers_are_compact(real_engine: Engine, tool: str, arguments: dict[str, Any]) -> None:
    found = await call(real_engine, tool, **arguments)
    assert not found.is_error
    assert tokens(real_engine, found) < 8_000


async def test_every_card_fits_on_one_page(real_engine: Engine) -> None:
    longest = max(real_engine.catalogue, key=lambda card: len(card.prompt))
    found = await call(real_engine, "show", task_id=longest.task_id)
    assert found.structured_content is not None
    assert longest.prompt in found.structured_content["text"]
    assert "next_offset" not in found.structured_content


async def test_the_next_rung_and_the_like_of_a_task(real_engine: Engine) -> None:
    ladder = await call(real_engine, "curriculum_ladders", task_id="business_finance/ar_full_300")
    similar = await call(real_engine, "similar", tasks=["business_finance/ar_full_300"], k=1)
    assert ladder.structured_content is not None
    assert similar.structured_content is not None
    assert ladder.structured_content["next_rung"] == TWIN
    assert [hit["task_id"] for hit in similar.structured_content["hits"]] == [TWIN]


async def test_filters_hold_before_ranking(real_engine: Engine) -> None:
    found = await call(real_engine, "search", query="kubernetes", where="domain = legal", k=10)
    assert found.structured_content is not None
    assert found.structured_content["total"] == len(found.structured_content["hits"]) == 2


async def test_nonsense_gets_the_verdict_that_nothing_fits(real_engine: Engine) -> None:
    found = await call(real_engine, "search", query="khgcvyuui")
    assert found.structured_content is not None
    assert found.structured_content["verdict"] == "none"


async def test_the_command_serves_an_assistant(real_index: Path) -> None:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-c", "from ale_semantic.cli import main; main()", "mcp", "--index", str(real_index)],
    )
    async with Client(command) as client:
        found = await client.call_tool("search", {"query": "coolant clamping packing pressure", "k": 1})
    assert found.structured_content is not None
    assert found.structured_content["hits"][0]["task_id"] == "engineering/mold-flow"
