"""A server written with FastMCP, over stdio and streamable HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from tests.real_servers.installed import of_pypi
from tests.real_servers.running import running
from tests.sources.mcp.support import call, free_port, raw_names, servers, text_of
from toolsearch import CatalogSearcher, McpServers, SearchRequest

ORDERS = Path(__file__).parent / "servers" / "orders.py"


@pytest.fixture(scope="module", params=["stdio", "http"])
def source(request: pytest.FixtureRequest) -> Iterator[McpServers]:
    entry = of_pypi("fastmcp")
    entry["args"] = [str(ORDERS)]
    if request.param == "stdio":
        with servers(orders=entry) as opened:
            yield opened
        return
    port = free_port()
    with (
        running(entry, "http", str(port), port=port),
        servers(orders={"url": f"http://127.0.0.1:{port}/mcp"}) as opened,
    ):
        yield opened


def test_tools_are_listed_searched_and_called(source: McpServers) -> None:
    assert source.issues == ()
    assert raw_names(source) == ["find_order", "pack_orders", "refund_order"]
    assert source.catalog["orders__find_order"].read_only
    request = SearchRequest(queries=("give the customer their money back",), k=1)
    assert [hit.name for hit in CatalogSearcher(source.catalog).search(request).hits] == [
        "orders__refund_order"
    ]
    refunded = call(source, "orders", "refund_order", {"number": 7, "reason": "broken"})
    assert (text_of(refunded), refunded.is_error) == ("refunded 7 broken", False)


def test_structured_results_and_errors_come_through(source: McpServers) -> None:
    found = call(source, "orders", "find_order", {"number": 7})
    assert found.structured == {"number": 7, "customer": "Ann", "is_paid": True}
    failed = call(source, "orders", "refund_order", {"number": 0})
    assert failed.is_error
    assert "There is no order 0." in text_of(failed)
    assert call(source, "orders", "refund_order", {"number": "seven"}).is_error


def test_progress_resources_prompts_and_instructions_pass_through(source: McpServers) -> None:
    told: list[str | None] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(message)

    async def passed() -> tuple[str, str, str | None]:
        server = source.servers["orders"]
        await server.call_tool("pack_orders", {"numbers": [3, 5]}, on_progress=on_progress)
        read = await server.read_resource("orders://terms")
        prompt = await server.get_prompt("apology", {"customer": "Ann"})
        _, _, instructions = await server.connect()
        return read.contents[0].text, prompt.messages[0].content.text, instructions  # type: ignore[union-attr]

    assert asyncio.run(passed()) == (
        "No refunds after 30 days.",
        "Apologise to Ann.",
        "Ask for the number of the order first.",
    )
    assert told == ["packed 3", "packed 5"]
