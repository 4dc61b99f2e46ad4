"""What an operation answers with where it succeeds: its media types, and the schema of its JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from toolsearch.exceptions import DefinitionError, SchemaError
from toolsearch.schema import check_schema
from toolsearch.schema.keywords import MAX_DEPTH
from toolsearch.sources.openapi.document import OpenApiDocument
from toolsearch.sources.openapi.media import bare, is_json
from toolsearch.sources.openapi.schemas import SchemaReader
from toolsearch.tools import JsonObject

MAX_OUTPUT_CHARACTERS = 4_000
"""Of an output schema, as JSON: models are shown it, and some answers are described by megabytes."""


def accepted(document: OpenApiDocument, tool: str, operation: JsonObject) -> tuple[str, ...]:
    """The media types of answers that are no errors, JSON first.

    Raises:
        DefinitionError: a response that is no object, or refers to none.
    """
    found: list[Any] = []
    if document.is_swagger:
        produces = operation.get("produces", document.value.get("produces"))
        found += produces if isinstance(produces, list) else []
    for response in _successes(document, tool, operation):
        content = response.get("content")
        found += content if isinstance(content, dict) else ()
    kinds = [
        kind
        for kind in dict.fromkeys(found)
        if isinstance(kind, str) and kind.isascii() and kind.isprintable()
    ]
    return tuple(sorted(kinds, key=lambda kind: not is_json(bare(kind)))) or ("application/json",)


def output_schema(document: OpenApiDocument, tool: str, operation: JsonObject) -> JsonObject | None:
    """The schema of the JSON object that a success answers with.

    None where the document does not say: no JSON, no object, several schemas that differ, one that cannot be
    read, or one of more than `MAX_OUTPUT_CHARACTERS`, references included.
    """
    try:
        stated = [
            schema
            for response in _successes(document, tool, operation)
            for schema in _schemas(document, tool, response)
        ]
        if not stated or any(schema != stated[0] for schema in stated):
            return None
        schema = _whole(document, tool, stated[0])
        if schema is None or schema.get("type") != "object":
            return None
        checked = check_schema(tool, schema).schema
    except (DefinitionError, SchemaError, RecursionError):
        return None
    return checked if len(json.dumps(checked)) <= MAX_OUTPUT_CHARACTERS else None


def _successes(document: OpenApiDocument, tool: str, operation: JsonObject) -> Iterator[JsonObject]:
    responses = operation.get("responses")
    for status, response in (responses if isinstance(responses, dict) else {}).items():
        if str(status).startswith("2") and isinstance(response, dict):
            yield document.resolved(tool, response, f"response {status}")


def _schemas(document: OpenApiDocument, tool: str, response: JsonObject) -> Iterator[Any]:
    if document.is_swagger:
        if "schema" in response:
            yield response["schema"]
        return
    content = response.get("content")
    for kind, media in (content if isinstance(content, dict) else {}).items():
        if isinstance(kind, str) and is_json(bare(kind)):
            yield document.resolved(tool, media, f"media type {kind!r:.60}").get("schema")


def _whole(document: OpenApiDocument, tool: str, stated: Any) -> JsonObject | None:
    """The schema with what it refers to; None where that is more than may be shown."""
    if not isinstance(stated, dict):
        return None
    schemas = SchemaReader(document, tool, is_answer=True)
    schema = schemas.read(stated)
    for _ in range(MAX_DEPTH):
        if "$ref" not in schema:
            break
        schema = schemas.resolved(schema)
    definitions = schemas.definitions()
    if schemas.mended:
        # Part of it was left out for its size.
        return None
    used = _used(schema, definitions)
    return {**schema, "$defs": used} if used else schema


def _used(schema: JsonObject, definitions: JsonObject) -> JsonObject:
    """The definitions that the schema leads to."""
    used: JsonObject = {}
    waiting = [schema]
    while waiting:
        text = json.dumps(waiting.pop(), default=str, ensure_ascii=False)
        for name, definition in definitions.items():
            if name not in used and f'"#/$defs/{name}"' in text:
                used[name] = definition
                waiting.append(definition)
    return used
