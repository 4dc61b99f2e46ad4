"""FastMCP's BM25 search transform, asked by a client of a server in the same process."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.server.transforms.search import BM25SearchTransform
from fastmcp.tools import Tool

from benchmarks.peers.protocol import Embed, PeerTool, Search


def build(tools: Sequence[PeerTool], k: int, embed: Embed) -> Search:
    """`search_tools` of a server with these tools."""
    del embed
    server = FastMCP("peer")
    for tool in tools:
        server.add_tool(
            Tool(name=tool.name, description=tool.description or None, parameters=tool.input_schema)
        )
    server.add_transform(BM25SearchTransform(max_results=k))
    loop = asyncio.new_event_loop()
    client: Any = Client(server)
    # Opened once and left open: the worker ends with its process.
    loop.run_until_complete(client.__aenter__())

    def search(query: str) -> list[str]:
        answer = loop.run_until_complete(client.call_tool("search_tools", {"query": query}))
        return [found["name"] for found in answer.structured_content["result"]]

    return search
