"""OpenAI Responses: ``{"type": "function", "name", "description", "parameters"}``, in namespaces or not.

A namespace is read as the source of its tools. ``defer_loading: false`` pins a tool. Written flat, under
public names, without what the form has no place for: source, id, raw name, output schema, title, tags,
hints, and `pinned` where the tool was not read in this form.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolsearch.formats.base import (
    Format,
    JsonValue,
    RecordReader,
    ToolReading,
    WrittenKeys,
    export_schema,
    form_meta,
    with_kept,
    written_keys,
)
from toolsearch.tools import JsonObject, Tool

NAME = "openai_responses"


def _matches(record: JsonObject) -> bool:
    return record.get("type") == "function" and "name" in record


def _read(record: JsonObject, source: str) -> ToolReading:
    reader = RecordReader(record)
    origin = reader.origin(source)
    reader.take("type")
    tool = Tool(
        raw_name=reader.tool_name,
        source=origin.source,
        id=origin.variant,
        description=reader.text("description"),
        input_schema=reader.input_schema("parameters"),
        pinned=record.get("defer_loading") is False,
        meta=origin.meta(NAME, reader.rest()),
    )
    return reader.done(tool)


def _write(tools: Sequence[Tool]) -> JsonValue:
    return [_record(tool) for tool in tools]


def _record(tool: Tool) -> JsonObject:
    record = {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": export_schema(tool),
    }
    return with_kept(record, defer_loading_for(tool, form_meta(tool, NAME, _WRITTEN)))


def defer_loading_for(tool: Tool, kept: JsonObject) -> JsonObject:
    """`kept` without a ``defer_loading`` that contradicts `Tool.pinned`.

    None is added: not every endpoint that speaks this form knows the key.
    """
    if kept.get("defer_loading") is tool.pinned:
        del kept["defer_loading"]
    return kept


_WRITTEN: WrittenKeys = {**written_keys(), ("type",): "function"}

OPENAI_RESPONSES = Format(NAME, _matches, _read, _write, _WRITTEN)
