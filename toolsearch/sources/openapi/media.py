"""The body of an operation: which of its media types is sent, from OpenAPI 3 and from Swagger 2."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from toolsearch.exceptions import DefinitionError
from toolsearch.sources.openapi.document import OpenApiDocument
from toolsearch.sources.openapi.model import Body, Serialization
from toolsearch.sources.openapi.parameters import serialization, swagger_form
from toolsearch.sources.openapi.schemas import SchemaReader
from toolsearch.tools import JsonObject

FORM = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"


def is_json(media_type: str) -> bool:
    """Whether values are sent and answered as JSON in it."""
    return media_type.endswith(("+json", "/json"))


def is_text(media_type: str) -> bool:
    """Whether it is text of some kind, which a model can write and read as it is."""
    return (
        media_type.startswith("text/")
        or media_type.endswith(("+xml", "/xml", "+yaml", "/yaml", "/x-yaml"))
        or media_type in {"application/javascript", "application/graphql", "application/x-ndjson"}
    )


def bare(media_type: str) -> str:
    """A media type in lower case, without parameters."""
    return media_type.partition(";")[0].strip().casefold()


def read_body(
    document: OpenApiDocument,
    tool: str,
    operation: JsonObject,
    stated: Iterable[JsonObject],
    schemas: SchemaReader,
) -> Body | None:
    """What is sent as body, in the media type that a model writes best: JSON, a form, text, base64.

    Args:
        document: What the operation is in.
        tool: For errors.
        operation: As the document has it.
        stated: Its parameter objects, among which Swagger 2 has the body.
        schemas: Reads the schemas of the operation.

    Raises:
        DefinitionError: a body that cannot be sent.
    """
    if document.is_swagger:
        return _swagger_body(document, tool, operation, list(stated), schemas)
    if operation.get("requestBody") is None:
        return None
    body = document.resolved(tool, operation["requestBody"], "its request body")
    content = body.get("content")
    if not isinstance(content, dict) or not content:
        raise DefinitionError(tool, "its request body names no media type.")
    media_type = _best(content)
    media = document.resolved(tool, content[media_type], f"media type {media_type!r:.60}")
    required = body.get("required") is True
    about = body.get("description")
    encoding = media.get("encoding")
    encoding = encoding if isinstance(encoding, dict) else {}
    read = _body(media_type, media.get("schema", {}), required, encoding, tool=tool, schemas=schemas)
    if isinstance(about, str) and about.strip() and "description" not in read.schema:
        return Body(read.media_type, {**read.schema, "description": about.strip()}, required, read.encoding)
    return read


def _body(
    media_type: str,
    schema: Any,
    required: bool,
    encoding: Mapping[str, Any],
    *,
    tool: str,
    schemas: SchemaReader,
) -> Body:
    kind = bare(media_type)
    if "*" in kind:
        # A range leaves the choice to who sends.
        kind = (
            "text/plain"
            if kind == "text/*"
            else "application/json"
            if kind == "*/*"
            else "application/octet-stream"
        )
    if is_json(kind):
        return Body(kind, schemas.read(schema), required)
    if kind in {FORM, MULTIPART}:
        ways = {
            name: _encoding(tool, name, stated)
            for name, stated in encoding.items()
            if isinstance(stated, dict)
        }
        return Body(kind, _form_schema(schemas.read(schema), schemas, kind), required, ways)
    told = schemas.resolved(schemas.read(schema)) if schema else {}
    kept: JsonObject = {
        key: told[key] for key in ("title", "description", "maxLength", "minLength", "pattern") if key in told
    }
    if is_text(kind):
        return Body(kind, {**kept, "type": "string", "contentMediaType": kind}, required)
    plain: JsonObject = {key: value for key, value in kept.items() if key in {"title", "description"}}
    return Body(kind, {**plain, **base64_schema(plain.get("description", ""), kind)}, required)


def base64_schema(description: str, media_type: str = "") -> JsonObject:
    """The schema of a binary value, which a model has to write as base64."""
    told = f"{description.rstrip('.')}. " if description else ""
    schema: JsonObject = {
        "type": "string",
        "contentEncoding": "base64",
        "description": f"{told}A file, in base64.",
    }
    return {**schema, "contentMediaType": media_type} if media_type else schema


def is_binary(schema: JsonObject) -> bool:
    """Whether this describes a file: as OpenAPI 3.0 says it, as 3.1 does, or as it was made here."""
    if schema.get("contentEncoding") == "base64":
        return True
    if schema.get("type") not in ("string", None):
        return False
    media_type = schema.get("contentMediaType")
    is_file = isinstance(media_type, str) and not is_text(bare(media_type)) and not is_json(bare(media_type))
    return schema.get("format") == "binary" or (is_file and "contentEncoding" not in schema)


def _form_schema(schema: JsonObject, schemas: SchemaReader, kind: str) -> JsonObject:
    """A form's schema with its files as base64."""
    whole = schemas.resolved(schema)
    properties = whole.get("properties")
    if kind != MULTIPART or not isinstance(properties, dict):
        return whole
    return {**whole, "properties": {name: _file_schema(part, schemas) for name, part in properties.items()}}


