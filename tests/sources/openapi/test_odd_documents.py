"""Documents that would take for ever, hold secrets, or come from Python with keys that are no texts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.sources.openapi.documents import Recorder, call, document, only_tool, operation
from toolsearch.exceptions import CatalogFileError
from toolsearch.sources.openapi import OpenApiSource
from toolsearch.tools import JsonObject

SECRET = "S3CRETPW"


def link(name: str) -> JsonObject:
    return {"$ref": f"#/components/schemas/{name}"}


def chain(n: int, step: Any, last: JsonObject) -> JsonObject:
    return {**{f"S{i}": step(i, link(f"S{i + 1}")) for i in range(n)}, f"S{n}": last}


LAST: JsonObject = {"type": "object", "properties": {"z": {"type": "string"}}}


LOOP: JsonObject = {"type": "object", "properties": {"x": {"allOf": [link("S0"), LAST]}}}


def grown(i: int, below: JsonObject) -> JsonObject:
    return {"allOf": [below, {"type": "object", "properties": {"z": {"maxLength": i}}}, below]}


def spread(i: int, below: JsonObject) -> JsonObject:
    both = {name: {"allOf": [below, {"type": "object"}]} for name in ("a", "b")}
    return {"type": "object", "properties": both}


@pytest.mark.parametrize(
    "schemas",
    [
        chain(30, lambda i, below: {"allOf": [below, below]}, LAST),
        chain(30, lambda i, below: {"allOf": [below, below]}, LOOP),
        chain(30, lambda i, below: {"anyOf": [{"allOf": [below, below]}] * 2}, LAST),
        chain(30, grown, LAST),
        chain(20, spread, LAST),
    ],
    ids=["allOf", "cycle", "anyOf", "grown", "properties"],
)
@pytest.mark.parametrize("place", ["body", "parameter", "answer"])
def test_references_that_double_at_each_step_are_read_once(schemas: JsonObject, place: str) -> None:
    """Without a measure each of these takes longer than anybody waits."""
    answer = {"200": {"description": "", "content": {"application/json": {"schema": link("S0")}}}}
    asked = {"name": "q", "in": "query", "schema": link("S0")}
    node = {
        "body": operation(body=link("S0")),
        "parameter": operation(asked),
        "answer": operation(responses=answer),
    }[place]
    source = OpenApiSource(document({"/a": {"post": node}}, components={"schemas": schemas}))
    (tool,) = source.list_tools()
    assert len(json.dumps(tool.input_schema)) < 1_000_000
    assert all(issue.tool == "op" for issue in source.issues)


def test_an_all_of_of_one_schema_twice_is_that_schema() -> None:
    schemas = chain(17, lambda i, below: {"allOf": [below, below]}, LAST)
    value = document({"/a": {"post": operation(body=link("S0"))}}, components={"schemas": schemas})
    assert only_tool(value).input_schema["properties"] == LAST["properties"]


def test_what_grows_beyond_measure_is_named() -> None:
    value = document(
        {"/a": {"post": operation(body=link("S0"))}}, components={"schemas": chain(20, spread, LAST)}
    )
    assert any("grows beyond measure" in issue.reason for issue in OpenApiSource(value).issues)


@pytest.mark.parametrize("rest", [f"svc:{SECRET}@api.example.com/v1", f"api.example.com/v1?key={SECRET}"])
def test_a_server_with_a_secret_in_it_is_refused_without_repeating_it(rest: str) -> None:
    with pytest.raises(ValueError, match="no user, password, query") as refused:
        OpenApiSource(document({"/a": {"get": operation()}}), server=f"https://{rest}")
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "servers",
    [
        [{"url": f"https://svc:{SECRET}@api.example.com/v1"}],
        [{"url": "https://svc:{pw}@api.example.com", "variables": {"pw": {"default": SECRET}}}],
    ],
)
def test_a_secret_in_a_server_of_the_document_is_told_nowhere(servers: Any) -> None:
    paths = {"/a": {"get": operation(servers=servers)}, "/b": {"get": operation(operationId="b")}}
    source = OpenApiSource(document(paths))
    assert [tool.raw_name for tool in source.list_tools()] == ["b"]
    (issue,) = source.issues
    assert (issue.tool, issue.severity) == ("op", "error")
    assert SECRET not in str(issue) + repr(source)


def test_keys_of_python_are_what_json_would_make_of_them() -> None:
    answer = {"content": {"application/json": {"schema": {"type": "object", "properties": {1: LAST}}}}}
    paths: Any = {
        5: {"get": operation(operationId="five")},
        None: {},
        "/a": {"post": operation(body={"type": "object", "properties": {7: LAST}}, responses={200: answer})},
    }
    more: Any = {"components": {"schemas": {3: LAST}, 4: {}}, 6: "six"}
    transport = Recorder()
    source = OpenApiSource(document(paths) | more, transport=transport)
    (tool,) = source.list_tools()
    assert "7" in tool.input_schema["properties"]
    assert tool.output_schema is not None
    assert "1" in tool.output_schema["properties"]
    assert [issue.reason for issue in source.issues] == [
        "its path '5' must begin with a slash.",
        "its path 'null' must begin with a slash.",
    ]
    assert not call(tool, {"7": {}}).is_error


def test_a_document_of_no_path_but_a_number_is_refused() -> None:
    value: Any = document({})
    with pytest.raises(CatalogFileError, match="its path '5' must begin with a slash"):
        OpenApiSource({**value, "paths": {5: {}}})
