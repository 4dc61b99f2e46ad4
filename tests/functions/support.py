"""Runs tools without a loop."""

import asyncio
from typing import Any

from toolsearch import Tool, ToolContext, ToolResult
from toolsearch.messages import TextPart


def call(
    tool: Tool, arguments: dict[str, Any] | None = None, context: ToolContext | None = None
) -> ToolResult:
    assert tool.call is not None
    result = asyncio.run(_awaited(tool.call(arguments or {}, context or ToolContext())))
    assert isinstance(result, ToolResult)
    return result


def text(tool: Tool, arguments: dict[str, Any] | None = None, context: ToolContext | None = None) -> str:
    """The text of the result of one call."""
    return "".join(part.text for part in call(tool, arguments, context).content if isinstance(part, TextPart))


async def _awaited(value: Any) -> Any:
    return await value
