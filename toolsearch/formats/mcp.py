"""Model Context Protocol: a ``tools/list`` result, ``{"tools": [{"name", "inputSchema", ...}]}``.

``annotations`` and ``_meta`` are read for hints and kept whole. Written under raw names, as the server
that lists the tools would, without id, tags, `return_direct` and the source, which is the server itself.

Source: https://modelcontextprotocol.io/specification/2025-11-25/server/tools
"""

from __future__ import annotations

from collections.abc import Sequence

from toolsearch.exceptions import DuplicateToolError
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

NAME = "mcp"


def _matches(record: JsonObject) -> bool:
    if "inputSchema" in record:
        return True
    return "name" in record and SCHEMA_KEYS.isdisjoint(record) and not _TELLING.isdisjoint(record)


_TELLING = frozenset({"_meta", "annotations", "outputSchema"})


def _read(record: JsonObject, source: str) -> ToolReading:
    reader = RecordReader(record)
    origin = reader.origin(source)
    hints = Hints.read(record.get("annotations"), record.get("_meta"))
    tool = Tool(
        raw_name=reader.tool_name,
        source=origin.source,
        id=origin.variant,
        description=reader.text("description"),
        input_schema=reader.input_schema("inputSchema"),
        output_schema=reader.output_schema("outputSchema"),
        title=reader.text("title") or hints.title,
        search_hint=hints.search_hint,
        pinned=hints.pinned,
        read_only=hints.read_only,
        destructive=hints.destructive,
        meta=origin.meta(NAME, reader.rest()),
    )
    return reader.done(tool)


_SEVERAL_SERVERS = (
    "several servers share this name, and an MCP list belongs to one server. Write each server's tools by "
    "themselves: toolsearch catalog convert --server NAME."
)
_ONE_SERVER = "an MCP list has each name once. Leave all but one of the tools of this name out."


def _write(tools: Sequence[Tool]) -> JsonValue:
    """One server's list.

    Raises:
        DuplicateToolError: tools share a raw name, of several sources or of one.
    """
    sources: dict[str, list[str]] = {}
    for tool in tools:
        sources.setdefault(tool.raw_name, []).append(tool.source)
    repeated = tuple(name for name, named in sources.items() if len(named) > 1)
    if repeated:
        several = any(len(set(sources[name])) > 1 for name in repeated)
        raise DuplicateToolError(repeated, _SEVERAL_SERVERS if several else _ONE_SERVER)
    return {"tools": [_record(tool) for tool in tools]}


def _record(tool: Tool) -> JsonObject:
    kept = form_meta(tool, NAME, _WRITTEN)
    record = {"name": tool.raw_name, "description": tool.description, "inputSchema": export_schema(tool)}
    annotations = annotations_for(tool, kept.pop("annotations", None))
    meta = meta_for(tool, kept.pop("_meta", None))
    if tool.title:
        record["title"] = tool.title
    if tool.output_schema is not None:
        record["outputSchema"] = tool.output_schema
    if not tool.title:
        annotations.pop("title", None)
    if annotations:
        record["annotations"] = annotations
    if meta:
        record["_meta"] = meta
    return with_kept(record, kept)


_WRITTEN = written_keys("title", "outputSchema")

MCP = Format(NAME, _matches, _read, _write, _WRITTEN)
