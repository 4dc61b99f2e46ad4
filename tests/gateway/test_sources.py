"""Sources beside MCP servers: OpenAPI documents and tools of Python."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest

pytest.importorskip("mcp", reason="needs the extra mcp")

from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client

from tests.gateway.support import gateway_of, served, text_of, two_servers
from tests.sources.openapi.documents import document
from toolsearch import ToolContext, tool
from toolsearch.exceptions import CatalogFileError, McpConfigError
from toolsearch.gateway.sources import GatewaySources, load_sources
from toolsearch.sources.mcp.config import read_mcp_config
from toolsearch.sources.openapi import OpenApiSource
from toolsearch.tools import Tool

PETS = document({"/pets": {"get": {"operationId": "listPets", "summary": "List the animals"}}})


@tool
async def count_sheep(context: ToolContext, n: int) -> str:
    """Count sheep."""
    for number in range(n):
        await context.state["report_progress"](number + 1, n, None)
    return "asleep"


def test_sources_of_every_kind_are_searched_and_called_alike(tmp_path: Path) -> None:
    def answered(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json=[{"name": "Rex", "path": request.url.path}])

    pets = OpenApiSource(PETS, "pets.json", transport=httpx.MockTransport(answered))
    sources = GatewaySources(
        read_mcp_config({"mcpServers": two_servers()}), documents=(pets,), tools=(count_sheep,)
    )
    told: list[float] = []

    async def heard(progress: float, total: float | None, message: str | None) -> None:
        del total, message
        told.append(progress)

    async def used() -> None:
        async with (
            served(gateway_of(tmp_path, sources=sources)) as url,
            Client(streamable_http_client(url), mode="legacy") as client,
        ):
            listed = next(each for each in (await client.list_tools()).tools if each.name == "tool_search")
            assert f"Servers: {', '.join(sorted([pets.name, 'post', 'shop']))}." in str(listed.description)
            (animals,) = (each.name for each in pets.list_tools())
            found = text_of(await client.call_tool("tool_search", {"queries": ["list the animals"]}))
            assert f"- {animals}: List the animals" in found
            rex = await client.call_tool("call_tool", {"name": animals, "arguments": {}})
            assert "Rex" in text_of(rex)
            sheep = {"name": "count_sheep", "arguments": {"n": 2}}
            asleep = await client.call_tool("call_tool", sheep, progress_callback=heard)
            assert (text_of(asleep), told) == ("asleep", [1, 2])
            wrong = await client.call_tool("call_tool", {"name": "count_sheep", "arguments": {"n": "x"}})
            assert wrong.is_error

    asyncio.run(used())


def test_one_file_may_name_servers_and_documents(tmp_path: Path) -> None:
    (tmp_path / "pets.json").write_text(json.dumps(PETS))
    config = tmp_path / "mcp.json"
    config.write_text(
        json.dumps({"mcpServers": two_servers(), "openapi": {"zoo": {"document": "pets.json"}}})
    )
    sources = load_sources([str(config)])
    assert sources.names == ("post", "shop", "zoo")
    assert [each.name for each in sources.fixed_tools] == ["zoo__listPets"]


def test_a_document_that_is_not_there_is_left_out_where_it_is_of_the_network(tmp_path: Path) -> None:
    """A server that is away today must not keep the others from being served."""
    config = tmp_path / "mcp.json"
    config.write_text(
        json.dumps(
            {
                "mcpServers": two_servers(),
                "openapi": {"far": {"document": "http://127.0.0.1:9/pets.json"}},
            }
        )
    )
    sources = load_sources([str(config)])
    assert sources.names == ("post", "shop")
    assert "http://127.0.0.1:9/pets.json" in str(sources.issues[0])
    with pytest.raises(CatalogFileError, match=r"pets\.json"):
        load_sources([str(tmp_path / "pets.json")])


def test_tools_of_python_and_a_server_without_a_prefix_are_refused() -> None:
    """One could take the name of the other at any time."""
    servers = read_mcp_config({"mcpServers": {"a": {"command": "x", "toolsearch": {"prefix": ""}}}})
    with pytest.raises(McpConfigError, match="like those of 'tools of Python'"):
        GatewaySources(servers, tools=(count_sheep,))


def test_two_sources_of_one_name_and_tools_that_nothing_calls_are_refused() -> None:
    shops = read_mcp_config({"mcpServers": two_servers()})
    with pytest.raises(McpConfigError, match="two sources are called 'shop'"):
        GatewaySources(shops, documents=(OpenApiSource(PETS, "pets.json", source="shop"),))
    with pytest.raises(McpConfigError, match="only the definition is known"):
        GatewaySources(tools=(Tool(raw_name="bare"),))
