"""Operations as tools: names, descriptions, input schemas, and what is wrong with some of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.sources.openapi.documents import (
    PET,
    Recorder,
    body_of,
    call,
    document,
    only_tool,
    operation,
    parameter,
)
from toolsearch.exceptions import CatalogFileError, ToolArgumentsError
from toolsearch.sources.base import ToolSource
from toolsearch.sources.files import read_catalog
from toolsearch.sources.openapi import OpenApiSource, load_openapi
from toolsearch.tools import JsonObject

COMPONENTS = {"schemas": {"Pet": PET}}


def names(paths: JsonObject, title: str = "Pets") -> list[str]:
    value = document(paths, info={"title": title, "version": "1"})
    return [tool.name for tool in OpenApiSource(value).list_tools()]


def schema_of(*parameters: JsonObject, body: JsonObject | None = None, **more: Any) -> JsonObject:
    paths = {"/x": {"post": operation(*parameters, body=body)}}
    return only_tool(document(paths, components=COMPONENTS, **more)).input_schema


def test_a_name_is_the_operation_id_or_made_of_method_and_path() -> None:
    paths = {
        "/pets": {"get": {"operationId": "listPets"}, "post": {"operationId": "pets.create/one"}},
        "/pets/{petId}": {"get": {}, "parameters": [parameter("petId", "path")]},
    }
    assert names(paths) == ["pets__listPets", "pets__pets_create_one", "pets__get_pets_petId"]


def test_names_that_would_be_the_same_are_told_apart_whatever_their_order() -> None:
    """(E40) (E43)"""
    paths: JsonObject = {
        "/a/b": {"get": {}},
        "/a.b": {"get": {}},
        "/c": {
            "get": {"operationId": "same"},
            "put": {"operationId": "same"},
            "post": {"operationId": "x/y"},
        },
        "/d": {
            "get": {"operationId": "x_y"},
            "put": {"operationId": "n" * 80},
            "post": {"operationId": "数据"},
        },
    }
    found = names(paths)
    assert len(set(found)) == len(found) == 8
    assert all(len(name) <= 64 for name in found)
    assert set(names(dict(reversed(paths.items())))) == set(found)
    assert "pets__get_c" in found
    issues = OpenApiSource(document(paths)).issues
    assert [(issue.severity, issue.tool) for issue in issues] == [("mended", "get_c"), ("mended", "put_c")]


@pytest.mark.parametrize(
    ("title", "source"),
    [
        ("Swagger Petstore - OpenAPI 3.0", "petstore"),
        ("GitHub v3 REST API", "github_v3"),
        ("Acme's Web Service", "acme"),
        ("", "openapi"),
        ("API", "api"),
        ("A very long title that nobody would want to read in front of every name", "very_long_title_that"),
    ],
)
def test_the_tool_source_is_made_of_the_title(title: str, source: str) -> None:
    assert OpenApiSource(document({}, info={"title": title, "version": "1"})).name == source


def test_what_the_document_says_of_an_operation_is_kept() -> None:
    paths = {
        "/pets": {
            "get": {
                "summary": "List pets",
                "description": "All of them.",
                "tags": ["pets", "reading", "pets"],
            },
            "delete": {"summary": "Delete all", "deprecated": True},
            "post": {"description": "x" * 5000},
            "head": {},
        }
    }
    get, post, delete, head = OpenApiSource(document(paths)).list_tools()
    assert get.description == "List pets.\nAll of them."
    assert get.tags == ("pets", "reading")
    assert delete.description == "Deprecated. Delete all."
    assert delete.meta == {"openapi": {"method": "DELETE", "path": "/pets", "deprecated": True}}
    assert [(each.read_only, each.destructive) for each in (get, post, delete, head)] == [
        (True, False),
        (False, None),
        (False, True),
        (True, False),
    ]
    assert post.description == "x" * 4000 + "…"
    assert head.description == "HEAD /pets"


def test_parameters_of_the_path_hold_for_each_operation_and_can_be_said_anew() -> None:
    item = {
        "parameters": [parameter("id", "path"), parameter("limit", "query", {"type": "integer"})],
        "get": operation({"$ref": "#/components/parameters/limit"}),
    }
    limit = parameter("limit", "query", {"type": "integer", "maximum": 5}, description="At most so many.")
    tool = only_tool(document({"/x/{id}": item}, components={"parameters": {"limit": limit}}))
    assert tool.input_schema == {
        "type": "object",
        "properties": {
            "id": {"type": "string"},
            "limit": {"type": "integer", "maximum": 5, "description": "At most so many."},
        },
        "required": ["id"],
        "additionalProperties": False,
    }


def test_a_name_in_several_places_is_an_argument_for_each() -> None:
    every = [parameter("id", place) for place in ("path", "query", "header", "cookie")]
    recorder = Recorder()
    paths = {"/x/{id}": {"post": operation(*every, body={"type": "object", "properties": {"id": {}}})}}
    tool = only_tool(document(paths), recorder)
    assert list(tool.input_schema["properties"]) == ["path_id", "query_id", "header_id", "cookie_id", "id"]
    call(tool, {"path_id": "p", "query_id": "q", "header_id": "h", "cookie_id": "c", "id": 1})
    sent = recorder.last
    assert str(sent.url) == "https://api.example.com/v1/x/p?id=q"
    assert (sent.headers["id"], sent.headers["Cookie"], body_of(sent)) == ("h", "id=c", {"id": 1})


def test_a_body_that_shares_a_name_with_a_parameter_is_one_argument() -> None:
    body = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
    schema = schema_of(parameter("id", "query"), body=body)
    assert schema["properties"] == {"id": {"type": "string"}, "body": body}
    assert schema["required"] == ["body"]
    named = schema_of(parameter("body", "query"), parameter("id", "query"), body=body)
    assert list(named["properties"]) == ["body", "id", "body_2"]


@pytest.mark.parametrize(
    "body",
    [
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "properties": {"a": {}}, "additionalProperties": {"type": "string"}},
        {"oneOf": [{"type": "object", "properties": {"a": {}}}, {"type": "string"}]},
        {"type": "object"},
    ],
)
def test_a_body_that_is_more_than_its_members_is_one_argument(body: JsonObject) -> None:
    assert list(schema_of(body=body)["properties"]) == ["body"]


def test_a_body_that_may_be_left_away_needs_no_member_of_it() -> None:
    pet = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    optional = operation(requestBody={"content": {"application/json": {"schema": pet}}})
    recorder = Recorder()
    tool = only_tool(document({"/x": {"post": optional}}), recorder)
    assert tool.input_schema["properties"] == {"body": pet}
    call(tool)
    assert recorder.last.content == b""
    assert "Content-Type" not in recorder.last.headers


def test_argument_names_are_such_as_every_provider_takes() -> None:
    recorder = Recorder()
    wild = operation(
        parameter("filter[name]", "query"), parameter("$top", "query"), parameter("X-Id", "header")
    )
    tool = only_tool(document({"/x": {"get": wild}}), recorder)
    assert list(tool.input_schema["properties"]) == ["filter_name", "top", "X-Id"]
    call(tool, {"filter_name": "n", "top": "3", "X-Id": "i"})
    assert str(recorder.last.url) == "https://api.example.com/v1/x?filter%5Bname%5D=n&%24top=3"


def test_references_are_followed_and_recursion_stays_one() -> None:
    """(E29)"""
    schema = schema_of(body={"$ref": "#/components/schemas/Pet"})
    member = {"name": {"type": "string", "examples": ["Rex"]}, "tag": {"type": ["string", "null"]}}
    whole = {**member, "parent": {"$ref": "#/$defs/Pet"}}
    assert schema == {
        "type": "object",
        "properties": whole,
        "required": ["name"],
        "additionalProperties": False,
        "$defs": {"Pet": {"type": "object", "required": ["name"], "properties": whole}},
    }


def test_all_of_plain_objects_is_one_object() -> None:
    body = {
        "allOf": [
            {"$ref": "#/components/schemas/Pet"},
            {"required": ["age"], "properties": {"age": {"minimum": 0}}},
        ],
        "description": "A pet with its age.",
    }
    schema = schema_of(body=body)
    assert list(schema["properties"]) == ["name", "tag", "parent", "age"]
    assert schema["required"] == ["name", "age"]


def test_all_of_that_cannot_be_one_object_is_kept() -> None:
    body = {"type": "object", "properties": {"n": {"allOf": [{"minimum": 1}, {"type": "integer"}]}}}
    assert schema_of(body=body)["properties"] == {"n": {"allOf": [{"minimum": 1}, {"type": "integer"}]}}
    looped = {"Node": {"allOf": [{"$ref": "#/components/schemas/Node"}, {"properties": {"a": {}}}]}}
    value = document({"/x": {"post": operation(body={"$ref": "#/components/schemas/Node"})}})
    with pytest.raises(CatalogFileError, match="leads back to itself"):
        OpenApiSource({**value, "components": {"schemas": looped}})


def test_null_is_a_value_where_the_document_says_so() -> None:
    nullable = {
        "a": {"type": "string", "nullable": True, "enum": ["x"]},
        "b": {"allOf": [{"$ref": "#/components/schemas/Pet"}], "nullable": True},
        "c": {"$ref": "#/components/schemas/Pet", "nullable": True},
        "d": {"anyOf": [{"type": "string"}, {"type": "integer"}], "nullable": True},
        "e": {"nullable": True},
    }
    pet = {"$ref": "#/$defs/Pet"}
    null = {"type": "null"}
    assert schema_of(body={"type": "object", "properties": nullable})["properties"] == {
        "a": {"type": ["string", "null"], "enum": ["x", None]},
        "b": {"anyOf": [pet, null]},
        "c": {"anyOf": [pet, null]},
        "d": {"anyOf": [{"type": "string"}, {"type": "integer"}, null]},
        "e": {},
    }


def test_schemas_of_3_1_are_json_schema() -> None:
    body = {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"], "examples": ["x"]},
            "b": {"$ref": "#/components/schemas/Pet", "description": "Beside it.", "maxProperties": 3},
            "c": {"const": 1},
            "d": {"exclusiveMinimum": 0},
        },
    }
    assert schema_of(body=body, version="3.1.0")["properties"] == {
        **body["properties"],  # type: ignore[dict-item]
        "b": {"$ref": "#/$defs/Pet", "description": "Beside it.", "maxProperties": 3},
    }


def test_a_schema_of_any_size_is_cut_to_one_that_models_can_read() -> None:
    """(E164)"""
    schemas = {
        f"S{n}": {
            "type": "object",
            "properties": {f"p{i}": {"$ref": f"#/components/schemas/S{n * 7 + i + 1}"} for i in range(7)},
            "description": "x" * 200,
        }
        for n in range(2000)
    }
    schemas |= {f"S{n}": {"type": "string"} for n in range(2000, 14_100)}
    paths = {"/x": {"post": operation(body={"$ref": "#/components/schemas/S0"})}}
    source = OpenApiSource(document(paths, components={"schemas": schemas}))
    (tool,) = source.list_tools()
    assert 60_000 < len(json.dumps(tool.input_schema)) < 200_000
    assert "Its members are left out here for their size." in json.dumps(tool.input_schema)
    assert [issue.severity for issue in source.issues] == ["mended"]


BAD: dict[str, Any] = {
    "no_reference": operation({"$ref": "#/components/parameters/none"}),
    "outside": operation(body={"$ref": "other.yaml#/Pet"}),
    "no_parameter_name": operation({"in": "query"}),
    "nowhere": operation({"name": "a", "in": "matrix"}),
    "style": operation(parameter("a", "query", style="label")),
    "no_schema": operation(body="object"),  # type: ignore[arg-type]
    "type": operation(body={"type": "object", "properties": {"a": {"type": "strin"}}}),
    "no_scheme": operation(security=[{"none": []}]),
    "host_header": operation(parameter("Host", "header")),
    "no_object": [],
    "path": operation(parameter("id", "path")),
    "server": operation(servers=[{"url": "https://{where}.example.com"}]),
    "loop": operation({"$ref": "#/components/parameters/loop"}),
    "deep": operation(body=json.loads('{"items":' * 100 + "{}" + "}" * 100)),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_operation_is_named_and_the_others_are_there(name: str) -> None:
    """(E34)"""
    bad = {**BAD[name], "operationId": name} if isinstance(BAD[name], dict) else BAD[name]
    paths = {"/bad": {"post": bad}, "/good": {"get": {"operationId": "good"}}}
    loop = {"loop": {"$ref": "#/components/parameters/loop"}}
    source = OpenApiSource(document(paths, components={"parameters": loop}))
    assert [tool.raw_name for tool in source.list_tools()] == ["good"]
    (issue,) = source.issues
    assert (issue.severity, issue.tool) == ("error", name if isinstance(bad, dict) else "post_bad")


@pytest.mark.parametrize("path", ["/a/../b", "/%2e%2e/b", "a", "//evil.example", "/a#b", "/a b", "/\\evil"])
def test_a_path_that_leads_elsewhere_is_left_out(path: str) -> None:
    source = OpenApiSource(document({path: {"get": {}}, "/good": {"get": {}}}))
    assert [tool.raw_name for tool in source.list_tools()] == ["get_good"]
    assert [issue.severity for issue in source.issues] == ["error"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"openapi": "4.0.0", "paths": {}}, "version '4.0.0' of OpenAPI is not read"),
        ({"swagger": "1.2", "paths": {}}, "version '1.2' of OpenAPI is not read"),
        ({"openapi": "3.0.0", "paths": []}, "'paths' are no object"),
        ({"paths": {}}, "no OpenAPI document"),
        ([], "no OpenAPI document"),
        (document({"/x": {"get": {"parameters": 1}}}), "no operation of it can be used"),
    ],
)
def test_what_is_no_usable_document_is_refused(value: Any, reason: str) -> None:
    with pytest.raises(CatalogFileError, match=reason):
        OpenApiSource(value)


def test_arguments_that_the_operation_does_not_take_are_refused() -> None:
    tool = only_tool(document({"/x": {"get": operation(parameter("a", "query"))}}), Recorder())
    with pytest.raises(ToolArgumentsError, match="'b' was unexpected"):
        call(tool, {"b": 1})


def test_a_file_is_read_with_the_lines_of_its_operations(tmp_path: Path) -> None:
    text = """\
openapi: 3.0
info: {title: Pets, version: 1}
servers: [{url: https://api.example.com}]
paths:
  /pets:
    get: {operationId: list, responses: {}}
    post:
      operationId: bad
      parameters: [{$ref: "#/none"}]
"""
    path = tmp_path / "pets.yaml"
    path.write_text(text, encoding="utf-8")
    source = load_openapi(path)
    assert isinstance(source, ToolSource)
    assert [tool.name for tool in source.list_tools()] == ["pets__list"]
    assert [str(issue) for issue in source.issues] == [
        f"{path}:8: error: tool 'bad': the reference '#/none' leads nowhere."
    ]
    loaded = read_catalog(path)
    assert list(loaded.catalog) == ["pets__list"]
    assert loaded.issues == source.issues
    assert loaded.n_read == 2
    again = tmp_path / "pets.json"
    again.write_text(json.dumps(document({"/pets": {"get": {"operationId": "list"}}})), encoding="utf-8")
    both = read_catalog(tmp_path, source="zoo")
    assert list(both.catalog) == ["zoo__list"]
