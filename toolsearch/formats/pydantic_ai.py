"""Pydantic AI: a dumped ``ToolDefinition``, ``{"name", "description", "parameters_json_schema", ...}``.

Hints that its MCP toolset leaves in ``metadata`` are read. Written under public names, without what the
form has no place for: source, id, raw name, output schema, title, tags and `return_direct`.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolsearch.formats.base import (
    Format,
    JsonValue,
    RecordReader,
    ToolReading,
    export_schema,
    form_meta,
    with_kept,
    written_keys,
)
from toolsearch.formats.hints import Hints, annotations_for, meta_for
from toolsearch.tools import JsonObject, Tool

NAME = "pydantic_ai"


def _matches(record: JsonObject) -> bool:
    return "parameters_json_schema" in record


def _read(record: JsonObject, source: str) -> ToolReading:
    reader = RecordReader(record)
    origin = reader.origin(source)
    metadata = record.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    hints = Hints.read(metadata.get("annotations"), metadata.get("meta"))
    tool = Tool(
        raw_name=reader.tool_name,
        source=origin.source,
        id=origin.variant,
        description=reader.text("description"),
        input_schema=reader.input_schema("parameters_json_schema"),
        search_hint=hints.search_hint,
        pinned=hints.pinned,
        read_only=hints.read_only,
        destructive=hints.destructive,
        meta=origin.meta(NAME, reader.rest()),
    )
    return reader.done(tool)


def _write(tools: Sequence[Tool]) -> JsonValue:
    return [_record(tool) for tool in tools]


def _record(tool: Tool) -> JsonObject:
    kept = form_meta(tool, NAME, _WRITTEN)
    metadata = kept.pop("metadata", None)
    metadata = dict(metadata) if isinstance(metadata, dict) else {}
    annotations = annotations_for(tool, metadata.pop("annotations", None))
    meta = meta_for(tool, metadata.pop("meta", None))
    if annotations:
        metadata["annotations"] = annotations
    if meta:
        metadata["meta"] = meta
    record = {
        "name": tool.name,
        "description": tool.description,
        "parameters_json_schema": export_schema(tool),
    }
    return with_kept(record, {**kept, "metadata": metadata} if metadata else kept)


_WRITTEN = written_keys()

PYDANTIC_AI = Format(NAME, _matches, _read, _write, _WRITTEN)
