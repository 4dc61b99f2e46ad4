"""Other name of `toolsearch.tools`, until everything imports that: the package has a function `tool`."""

from toolsearch.tools import JsonObject, Tool, ToolContext, ToolDefinition, ToolInvocation, empty_schema

__all__ = ["JsonObject", "Tool", "ToolContext", "ToolDefinition", "ToolInvocation", "empty_schema"]
