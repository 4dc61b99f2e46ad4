"""What clients are told of the structured results of a tool."""

from __future__ import annotations

import typing
from typing import Any

from pydantic import TypeAdapter
from pydantic.errors import PydanticUserError

from toolsearch.functions.function_tool import FunctionTool
from toolsearch.functions.typed_dicts import readable_by_pydantic
from toolsearch.messages import ImagePart, TextPart, ToolResult
from toolsearch.tools import JsonObject, Tool


def object_schema(tool: Tool) -> JsonObject | None:
    """The output schema that the tool states, or else that of what its function is annotated to return.

    None where results are no objects, as not every version of MCP allows others, or where that is not known:
    a result converter, no annotation, one that pydantic cannot read or that stands for parts of a message.
    Nor is anything promised for a service: what its document says of answers, `Tool.output_schema`, is for
    models to read, and clients would refuse each answer that is a little otherwise.
    """
    if "openapi" in tool.meta:
        return None
    schema = tool.output_schema
    if schema is None and isinstance(tool, FunctionTool):
        schema = _returned(tool)
    return schema if schema is not None and schema.get("type") == "object" else None


def _returned(tool: FunctionTool[..., Any]) -> JsonObject | None:
    if getattr(tool.call, "result_converter", None) is not None:
        return None
    try:
        annotation = typing.get_type_hints(tool.function, include_extras=True).get("return")
        if annotation in _NOT_STRUCTURED:
            return None
        return TypeAdapter(readable_by_pydantic(annotation)).json_schema(mode="serialization")
    except (NameError, TypeError, PydanticUserError):
        return None


_NOT_STRUCTURED = (None, ToolResult, TextPart, ImagePart)
