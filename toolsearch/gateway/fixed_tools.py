"""The three tools of a gateway, whose definitions stay the same whatever becomes of the tools behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import mcp_types as types

from toolsearch.catalog import Catalog
from toolsearch.delivery.base import CALL_TOOL, SEARCH_TOOL
from toolsearch.delivery.bridge import CALL_DESCRIPTION, CALL_SCHEMA
from toolsearch.discovery.search_tool import search_tool
from toolsearch.discovery.view import CatalogView, listed

Mode: TypeAlias = Literal["bridge", "dynamic", "all"]
"""``bridge``: three fixed tools; ``dynamic``: what is found is added; ``all``: every tool, and no search."""

DESCRIBE_TOOL = "describe_tool"

_DESCRIBE = (
    "Shows tools in full: what they do, whose they are, their input and output schemas. For tools whose "
    "names you know from tool_search."
)


def fixed_tools(mode: Mode, sources: Sequence[str], *, limit: int) -> tuple[types.Tool, ...]:
    """The tools of the gateway itself; the same for the same names of sources, known or not."""
    if mode == "all":
        return ()
    search = _search(sources, limit)
    return (search,) if mode == "dynamic" else (search, _describe_tool(), _call_tool())


def instructions(mode: Mode, sources: Sequence[str]) -> str:
    """What the gateway says of itself to clients."""
    behind = f" There are tools of {listed(sources)}." if sources else ""
    if mode == "all":
        return f"Tools of several servers.{behind}"
    how = (
        "run what it finds with call_tool"
        if mode == "bridge"
        else "what it finds is added to your tools, and called like any other"
    )
    return (
        "Most tools are not shown to you. Before you say that something cannot be done, look for a tool that "
        f"does it with tool_search; {how}.{behind}"
    )


def _search(sources: Sequence[str], limit: int) -> types.Tool:
    tool = search_tool(CatalogView(Catalog()), limit=limit)
    there = f" Servers: {listed(sources)}." if sources else ""
    return types.Tool(
        name=SEARCH_TOOL,
        description=tool.description + there,
        input_schema=tool.input_schema,
        annotations=types.ToolAnnotations(read_only_hint=True),
    )


def _describe_tool() -> types.Tool:
    names = {
        "type": "array",
        "items": {"type": "string"},
        "minItems": 1,
        "description": "Names of tools, as tool_search lists them.",
    }
    schema = {
        "type": "object",
        "properties": {"names": names},
        "required": ["names"],
        "additionalProperties": False,
    }
    return types.Tool(
        name=DESCRIBE_TOOL,
        description=_DESCRIBE,
        input_schema=schema,
        annotations=types.ToolAnnotations(read_only_hint=True),
    )


def _call_tool() -> types.Tool:
    return types.Tool(
        name=CALL_TOOL,
        description=CALL_DESCRIPTION,
        input_schema=CALL_SCHEMA,
        annotations=types.ToolAnnotations(destructive_hint=True, open_world_hint=True),
    )
