"""Anthropic Messages: ``{"name", "description", "input_schema"}``, with ``cache_control`` and the like.

``defer_loading: false`` pins a tool. Tools of a dated type, such as ``web_search_20250305``, have no
definition to read. Written under public names, without what the form has no place for: source, id, raw
name, output schema, title, tags, hints, and `pinned` where the tool was not read in this form.
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
from toolsearch.formats.openai_responses import defer_loading_for
from toolsearch.formats.own import OWN_KEYS
from toolsearch.tools import JsonObject, Tool

NAME = "anthropic"

# Without one of these a record reads the same in our own form.
_TELLING = frozenset(
    {
        "allowed_callers",
        "cache_control",
        "defer_loading",
        "eager_input_streaming",
        "input_examples",
        "strict",
    }
)


def _matches(record: JsonObject) -> bool:
    if "input_schema" not in record or not OWN_KEYS.isdisjoint(record):
        return False
    return record.get("type") == "custom" or not _TELLING.isdisjoint(record)


def _read(record: JsonObject, source: str) -> ToolReading:
    reader = RecordReader(record)
    origin = reader.origin(source)
    tool = Tool(
        raw_name=reader.tool_name,
        source=origin.source,
        id=origin.variant,
        description=reader.text("description"),
        input_schema=reader.input_schema("input_schema"),
        pinned=record.get("defer_loading") is False,
        meta=origin.meta(NAME, reader.rest()),
    )
    return reader.done(tool)


def _write(tools: Sequence[Tool]) -> JsonValue:
    return [_record(tool) for tool in tools]


def _record(tool: Tool) -> JsonObject:
    record = {"name": tool.name, "description": tool.description, "input_schema": export_schema(tool)}
    return with_kept(record, defer_loading_for(tool, form_meta(tool, NAME, _WRITTEN)))


_WRITTEN: WrittenKeys = {**written_keys(*OWN_KEYS), ("type",): "custom"}

ANTHROPIC = Format(NAME, _matches, _read, _write, _WRITTEN)
