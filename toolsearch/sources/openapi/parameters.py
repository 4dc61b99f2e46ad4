"""The parameters of an operation, from OpenAPI 3 and from Swagger 2."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, cast, get_args

from toolsearch.exceptions import DefinitionError
from toolsearch.sources.openapi.document import OpenApiDocument
from toolsearch.sources.openapi.model import Location, Parameter, Serialization, Style
from toolsearch.tools import JsonObject

_LOCATIONS = get_args(Location)
_DEFAULT_STYLES: dict[str, Style] = {
    "path": "simple",
    "query": "form",
    "header": "simple",
    "cookie": "form",
}
_STYLES: dict[str, frozenset[str]] = {
    "path": frozenset({"matrix", "label", "simple"}),
    "query": frozenset({"form", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject"}),
    "header": frozenset({"simple"}),
    "cookie": frozenset({"form", "cookie"}),
}
# OpenAPI has these headers described elsewhere, and ignores parameters of these names.
_IGNORED_HEADERS = frozenset({"accept", "authorization", "content-type"})
# These belong to the connection or to the request as a whole.
_FORBIDDEN_HEADERS = frozenset(
    {
        "connection",
        "content-length",
        "cookie",
        "expect",
        "host",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_COLLECTION_FORMATS: dict[str, Style] = {
    "csv": "form",
    "ssv": "spaceDelimited",
    "tsv": "tabDelimited",
    "pipes": "pipeDelimited",
    "multi": "form",
}
# Of a parameter of Swagger 2 these say what they say of a schema.
_SCHEMA_KEYWORDS = frozenset(
    {
        "default",
        "description",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "format",
        "items",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "multipleOf",
        "pattern",
        "type",
        "uniqueItems",
        "x-nullable",
    }
)


def stated_parameters(
    document: OpenApiDocument, tool: str, path_item: JsonObject, operation: JsonObject
) -> list[JsonObject]:
    """The parameter objects of an operation: those of its path, then its own, which win over namesakes.

    Raises:
        DefinitionError: one that is none.
    """
    found: dict[tuple[Any, Any], JsonObject] = {}
    for owner in (path_item, operation):
        for node in _listed(tool, owner.get("parameters")):
            parameter = document.resolved(tool, node, "a parameter")
            name, location = parameter.get("name"), parameter.get("in")
            if not isinstance(name, str) or not name:
                raise DefinitionError(tool, f"a parameter needs a name, not {name!r:.60}.")
            found[name, location] = parameter
    return list(found.values())


def read_parameters(
    document: OpenApiDocument, tool: str, stated: Iterable[JsonObject]
) -> Iterator[Parameter]:
    """Those of the stated parameters that a request has beside its body, in their order.

    Headers that OpenAPI has described elsewhere, such as ``Accept``, are left out, as it wants it.

    Raises:
        DefinitionError: one that cannot be sent.
    """
    for parameter in stated:
        location, name = parameter.get("in"), parameter["name"]
        if document.is_swagger and location in {"body", "formData"}:
            continue
        if location not in _LOCATIONS:
            raise DefinitionError(
                tool, f"parameter {name!r} is in {location!r:.60}, which is no place for one."
            )
        if location == "header" and name.casefold() in _IGNORED_HEADERS:
            continue
        if location == "header" and (name.casefold() in _FORBIDDEN_HEADERS or not _is_token(name)):
            raise DefinitionError(tool, f"header {name!r:.60} cannot be set by a parameter.")
        if location == "cookie" and not _is_token(name):
            raise DefinitionError(tool, f"cookie {name!r:.60} has a name that cannot be sent.")
        location = cast("Location", location)
        schema, how = (
            _swagger(parameter, location) if document.is_swagger else _stated(tool, parameter, location)
        )
        if location == "path" and parameter.get("style") is None and document.is_swagger:
            how = Serialization("simple", explode=False)
        required = parameter.get("required") is True or location == "path"
        yield Parameter(name, location, _described(schema, parameter), required, how)


def swagger_form(parameter: JsonObject) -> tuple[JsonObject, Serialization]:
    """The schema of a form parameter of Swagger 2, and how it is written."""
    schema, how = _swagger(parameter, "query")
    if schema.get("type") == "file":
        schema = {**schema, "type": "string", "format": "binary"}
    return _described(schema, parameter), how


def serialization(tool: str, stated: JsonObject, location: Location, name: str) -> Serialization:
    """How a parameter, or a member of a form, says that it is written.

    Raises:
        DefinitionError: a style that is none for its place.
    """
    style = stated.get("style", _DEFAULT_STYLES[location])
    if style not in _STYLES[location]:
        raise DefinitionError(
            tool, f"{name!r} has style {style!r:.60}, which is none of a {location} parameter."
        )
    explode = stated.get("explode")
    style = "form" if style == "cookie" else style
    return Serialization(
        style=cast("Style", style),
        explode=explode if isinstance(explode, bool) else style == "form",
        allow_reserved=stated.get("allowReserved") is True,
    )


def _stated(tool: str, parameter: JsonObject, location: Location) -> tuple[JsonObject, Serialization]:
    name = parameter["name"]
    content = parameter.get("content")
    if isinstance(content, dict) and content:
        ((media_type, media), *_) = content.items()
        schema = media.get("schema", {}) if isinstance(media, dict) else {}
        if "json" not in media_type:
            raise DefinitionError(
                tool, f"parameter {name!r} is written as {media_type!r:.60}; only JSON can be written in one."
            )
        style = _DEFAULT_STYLES[location]
        return schema, Serialization(style, explode=False, media_type=media_type)
    schema = parameter.get("schema", {})
    return schema, serialization(tool, parameter, location, name)


def _swagger(parameter: JsonObject, location: Location) -> tuple[JsonObject, Serialization]:
    schema = {key: value for key, value in parameter.items() if key in _SCHEMA_KEYWORDS}
    collected = parameter.get("collectionFormat", "csv")
    style = _COLLECTION_FORMATS.get(collected, "form")
    if location in {"path", "header"}:
        style = "simple"
    return schema, Serialization(style, explode=collected == "multi")


def _described(schema: Any, parameter: JsonObject) -> JsonObject:
    """The schema with what the parameter says of itself."""
    if not isinstance(schema, dict):
        # `true` allows anything.
        schema = {} if schema is True else {"not": {}}
    told = {}
    if isinstance(parameter.get("description"), str) and parameter["description"].strip():
        told["description"] = parameter["description"].strip()
    if parameter.get("deprecated") is True:
        told["deprecated"] = True
    return {**schema, **told}


def _listed(tool: str, parameters: Any) -> list[Any]:
    if parameters is None:
        return []
    if not isinstance(parameters, list):
        raise DefinitionError(tool, "its 'parameters' are no list.")
    return parameters


def _is_token(name: str) -> bool:
    """Whether `name` can be that of a header or cookie (RFC 9110, 5.6.2)."""
    return name.isascii() and all(c.isalnum() or c in "!#$%&'*+-.^_`|~" for c in name)
