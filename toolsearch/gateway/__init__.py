"""Gateway: many tool sources behind one MCP server, whose clients search their tools."""

from importlib.util import find_spec

if find_spec("mcp") is None:
    raise ImportError("The gateway needs the package mcp. Install it: pip install 'toolsearch[mcp]'")

from toolsearch.gateway.gateway import Gateway
from toolsearch.gateway.sources import GatewaySources, load_sources

__all__ = ["Gateway", "GatewaySources", "load_sources"]
