"""What an operation answers with, as the output schema of its tool."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sources.openapi.documents import document
from toolsearch.sources.openapi import OpenApiSource
from toolsearch.sources.openapi.responses import MAX_OUTPUT_CHARACTERS
from toolsearch.tools import JsonObject

NODE = {
    "type": "object",
    "required": ["id", "password"],
    "properties": {
        "id": {"type": "integer", "readOnly": True},
        "password": {"type": "string", "writeOnly": True},
        "next": {"$ref": "#/components/schemas/Node"},
        "ändert": {"$ref": "#/components/schemas/Ärger"},
    },
}
COMPONENTS = {"schemas": {"Node": NODE, "Ärger": {"type": "string"}, "Other": {"type": "integer"}}}


def answers(responses: JsonObject, components: JsonObject = COMPONENTS) -> JsonObject | None:
    paths = {"/x": {"get": {"operationId": "x", "responses": responses}}}
    (tool,) = OpenApiSource(document(paths, components=components)).list_tools()
    return tool.output_schema


def json_of(schema: Any, kind: str = "application/json") -> JsonObject:
    return {"description": "Done", "content": {kind: {"schema": schema}}}


def test_the_object_of_a_success_is_described_with_all_that_it_refers_to() -> None:
    """Members that only a request has are left out, and so are definitions that it does not lead to."""
    described = answers(
        {"200": json_of({"$ref": "#/components/schemas/Node"}), "404": json_of({"type": "object"})}
    )
    kept = {
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": "integer", "readOnly": True},
            "next": {"$ref": "#/$defs/Node"},
            "ändert": {"$ref": "#/$defs/Ärger"},
        },
    }
    assert described == {**kept, "$defs": {"Node": kept, "Ärger": {"type": "string"}}}


@pytest.mark.parametrize(
    "responses",
    [
        {},
        {"204": {"description": "Nothing"}},
        {"200": json_of({"type": "array", "items": {}})},
        {"200": json_of({"type": "object"}, "text/html")},
        {"200": json_of({"type": "object", "properties": {"a": {}}}), "201": json_of({"type": "object"})},
        {"200": json_of({"$ref": "#/components/schemas/Missing"})},
        {"200": json_of({"type": "object", "description": "x" * MAX_OUTPUT_CHARACTERS})},
        {"default": json_of({"type": "object"})},
    ],
)
def test_what_is_no_object_or_not_known_or_too_long_has_no_schema(responses: JsonObject) -> None:
    assert answers(responses) is None


def test_a_success_without_content_and_another_media_type_change_nothing() -> None:
    described = json_of({"type": "object", "properties": {"a": {"type": "string"}}})
    described["content"]["text/csv"] = {"schema": {"type": "string"}}
    assert answers({"200": described, "204": {"description": "Nothing"}}) == {
        "type": "object",
        "properties": {"a": {"type": "string"}},
    }


def test_swagger_says_it_in_its_own_way() -> None:
    value = {
        "swagger": "2.0",
        "info": {"title": "Pets", "version": "1"},
        "host": "api.example.com",
        "paths": {"/x": {"get": {"responses": {"200": {"schema": {"$ref": "#/definitions/Pet"}}}}}},
        "definitions": {"Pet": {"type": "object", "properties": {"name": {"type": "string"}}}},
    }
    (tool,) = OpenApiSource(value).list_tools()
    assert tool.output_schema == {"type": "object", "properties": {"name": {"type": "string"}}}
