"""Tools whose definition is data: arguments are checked against it and handed on as one dict."""

from typing import Any

import pytest

from tests.functions.support import call, text
from toolsearch import ToolContext
from toolsearch.exceptions import DefinitionError, ReservedNameError, SchemaError, ToolArgumentsError
from toolsearch.functions import tool_from_schema

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "q": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1},
        "where": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
    "required": ["q"],
    "additionalProperties": False,
}


def test_the_function_takes_all_arguments_as_one_dict() -> None:
    made = tool_from_schema(
        lambda arguments: arguments,
        name="find",
        input_schema=SCHEMA,
        description="Find.",
        source="shop",
        tags=("a",),
        pinned=True,
    )
    assert made.definition.model_dump(exclude={"output_schema", "title"}) == {
        "name": "shop__find",
        "description": "Find.",
        "input_schema": SCHEMA,
    }
    assert (made.tags, made.pinned) == (("a",), True)
    assert call(made, {"q": "12", "limit": 2}).structured == {"q": "12", "limit": 2}


def test_the_context_is_given_where_it_is_asked_for() -> None:
    def search(context: ToolContext, arguments: dict[str, Any]) -> str:
        return f"{context.tenant}:{arguments['q']}"

    made = tool_from_schema(search, name="search", input_schema=SCHEMA)
    assert text(made, {"q": "x"}, ToolContext(tenant="t")) == "t:x"


def test_async_functions_converters_and_no_arguments_work_too() -> None:
    async def now(arguments: dict[str, Any]) -> int:
        return len(arguments)

    made = tool_from_schema(now, name="now", result_converter=lambda n: n + 1, timeout_s=10)
    assert made.input_schema == {"type": "object", "properties": {}}
    assert text(made) == "1"


def test_bad_arguments_are_named_and_nothing_runs() -> None:
    made = tool_from_schema(lambda arguments: pytest.fail("it ran"), name="find", input_schema=SCHEMA)
    with pytest.raises(ToolArgumentsError) as caught:
        call(made, {"limit": 0, "where": {"city": 1}, "x": 1})
    assert caught.value.problems == (
        "'q' is a required property.",
        "Additional properties are not allowed ('x' was unexpected).",
        "'limit': 0 is less than the minimum of 1.",
        "'where.city': 1 is not of type 'string'.",
    )


def test_definitions_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(SchemaError, match="'bad'"):
        tool_from_schema(print, name="bad", input_schema={"type": "array"})
    with pytest.raises(ReservedNameError):
        tool_from_schema(lambda arguments: None, name="call_tool")
    with pytest.raises(DefinitionError, match="must take one dict"):
        tool_from_schema(lambda a, b: None, name="two")


def test_no_pattern_of_a_foreign_schema_holds_up_the_loop() -> None:
    schema = {"type": "object", "properties": {"q": {"type": "string", "pattern": "^(a+)+$"}}}
    made = tool_from_schema(lambda arguments: arguments, name="find", input_schema=schema)
    with pytest.raises(ToolArgumentsError, match="does not match"):
        call(made, {"q": "a" * 10_000 + "!"})
