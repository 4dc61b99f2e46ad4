"""Definitions as the service writes them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from toolsearch.formats import write_tools
from toolsearch.formats.base import JsonValue
from toolsearch.tools import Tool

_MCP = "mcp"


def served_tools(tools: Iterable[Tool], form: str) -> JsonValue:
    """The tools in that form, in their order.

    In the form of MCP they have their public names: a list of MCP is that of one server, which the service
    is, and what it is asked about tools goes by these names. Raw names of several servers would repeat.
    """
    if form == _MCP:
        return write_tools([replace(tool, raw_name=tool.name) for tool in tools], form)
    return write_tools(tuple(tools), form)
