from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from pydantic import BaseModel

from toolsearch import Tool, ToolResult, tool
from toolsearch.functions.function_tool import FunctionTool
from toolsearch.messages import ImagePart
from toolsearch.serving.output_schemas import object_schema


class Model(BaseModel):
    n: int


class Typed(TypedDict):
    n: int


@dataclass
class Data:
    n: int


def model() -> Model: ...  # type: ignore[empty-body]
def typed() -> Typed: ...  # type: ignore[empty-body]
def data() -> Data: ...  # type: ignore[empty-body]
def mapping() -> dict[str, int]: ...  # type: ignore[empty-body]
def listed() -> list[int]: ...  # type: ignore[empty-body]
def perhaps() -> Model | None: ...
def text() -> str: ...  # type: ignore[empty-body]
def nothing() -> None: ...
def result() -> ToolResult: ...  # type: ignore[empty-body]
def picture() -> ImagePart: ...  # type: ignore[empty-body]
def unknown() -> "Missing": ...  # type: ignore[name-defined]  # noqa: F821
def bare(): ...  # type: ignore[no-untyped-def]
def anything() -> Any: ...
def odd() -> object: ...


@pytest.mark.parametrize("function", [model, typed, data])
def test_what_a_function_returns_is_its_output_schema(function: Any) -> None:
    schema = object_schema(tool(function))
    assert schema is not None
    assert (schema["type"], schema["properties"]["n"]["type"], schema["required"]) == (
        "object",
        "integer",
        ["n"],
    )


def test_so_is_a_mapping() -> None:
    assert object_schema(tool(mapping)) == {"type": "object", "additionalProperties": {"type": "integer"}}


@pytest.mark.parametrize(
    "function",
    [listed, perhaps, text, nothing, result, picture, unknown, bare, anything, odd],
    ids=lambda function: function.__name__,
)
def test_what_is_no_object_or_not_known_has_none(function: Any) -> None:
    assert object_schema(tool(function)) is None


def test_a_converter_may_give_anything() -> None:
    assert object_schema(FunctionTool.of(model, result_converter=str)) is None


def test_what_a_document_says_of_a_service_is_not_promised() -> None:
    said = {"type": "object", "properties": {"n": {"type": "integer"}}}
    listed = Tool(raw_name="x", output_schema=said, meta={"openapi": {"method": "GET", "path": "/x"}})
    assert object_schema(listed) is None


def test_what_is_stated_wins() -> None:
    stated = {"type": "object", "properties": {"m": {"type": "string"}}}
    assert object_schema(FunctionTool.of(model, output_schema=stated)) == stated
    assert object_schema(Tool(raw_name="a", output_schema=stated)) == stated
    assert object_schema(Tool(raw_name="a", output_schema={"type": "array"})) is None
    assert object_schema(Tool(raw_name="a")) is None
