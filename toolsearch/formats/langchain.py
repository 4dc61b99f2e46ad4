"""LangChain: a dumped tool, ``{"name", "description", "args_schema"}`` or with ``args``, its properties.

What ``convert_to_openai_tool`` gives is in the form ``openai_chat``. Hints that the MCP adapter leaves in
``metadata`` are read. Written with ``args_schema`` under public names, without what the form has no place
for: source, id, raw name, output schema and title.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolsearch.formats.base import (
    SCHEMA_KEYS,
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

NAME = "langchain"


def _matches(record: JsonObject) -> bool:
    if "args_schema" in record:
        return True
    return "name" in record and SCHEMA_KEYS.isdisjoint(record) and isinstance(record.get("args"), dict)


def _read(record: JsonObject, source: str) -> ToolReading:
    args = record.get("args")
    if record.get("args_schema") is None and isinstance(args, dict):
        record = {**record, "args_schema": {"type": "object", "properties": args}}
    reader = RecordReader(record)
    reader.take("args")
    origin = reader.origin(source)
    metadata = record.get("metadata")
    hints = Hints.read(metadata, metadata.get("_meta") if isinstance(metadata, dict) else None)
    tool = Tool(
        raw_name=reader.tool_name,
        source=origin.source,
        id=origin.variant,
        description=reader.text("description"),
        input_schema=reader.input_schema("args_schema"),
        tags=reader.labels("tags"),
        search_hint=hints.search_hint,
        pinned=hints.pinned,
        read_only=hints.read_only,
        destructive=hints.destructive,
        return_direct=reader.flag("return_direct") or False,
        meta=origin.meta(NAME, reader.rest()),
    )
    return reader.done(tool)


def _write(tools: Sequence[Tool]) -> JsonValue:
    return [_record(tool) for tool in tools]


def _record(tool: Tool) -> JsonObject:
    kept = form_meta(tool, NAME, _WRITTEN)
    record: JsonObject = {
        "name": tool.name,
        "description": tool.description,
        "args_schema": export_schema(tool),
    }
    if tool.tags:
        record["tags"] = list(tool.tags)
    if tool.return_direct:
        record["return_direct"] = True
    metadata = annotations_for(tool, kept.pop("metadata", None))
    meta = meta_for(tool, metadata.pop("_meta", None))
    if meta:
        metadata["_meta"] = meta
    if metadata:
        record["metadata"] = metadata
    return with_kept(record, kept)


_WRITTEN = written_keys("args", "tags", "return_direct")

LANGCHAIN = Format(NAME, _matches, _read, _write, _WRITTEN)
