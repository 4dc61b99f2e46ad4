"""The text of a tool that is embedded and that lexical search reads."""

from __future__ import annotations

from toolsearch.tool import Tool

DOCUMENT_VERSION = 1


def render_document(tool: Tool) -> str:
    """Placeholder, replaced by the measured composition."""
    return f"{tool.source} {tool.raw_name}: {tool.description}"
