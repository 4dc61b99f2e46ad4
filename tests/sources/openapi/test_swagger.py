"""Documents of Swagger 2."""

from __future__ import annotations

from email import message_from_bytes
from typing import Any

import pytest

from tests.sources.openapi.documents import Recorder, body_of, call, only_tool
from toolsearch.sources.openapi import OpenApiSource
from toolsearch.tools import JsonObject


def swagger(paths: JsonObject, **more: Any) -> JsonObject:
    return {
        "swagger": "2.0",
        "info": {"title": "Old Pets", "version": "1"},
        "host": "api.example.com",
        "basePath": "/v2",
        "schemes": ["http", "https"],
        "paths": paths,
        "definitions": {
            "Pet": {
                "type": "object",
                "required": ["id", "name"],
                "properties": {
                    "id": {"type": "integer", "readOnly": True},
                    "name": {"type": "string"},
                    "tag": {"type": "string", "x-nullable": True},
                },
            }
        },
        **more,
    }


def sent(parameter: JsonObject, value: Any, path: str = "/x") -> Any:
    recorder = Recorder()
    operation = {"parameters": [{"name": "p", **parameter}], "responses": {}}
    call(only_tool(swagger({path: {"post": operation}}), recorder), {"p": value})
    return recorder.last


@pytest.mark.parametrize(
    ("collected", "query"),
    [
        (None, "p=a,b"),
        ("csv", "p=a,b"),
        ("ssv", "p=a%20b"),
        ("tsv", "p=a%09b"),
        ("pipes", "p=a%7Cb"),
        ("multi", "p=a&p=b"),
    ],
)
def test_lists_are_written_as_the_collection_format_says(collected: str | None, query: str) -> None:
    stated = {"collectionFormat": collected} if collected else {}
    listed = {"in": "query", "type": "array", "items": {"type": "string"}, **stated}
    assert sent(listed, ["a", "b"]).url.query.decode() == query


def test_lists_in_paths_and_headers_are_written_with_commas() -> None:
    listed = {"type": "array", "items": {"type": "integer"}}
    assert sent({"in": "path", "required": True, **listed}, [1, 2], "/x/{p}").url.path == "/v2/x/1,2"
    assert sent({"in": "header", **listed}, [1, 2]).headers["p"] == "1,2"


def test_a_body_is_merged_with_the_parameters() -> None:
    recorder = Recorder()
    operation = {
        "operationId": "update",
        "parameters": [
            {"name": "petId", "in": "path", "type": "integer", "required": True},
            {"name": "pet", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Pet"}},
        ],
    }
    tool = only_tool(swagger({"/pets/{petId}": {"put": operation}}), recorder)
    assert tool.name == "old_pets__update"
    assert tool.input_schema["properties"] == {
        "petId": {"type": "integer"},
        "name": {"type": "string"},
        "tag": {"type": ["string", "null"]},
    }
    assert tool.input_schema["required"] == ["petId", "name"]
    call(tool, {"petId": 3, "name": "Rex", "tag": None})
    assert str(recorder.last.url) == "https://api.example.com/v2/pets/3"
    assert body_of(recorder.last) == {"name": "Rex", "tag": None}


def test_a_form_is_sent_as_one() -> None:
    recorder = Recorder()
    fields = [
        {"name": "a", "in": "formData", "type": "string", "required": True},
        {
            "name": "b",
            "in": "formData",
            "type": "array",
            "items": {"type": "string"},
            "collectionFormat": "multi",
        },
        {"name": "c", "in": "formData", "type": "array", "items": {"type": "string"}},
    ]
    tool = only_tool(swagger({"/x": {"post": {"parameters": fields}}}), recorder)
    assert tool.input_schema["required"] == ["a"]
    call(tool, {"a": "x y+z", "b": ["1", "2"], "c": ["3", "4"]})
    assert recorder.last.headers["Content-Type"] == "application/x-www-form-urlencoded"
    assert recorder.last.content == b"a=x%20y%2Bz&b=1&b=2&c=3,4"


def test_a_file_is_sent_as_a_part_of_a_form() -> None:
    recorder = Recorder()
    fields = [
        {"name": "file", "in": "formData", "type": "file", "required": True, "description": "The picture."},
        {"name": "note", "in": "formData", "type": "string"},
    ]
    tool = only_tool(swagger({"/x": {"post": {"parameters": fields}}}), recorder)
    assert tool.input_schema["properties"]["file"] == {
        "type": "string",
        "contentEncoding": "base64",
        "description": "The picture. A file, in base64.",
    }
    call(tool, {"file": "AP8=", "note": "ä"})
    head = f"Content-Type: {recorder.last.headers['Content-Type']}\r\n\r\n".encode()
    _, file, note = message_from_bytes(head + recorder.last.content).walk()
    assert (file.get_filename(), file.get_payload(decode=True)) == ("file", b"\x00\xff")
    assert note.get_payload(decode=True) == "ä".encode()


def test_security_is_read() -> None:
    definitions = {
        "basic": {"type": "basic"},
        "key": {"type": "apiKey", "in": "query", "name": "k"},
        "oauth": {"type": "oauth2", "flow": "implicit", "authorizationUrl": "https://x", "scopes": {}},
    }
    environment = {"OLD_PETS_BASIC": "ann:pass", "OLD_PETS_KEY": "kk", "OLD_PETS_OAUTH": "tt"}
    recorder = Recorder()
    for name, header in (("basic", "Basic YW5uOnBhc3M="), ("key", None), ("oauth", "Bearer tt")):
        value = swagger({"/x": {"get": {}}}, securityDefinitions=definitions, security=[{name: []}])
        call(only_tool(value, recorder, environment=environment))
        assert recorder.last.headers.get("Authorization") == header
    assert recorder.requests[1].url.query == b"k=kk"


def test_what_it_answers_with_is_asked_for() -> None:
    recorder = Recorder()
    call(only_tool(swagger({"/x": {"get": {}}}, produces=["text/csv", "application/json"]), recorder))
    assert recorder.last.headers["Accept"] == "application/json, text/csv, */*;q=0.1"


def test_without_a_host_the_document_is_served_where_it_stands() -> None:
    value = swagger({"/x": {"get": {}}})
    del value["host"], value["schemes"]
    with pytest.raises(ValueError, match="no server with a host"):
        OpenApiSource(value)
    recorder = Recorder()
    (tool,) = OpenApiSource(
        value, base="http://docs.example.com/swagger.json", transport=recorder
    ).list_tools()
    call(tool)
    assert str(recorder.last.url) == "http://docs.example.com/v2/x"
