"""Gemini: ``{"functionDeclarations": [{"name", "description", "parameters"}]}``.

`parameters` is Gemini's own subset of OpenAPI 3.0, with upper-case types; ``parametersJsonSchema`` takes
JSON Schema. Both are read, in camelCase and as the Python client dumps them, and so is OpenAI's older
``{"name", "description", "parameters"}``.

Written under public names with ``parameters`` where the schema fits that subset and
``parametersJsonSchema`` where it does not. References are inlined, a recursive one cut after one round,
because neither follows them dependably. Without what the form has no place for: source, id, raw name,
title, tags, hints and `pinned`.

Source: https://ai.google.dev/api/caching#Schema and #FunctionDeclaration
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

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
from toolsearch.schema import inline_refs
from toolsearch.schema.keywords import subschemas
from toolsearch.schema.refs import put
from toolsearch.tools import JsonObject, Tool

NAME = "gemini"


def _matches(record: JsonObject) -> bool:
    return "name" in record and not {"parameters", "parametersJsonSchema"}.isdisjoint(record)


def _read(record: JsonObject, source: str) -> ToolReading:
    parameters = record.get("parameters")
    if isinstance(parameters, dict):
        record = {**record, "parameters": _from_openapi(parameters)}
    reader = RecordReader(record)
    origin = reader.origin(source)
    reader.take("type")
    tool = Tool(
        raw_name=reader.tool_name,
        source=origin.source,
        id=origin.variant,
        description=reader.text("description"),
        input_schema=reader.input_schema("parametersJsonSchema", "parameters_json_schema", "parameters"),
        output_schema=_output_schema(reader, record),
        meta=origin.meta(NAME, reader.rest()),
    )
    return reader.done(tool)


_RESPONSES = ("responseJsonSchema", "response_json_schema", "response")


def _output_schema(reader: RecordReader, record: JsonObject) -> JsonObject | None:
    """The schema of results where it is an object's; any other, which Gemini allows, stays with the form."""
    for key in _RESPONSES:
        stated = record.get(key)
        if isinstance(stated, dict):
            schema = _from_openapi(stated)
            if schema.get("type") == "object":
                return reader.replaced(key, schema).output_schema(key)
    return None


_TYPES = frozenset({"ARRAY", "BOOLEAN", "INTEGER", "NULL", "NUMBER", "OBJECT", "STRING"})
_COUNTS = frozenset({"maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties"})
_COUNT = re.compile("[0-9]{1,19}")
_SNAKE_CASE = {
    re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key): key
    for key in (*_COUNTS, "additionalProperties", "anyOf", "propertyOrdering")
}


def _from_openapi(schema: JsonObject) -> JsonObject:
    """Gemini's spelling of a schema as JSON Schema's; what is JSON Schema already stays as it is."""
    result = {_SNAKE_CASE.get(key, key): value for key, value in schema.items()}
    kind = result.get("type")
    lower_case = kind.lower() if isinstance(kind, str) and kind in _TYPES else None
    if lower_case or "any_of" in schema:
        result = {key: value for key, value in result.items() if value is not None}
    if lower_case:
        result["type"] = lower_case
        for key in _COUNTS & result.keys():
            # ProtoJSON writes 64-bit integers as strings.
            if isinstance(result[key], str) and _COUNT.fullmatch(result[key]):
                result[key] = int(result[key])
        if result.pop("nullable", False) is True:
            result["type"] = [lower_case, "null"]
    original = dict(result)
    for steps, part in subschemas(original):
        if isinstance(part, dict):
            put(result, original, steps, _from_openapi(part))
    return result


def _write(tools: Sequence[Tool]) -> JsonValue:
    return {"functionDeclarations": [_record(tool) for tool in tools]}


def _record(tool: Tool) -> JsonObject:
    kept = form_meta(tool, NAME, _WRITTEN)
    record: JsonObject = {"name": tool.name, "description": tool.description}
    schema = inline_refs(export_schema(tool))
    fitting = _to_openapi(schema)
    if fitting is None:
        record["parametersJsonSchema"] = schema
    else:
        record["parameters"] = fitting
    if tool.output_schema is not None:
        record["responseJsonSchema"] = inline_refs(tool.output_schema)
        for key in _RESPONSES:
            kept.pop(key, None)
    return with_kept(record, kept)


_PLAIN_KEYWORDS = _COUNTS | {"default", "description", "maximum", "minimum", "pattern", "required", "title"}
_FORMATS = {
    "string": frozenset({"date-time", "enum"}),
    "integer": frozenset({"int32", "int64"}),
    "number": frozenset({"double", "float"}),
}


def _to_openapi(schema: Any) -> JsonObject | None:
    """The schema in Gemini's subset, or None where the subset cannot say it."""
    if not isinstance(schema, dict):
        return None
    kind = schema.get("type")
    nullable = isinstance(kind, list) and len(kind) == 2 and kind[1] == "null"
    if isinstance(kind, list) and nullable:
        kind = kind[0]
    if not isinstance(kind, str):
        return None
    result: JsonObject = {"type": kind.upper()}
    if nullable:
        result["nullable"] = True
    for keyword, value in schema.items():
        if keyword == "type":
            continue
        if keyword == "properties":
            parts = {name: _to_openapi(part) for name, part in value.items()}
            if not all(parts.values()):
                return None
            result[keyword] = parts
        elif keyword == "items":
            result[keyword] = _to_openapi(value)
        elif keyword == "enum":
            result[keyword] = value if kind == "string" and all(isinstance(v, str) for v in value) else None
        elif keyword == "format":
            result[keyword] = value if value in _FORMATS.get(kind, ()) else None
        else:
            result[keyword] = value if keyword in _PLAIN_KEYWORDS else None
        if result[keyword] is None:
            return None
    if kind == "object" and not schema.get("properties"):
        return None
    return None if kind == "array" and "items" not in schema else result


_WRITTEN = written_keys()

GEMINI = Format(NAME, _matches, _read, _write, _WRITTEN)
