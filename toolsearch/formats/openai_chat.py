"""OpenAI Chat Completions: ``{"type": "function", "function": {"name", "description", "parameters"}}``.

Written without what the form has no place for: source, id, raw name, output schema, title,
tags, hints and `pinned`.
"""

from __future__ import annotations

from collections.abc import Sequence

from toolsearch.formats.base import (
    ORIGIN_KEYS,
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

NAME = "openai_chat"


def _matches(record: JsonObject) -> bool:
    return isinstance(record.get("function"), dict)


def _read(record: JsonObject, source: str) -> ToolReading:
    function = record["function"] if _matches(record) else {}
    origin_keys = {key: value for key, value in record.items() if key in ORIGIN_KEYS}
    reader = RecordReader({**origin_keys, **function})
    origin = reader.origin(source)
    tool = Tool(
        raw_name=reader.tool_name,
        source=origin.source,
        id=origin.variant,
        description=reader.text("description"),
        input_schema=reader.input_schema("parameters"),
        meta=origin.meta(NAME, _kept(record, reader)),
    )
    return reader.done(tool)


def _kept(record: JsonObject, reader: RecordReader) -> JsonObject:
    around = {k: v for k, v in record.items() if k not in {"type", "function", *ORIGIN_KEYS}}
    inside = reader.rest()
    return {**reader.json_only(around), **({"function": inside} if inside else {})}


def _write(tools: Sequence[Tool]) -> JsonValue:
    return [_record(tool) for tool in tools]


def _record(tool: Tool) -> JsonObject:
    kept = form_meta(tool, NAME, _WRITTEN)
    function = {"name": tool.name, "description": tool.description, "parameters": export_schema(tool)}
    return with_kept(
        {"type": "function", "function": with_kept(function, kept.pop("function", {}))},
        kept,
    )


_WRITTEN: WrittenKeys = {
    **{path: None for path in written_keys() if path != ("function",)},
    **{("function", key): None for key in ("name", "description", "parameters", *ORIGIN_KEYS)},
    ("type",): "function",
}

OPENAI_CHAT = Format(NAME, _matches, _read, _write, _WRITTEN)
