"""Our own form: what `toolsearch.catalog.tool_record` writes, one JSON object a tool."""

from __future__ import annotations

from collections.abc import Sequence

from toolsearch.catalog import tool_record
from toolsearch.formats.base import Format, JsonValue, RecordReader, ToolReading
from toolsearch.naming import is_prefix
from toolsearch.schema.keywords import is_json
from toolsearch.tools import JsonObject, Tool

OWN_KEYS = frozenset(
    {
        "destructive",
        "id",
        "meta",
        "output_schema",
        "pinned",
        "read_only",
        "return_direct",
        "search_hint",
        "server",
        "tags",
        "title",
        "variant",
    }
)
"""Keys that no provider's form with an ``input_schema`` has."""


def _matches(record: JsonObject) -> bool:
    # A name and a type without a schema is a tool that the provider runs itself.
    return "name" in record and ("input_schema" in record or not isinstance(record.get("type"), str))


def _read(record: JsonObject, source: str) -> ToolReading:
    """The tool of a record; keys that this form does not know are kept in `Tool.meta`."""
    reader = RecordReader(record)
    origin = reader.origin(source)
    tool = Tool(
        raw_name=reader.tool_name,
        source=origin.source,
        id=origin.variant,
        prefix=_prefix(reader),
        description=reader.text("description"),
        input_schema=reader.input_schema("input_schema"),
        output_schema=reader.output_schema("output_schema"),
        title=reader.text("title"),
        tags=reader.labels("tags"),
        search_hint=reader.text("search_hint"),
        pinned=reader.flag("pinned") or False,
        read_only=reader.flag("read_only"),
        destructive=reader.flag("destructive"),
        return_direct=reader.flag("return_direct") or False,
        meta=_meta(reader, origin.stated_id),
    )
    return reader.done(tool)


def _prefix(reader: RecordReader) -> str | None:
    value = reader.take("prefix")
    if value is None or (isinstance(value, str) and is_prefix(value)):
        return value
    reader.leave_out("prefix", value, "nothing that names can begin with")
    return None


def _meta(reader: RecordReader, stated_id: str | int | None) -> JsonObject:
    nested = reader.take("meta")
    kept = reader.rest()
    if isinstance(nested, dict) and is_json(nested):
        kept |= nested
        if not isinstance(kept.get("id", ""), str | int):
            reader.leave_out("meta.id", kept.pop("id"), "no string or whole number")
    elif nested is not None:
        kept |= RecordReader({"name": reader.tool_name, "meta": nested}, reader.mended).rest()
    return kept if stated_id is None else {**kept, "id": stated_id}


def _write(tools: Sequence[Tool]) -> JsonValue:
    return [tool_record(tool) for tool in tools]


OWN = Format("own", _matches, _read, _write, {})
