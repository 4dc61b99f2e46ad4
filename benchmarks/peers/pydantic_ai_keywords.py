"""Pydantic AI's local keyword search, through the toolset that its capability makes."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Sequence
from typing import Any

from pydantic_ai import RunContext, RunUsage
from pydantic_ai.capabilities import ToolSearch
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import ExternalToolset

from benchmarks.peers.protocol import Embed, PeerTool, Search


def build(tools: Sequence[PeerTool], k: int, embed: Embed) -> Search:
    """`search_tools` over these tools, all deferred."""
    del embed
    deferred = [
        ToolDefinition(
            name=tool.name,
            description=tool.description or None,
            parameters_json_schema=tool.input_schema,
            defer_loading=True,
        )
        for tool in tools
    ]
    toolset: Any = ToolSearch(max_results=k).get_wrapper_toolset(ExternalToolset(deferred))
    context: RunContext[None] = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    loop = asyncio.new_event_loop()
    search_tools = loop.run_until_complete(toolset.get_tools(context))["search_tools"]

    def search(query: str) -> list[str]:
        asked = toolset.call_tool("search_tools", {"queries": [query]}, context, search_tools)
        try:
            return [found["name"] for found in loop.run_until_complete(asked)["discovered_tools"]]
        except ModelRetry:  # a query without a word of ASCII letters or digits
            return []

    weakref.finalize(search, loop.close)
    return search
