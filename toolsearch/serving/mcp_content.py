"""Tools and their results as MCP has them; `sources.mcp.results` reads results the other way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import mcp_types as types

from toolsearch.formats import write_tools
from toolsearch.messages import ContentPart, ImagePart
from toolsearch.tools import JsonObject, Tool


def to_mcp_tool(tool: Tool, output_schema: JsonObject | None) -> types.Tool:
    """The definition under its public name, with its annotations and this output schema."""
    record = write_tools([tool], "mcp")["tools"][0]
    return types.Tool.model_validate({**record, "name": tool.name, "outputSchema": output_schema})


def to_mcp_result(
    content: Sequence[ContentPart], *, is_error: bool = False, structured: Any = None
) -> types.CallToolResult:
    """The content of a result in its order, and `structured` where it is an object.

    Not every version of MCP allows another value; the text of a result has its JSON in any case.
    """
    return types.CallToolResult(
        content=[_block(part) for part in content],
        structured_content=structured if isinstance(structured, dict) else None,
        is_error=is_error,
    )


def _block(part: ContentPart) -> types.ContentBlock:
    if not isinstance(part, ImagePart):
        return types.TextContent(text=part.text)
    if part.url:
        return types.ResourceLink(name="image", uri=part.url, mime_type=part.media_type)
    return types.ImageContent(data=part.data, mime_type=part.media_type)
