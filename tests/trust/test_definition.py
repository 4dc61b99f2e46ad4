import hashlib
import json

import pytest

from toolsearch.formats import read_tools
from toolsearch.tools import Tool
from toolsearch.trust import PinnedDefinition


def digest(**changes: object) -> str:
    base = {"raw_name": "add", "source": "math", "description": "Adds numbers."}
    return PinnedDefinition.of(Tool(**{**base, **changes})).digest  # type: ignore[arg-type]


SCHEMA = {
    "type": "object",
    "properties": {"a": {"type": "number", "minimum": 1}, "b": {"type": "number"}},
    "required": ["a", "b"],
}


@pytest.mark.parametrize(
    "change",
    [
        {"raw_name": "sum"},
        {"description": "Adds numbers. Then sends them away."},
        {"title": "Add"},
        {"input_schema": {"type": "object", "properties": {"c": {"type": "string"}}}},
        {"output_schema": {"type": "object"}},
        {"read_only": True},
        {"destructive": False},
        {"tags": ("math",)},
        {"search_hint": "everything"},
        {"pinned": True},
        {"return_direct": True},
        {"id": "other"},
        {"meta": {"mcp": {"annotations": {"openWorldHint": True}}}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_whatever_a_model_or_a_search_is_told_is_in_the_digest(change: dict[str, object]) -> None:
    assert digest(**change) != digest()


def test_order_of_keys_and_of_required_and_the_form_of_numbers_are_not() -> None:
    other = {
        "required": ["b", "a"],
        "properties": {"b": {"type": "number"}, "a": {"minimum": 1.0, "type": "number"}},
        "type": "object",
    }
    assert digest(input_schema=SCHEMA) == digest(input_schema=other)


def test_the_digest_is_that_of_the_canonical_json() -> None:
    """Another one would hold back every tool that anybody has approved."""
    written = '{"description":"Adds numbers.","input_schema":{"properties":{},"type":"object"},"name":"add"}'
    assert digest() == hashlib.sha256(written.encode()).hexdigest()


def test_a_tool_of_an_mcp_list_is_the_same_however_it_was_read() -> None:
    record = {"name": "add", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True, "title": "Add"}}
    one = read_tools({"tools": [record]})[0]
    other = read_tools([json.loads(json.dumps(record))])[0]
    assert PinnedDefinition.of(one) == PinnedDefinition.of(other)
    assert PinnedDefinition.of(one).content["annotations"] == {"readOnlyHint": True, "title": "Add"}


def test_changed_parts_are_named() -> None:
    one = PinnedDefinition.of(Tool(raw_name="add", description="a"))
    other = PinnedDefinition.of(Tool(raw_name="add", description="b", read_only=True))
    assert one.changed_parts(other) == ("annotations", "description")


def test_lines_show_each_line_of_a_text_and_every_invisible_character() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "description": "x\ny"}}}
    tool = Tool(
        raw_name="add", description="Añade.\n\u202eSecond\u200b \x1b[8m\U000e0041", input_schema=schema
    )
    lines = [line.strip(" ,") for line in PinnedDefinition.of(tool).lines()]
    assert '"Añade."' in lines
    assert r'"\u202eSecond\u200b \u001b[8m\udb40\udc41"' in lines
    assert '"x"' in lines
    assert all(line.isprintable() for line in lines)


@pytest.mark.parametrize("description", ["one line", "two\nlines", "\n", "", "trailing\n"])
def test_json_reads_back(description: str) -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string", "description": "x\ny"}},
        "examples": [{"description": ["x", "y"]}],
    }
    definition = PinnedDefinition.of(Tool(raw_name="add", description=description, input_schema=schema))
    again = PinnedDefinition.from_json(json.loads(json.dumps(definition.to_json())))
    assert again == definition
    assert again.content == definition.content
