"""Our own form: what `toolsearch.catalog.tool_record` writes, one JSON object a tool."""

from __future__ import annotations

from collections.abc import Sequence

from toolsearch.catalog import tool_record
from toolsearch.exceptions import DefinitionError
from toolsearch.formats.base import Format, JsonValue, RecordReader, ToolReading
from toolsearch.naming import variant_of
from toolsearch.schema.keywords import is_json, is_text
from toolsearch.tool import JsonObject, Tool


def _matches(record: JsonObject) -> bool:
    return "name" in record and not (record.keys() & _OTHER_FORMS)


_OTHER_FORMS = frozenset(
    {
        "args",
        "args_schema",
        "function",
        "functionDeclarations",
        "function_declarations",
        "inputSchema",
        "parameters",
        "parametersJsonSchema",
        "parameters_json_schema",
        "tools",
    }
)


def _read(record: JsonObject, source: str) -> ToolReading:
    """The tool of a record; keys that this form does not know are kept in `Tool.meta`."""
    reader = RecordReader(record)
    raw_name = reader.tool_name
    source = reader.source(source, "server")
    stated_id = reader.take("id")
    if stated_id is not None and not (is_text(stated_id) or type(stated_id) is int):
        raise DefinitionError(raw_name, f"its id must be a string or a whole number, not {stated_id!r:.60}.")
    variant = reader.text("variant")
    if stated_id is not None and "variant" not in record:
        variant = variant_of(str(stated_id), source, raw_name)
    tool = Tool(
        raw_name=raw_name,
        source=source,
        id=variant,
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
        meta=_meta(reader, stated_id),
    )
    return reader.done(tool)


def _meta(reader: RecordReader, stated_id: str | int | None) -> JsonObject:
    nested = reader.take("meta")
    kept = reader.rest()
    if isinstance(nested, dict) and is_json(nested):
        kept |= nested
    elif nested is not None:
        kept |= RecordReader({"name": reader.tool_name, "meta": nested}, reader.mended).rest()
    return kept if stated_id is None else {**kept, "id": stated_id}


def _write(tools: Sequence[Tool]) -> JsonValue:
    return [tool_record(tool) for tool in tools]


OWN = Format("own", _matches, _read, _write)