def _file_schema(schema: Any, schemas: SchemaReader) -> Any:
    if not isinstance(schema, dict):
        return schema
    resolved = schemas.resolved(schema)
    for keyword in ("anyOf", "oneOf"):
        if isinstance(resolved.get(keyword), list):
            return {**resolved, keyword: [_file_schema(part, schemas) for part in resolved[keyword]]}
    if resolved.get("type") == "array":
        items = _file_schema(resolved.get("items", {}), schemas)
        return {**resolved, "items": items} if items is not resolved.get("items") else schema
    if not is_binary(resolved):
        return schema
    return {
        **{k: v for k, v in resolved.items() if k == "title"},
        **base64_schema(resolved.get("description", "")),
    }


def _encoding(tool: str, name: str, stated: JsonObject) -> Serialization:
    how = serialization(tool, stated, "query", name)
    media_type = stated.get("contentType")
    # Where a style is stated, OpenAPI has the media type ignored.
    if isinstance(media_type, str) and not stated.keys() & {"style", "explode", "allowReserved"}:
        return Serialization(how.style, how.explode, media_type=bare(media_type.partition(",")[0]))
    return how


def _best(content: Mapping[str, Any]) -> str:
    def rank(media_type: str) -> int:
        kind = bare(media_type)
        if kind == "application/json":
            return 0
        if is_json(kind) or kind == "*/*":
            return 1
        if kind == FORM:
            return 2
        if kind == MULTIPART:
            return 3
        return 4 if is_text(kind) else 5

    # JSON of a special kind, such as a patch, only where there is no plain one.
    return min(content, key=rank)


def _swagger_body(
    document: OpenApiDocument,
    tool: str,
    operation: JsonObject,
    stated: list[JsonObject],
    schemas: SchemaReader,
) -> Body | None:
    consumes = operation.get("consumes", document.value.get("consumes"))
    types = [each for each in consumes if isinstance(each, str)] if isinstance(consumes, list) else []
    for parameter in stated:
        if parameter.get("in") == "body":
            chosen = _best(dict.fromkeys(types or ["application/json"]))
            schema = parameter.get("schema", {})
            body = _body(chosen, schema, parameter.get("required") is True, {}, tool=tool, schemas=schemas)
            about = parameter.get("description")
            told = {"description": about.strip()} if isinstance(about, str) and about.strip() else {}
            return Body(body.media_type, {**told, **body.schema}, body.required)
    form = [parameter for parameter in stated if parameter.get("in") == "formData"]
    if not form:
        return None
    read = {parameter["name"]: swagger_form(parameter) for parameter in form}
    has_files = any(parameter.get("type") == "file" for parameter in form)
    kinds = {bare(each) for each in types}
    kind = MULTIPART if has_files or (MULTIPART in kinds and FORM not in kinds) else FORM
    required = [parameter["name"] for parameter in form if parameter.get("required") is True]
    whole: JsonObject = {
        "type": "object",
        "properties": {name: schemas.read(schema) for name, (schema, _) in read.items()},
        "required": required,
    }
    ways = {name: how for name, (_, how) in read.items()}
    return Body(kind, _form_schema(whole, schemas, kind), bool(required), ways)
