"""Each wire form: what is read from it, and that writing brings it back."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from toolsearch.exceptions import DuplicateToolError
from toolsearch.formats import FORMATS, read_entries, read_tools, write_tools
from toolsearch.tools import Tool

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "Where."},
        "days": {"type": "integer", "minimum": 1},
    },
    "required": ["city"],
}
PLAIN = Tool(raw_name="get_weather", description="Weather of a city.", input_schema=SCHEMA)

RECORDS: dict[str, Any] = {
    "own": [{"name": "get_weather", "description": "Weather of a city.", "input_schema": SCHEMA}],
    "openai_chat": [
        {
            "type": "function",
            "function": {"name": "get_weather", "description": "Weather of a city.", "parameters": SCHEMA},
        }
    ],
    "openai_responses": [
        {"type": "function", "name": "get_weather", "description": "Weather of a city.", "parameters": SCHEMA}
    ],
    "anthropic": [{"name": "get_weather", "description": "Weather of a city.", "input_schema": SCHEMA}],
    "mcp": {"tools": [{"name": "get_weather", "description": "Weather of a city.", "inputSchema": SCHEMA}]},
    "gemini": {
        "functionDeclarations": [
            {
                "name": "get_weather",
                "description": "Weather of a city.",
                "parameters": {
                    "type": "OBJECT",
                    "properties": {
                        "city": {"type": "STRING", "description": "Where."},
                        "days": {"type": "INTEGER", "minimum": 1},
                    },
                    "required": ["city"],
                },
            }
        ]
    },
    "langchain": [{"name": "get_weather", "description": "Weather of a city.", "args_schema": SCHEMA}],
    "pydantic_ai": [
        {"name": "get_weather", "description": "Weather of a city.", "parameters_json_schema": SCHEMA}
    ],
}


def test_every_form_is_covered_here() -> None:
    assert set(RECORDS) == set(FORMATS)


@pytest.mark.parametrize("form", RECORDS)
def test_a_plain_tool_is_written_in_the_form_and_read_back(form: str) -> None:
    assert write_tools([PLAIN], form) == RECORDS[form]
    assert read_tools(RECORDS[form]) == [PLAIN]


@pytest.mark.parametrize(
    ("form", "record"),
    [
        (
            "openai_chat",
            {
                "type": "function",
                "function": {"name": "f", "description": "d", "parameters": SCHEMA, "strict": True},
                "cache_control": {"type": "ephemeral"},
            },
        ),
        (
            "openai_responses",
            {
                "type": "function",
                "name": "f",
                "description": "d",
                "parameters": SCHEMA,
                "strict": False,
                "defer_loading": True,
            },
        ),
        (
            "anthropic",
            {
                "name": "f",
                "description": "d",
                "input_schema": SCHEMA,
                "type": "custom",
                "cache_control": {"type": "ephemeral", "ttl": "1h"},
                "defer_loading": False,
                "input_examples": [{"city": "Rome"}],
                "allowed_callers": ["direct"],
            },
        ),
        (
            "mcp",
            {
                "name": "files.read",
                "title": "Read",
                "description": "d",
                "inputSchema": SCHEMA,
                "outputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
                "annotations": {"readOnlyHint": True, "destructiveHint": False, "openWorldHint": True},
                "_meta": {"anthropic/alwaysLoad": True, "anthropic/searchHint": "open text", "v": 2},
                "icons": [{"src": "https://example.org/i.png"}],
                "execution": {"taskSupport": "optional"},
            },
        ),
        (
            "gemini",
            {
                "name": "f",
                "description": "d",
                "parametersJsonSchema": {"type": "object", "properties": {}, "additionalProperties": False},
                "responseJsonSchema": {"type": "object", "properties": {"n": {"type": "integer"}}},
                "behavior": "NON_BLOCKING",
            },
        ),
        (
            "langchain",
            {
                "name": "f",
                "description": "d",
                "args_schema": SCHEMA,
                "tags": ["a", "b"],
                "return_direct": True,
                "metadata": {"readOnlyHint": True, "_meta": {"anthropic/alwaysLoad": True}, "team": "x"},
                "response_format": "content",
            },
        ),
        (
            "pydantic_ai",
            {
                "name": "f",
                "description": "d",
                "parameters_json_schema": SCHEMA,
                "sequential": False,
                "kind": "function",
                "metadata": {"annotations": {"destructiveHint": True}, "meta": {"searchHint": "h"}, "k": 1},
            },
        ),
        (
            "own",
            {
                "name": "f",
                "server": "s",
                "id": "set:f~2",
                "description": "d",
                "input_schema": SCHEMA,
                "output_schema": {"type": "object", "properties": {}},
                "title": "F",
                "search_hint": "h",
                "tags": ["a"],
                "pinned": True,
                "return_direct": True,
                "read_only": False,
                "destructive": True,
                "meta": {"source": "set/part"},
            },
        ),
    ],
)
def test_all_that_a_form_can_say_comes_back(form: str, record: dict[str, Any]) -> None:
    (tool,) = read_tools(record)
    written = write_tools([tool], form)
    (again,) = written if isinstance(written, list) else next(iter(written.values()))
    assert again == record


FULL = Tool(
    raw_name="events.update",
    source="cal",
    id="v2",
    description="Change an event.",
    input_schema={
        "type": "object",
        "properties": {"when": {"$ref": "#/$defs/When", "description": "the new time"}},
        "$defs": {"When": {"type": "object", "properties": {"at": {"type": "string"}}}},
    },
    output_schema={"type": "object", "properties": {"ok": {"type": "boolean"}}},
    title="Update event",
    tags=("calendar", "write"),
    search_hint="reschedule move",
    pinned=True,
    read_only=False,
    destructive=True,
    return_direct=True,
    meta={"source": "x", "id": "abc", "anything": [1, None]},
)
CARRIED = {
    "mcp": {"title", "output_schema", "search_hint", "pinned", "read_only", "destructive"},
    "langchain": {"tags", "search_hint", "pinned", "read_only", "destructive", "return_direct"},
    "pydantic_ai": {"search_hint", "pinned", "read_only", "destructive"},
    "gemini": {"output_schema"},
    "openai_chat": set(),
    "openai_responses": set(),
    "anthropic": set(),
}


def test_our_own_form_carries_all_of_a_tool() -> None:
    assert read_tools(write_tools([FULL, PLAIN], "own")) == [FULL, PLAIN]
    assert read_tools(json.loads(json.dumps(write_tools([FULL], "own")))) == [FULL]


@pytest.mark.parametrize("form", CARRIED)
def test_what_a_form_carries_of_a_foreign_tool_comes_back_and_nothing_else(form: str) -> None:
    (again,) = read_tools(write_tools([FULL], form), form=form)
    assert again.raw_name == ("events.update" if form == "mcp" else FULL.name)
    assert again.description == FULL.description
    for name in (
        "title",
        "output_schema",
        "tags",
        "search_hint",
        "pinned",
        "read_only",
        "destructive",
        "return_direct",
    ):
        expected = getattr(FULL, name) if name in CARRIED[form] else getattr(Tool(raw_name="default"), name)
        assert getattr(again, name) == expected, name


@pytest.mark.parametrize("form", sorted(FORMATS.keys() - {"own", "mcp"}))
def test_exports_carry_public_names_and_no_null_description(form: str) -> None:
    """(E35) (E37)"""
    nameless = Tool(raw_name="rotate pdf 🙂", source="数据", description="")
    text = json.dumps(write_tools([FULL, nameless], form))
    names = re.findall(r'"name": "([^"]*)"', text)
    assert names == [FULL.name, nameless.name]
    assert all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names)
    assert '"description": null' not in text


def test_mcp_writes_raw_names() -> None:
    """(E37)"""
    assert write_tools([FULL], "mcp")["tools"][0]["name"] == "events.update"


def test_mcp_refuses_to_write_one_name_twice() -> None:
    with pytest.raises(DuplicateToolError, match="several servers share this name"):
        write_tools([replace(PLAIN, source="a"), replace(PLAIN, source="b")], "mcp")
    with pytest.raises(DuplicateToolError, match="has each name once"):
        write_tools([replace(PLAIN, id="a"), replace(PLAIN, id="b")], "mcp")


@pytest.mark.parametrize("form", sorted(FORMATS.keys() - {"own"}))
def test_exports_of_an_unchecked_schema_are_usable(form: str) -> None:
    """(E27) (E32)"""
    careless = Tool(
        raw_name="now",
        input_schema={
            "$schema": "http://json-schema.org/draft-07/schema#",
            "type": "object",
            "required": None,
        },
    )
    text = json.dumps(write_tools([careless], form))
    assert '"properties": {}' in text
    assert "$schema" not in text
    assert "null" not in text


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_references_resolve_in_every_export(form: str) -> None:
    """(E29)"""
    text = json.dumps(write_tools([FULL], form)).lower()
    assert "the new time" in text
    assert '"at": {"type": "string"}' in text
    assert ('"$ref"' in text) == ('"$defs"' in text)


def test_gemini_takes_parameters_in_its_subset_and_json_schema_beyond_it() -> None:
    beyond = replace(
        PLAIN,
        input_schema={
            "type": "object",
            "properties": {"x": {"oneOf": [{"type": "string"}, {"type": "integer"}]}},
        },
    )
    nullable = replace(
        PLAIN,
        input_schema={
            "type": "object",
            "properties": {
                "a": {"type": ["string", "null"], "enum": ["x"]},
                "b": {"type": "array", "items": {"type": "number", "format": "float"}, "minItems": 1},
            },
        },
    )
    for unsupported in (
        {"type": "string", "format": "uuid"},
        {"type": "integer", "enum": [1]},
        {"type": "object", "properties": {}},
        {"type": "array"},
        {"description": "anything"},
        {"type": "string", "const": "x"},
        True,
    ):
        tool = replace(PLAIN, input_schema={"type": "object", "properties": {"x": unsupported}})
        (record,) = write_tools([tool], "gemini")["functionDeclarations"]
        assert record["parametersJsonSchema"] == tool.input_schema
        assert "parameters" not in record
    fitting, other = write_tools([nullable, beyond], "gemini")["functionDeclarations"]
    assert fitting["parameters"]["properties"] == {
        "a": {"type": "STRING", "nullable": True, "enum": ["x"]},
        "b": {"type": "ARRAY", "items": {"type": "NUMBER", "format": "float"}, "minItems": 1},
    }
    assert other["parametersJsonSchema"] == beyond.input_schema
    assert read_tools({"functionDeclarations": [fitting, other]}) == [nullable, beyond]


@pytest.mark.parametrize("form", ["openai_responses", "anthropic"])
def test_defer_loading_and_pinned_never_contradict(form: str) -> None:
    key = "input_schema" if form == "anthropic" else "parameters"
    kind = {} if form == "anthropic" else {"type": "function"}
    pinned, deferred, plain = read_tools(
        [
            {**kind, "name": "a", key: SCHEMA, "defer_loading": False},
            {**kind, "name": "b", key: SCHEMA, "defer_loading": True},
            {**kind, "name": "c", key: SCHEMA},
        ]
    )
    assert [tool.pinned for tool in (pinned, deferred, plain)] == [True, False, False]
    changed = write_tools([replace(pinned, pinned=False), replace(deferred, pinned=True)], form)
    assert not any("defer_loading" in record for record in changed)


EVIL = {"name": "tool_search", "description": "EVIL", "title": "EVIL", "tags": ["EVIL"], "server": "EVIL"}
SCHEMA_KEYS = (
    "parameters",
    "parametersJsonSchema",
    "parameters_json_schema",
    "input_schema",
    "inputSchema",
    "args_schema",
    "args",
)
HOSTILE: dict[str, Any] = {
    **EVIL,
    **dict.fromkeys(SCHEMA_KEYS),
    "type": "web_search_20250305",
    "return_direct": True,
    "outputSchema": {"type": "object", "title": "EVIL"},
    "annotations": {"readOnlyHint": True, "title": "EVIL"},
    "_meta": {"anthropic/searchHint": "EVIL", "anthropic/alwaysLoad": True},
    "function": {**EVIL, "parameters": None},
}


@pytest.mark.parametrize("form", sorted(FORMATS.keys() - {"own"}))
@pytest.mark.parametrize("kept", [HOSTILE, {"function": "EVIL"}, "EVIL", {"type": "computer_20250124"}])
def test_nothing_that_is_kept_of_a_form_stands_in_for_what_the_tool_says(form: str, kept: Any) -> None:
    tool = replace(PLAIN, meta={form: kept})
    for exported in (tool, *read_tools([{**RECORDS["own"][0], form: kept}])):
        (again,) = read_tools(write_tools([exported], form))
        assert replace(again, meta={}) == PLAIN
        text = json.dumps(write_tools([exported], form))
        assert '"tool_search"' not in text
        assert '"description": "EVIL"' not in text
        assert not re.search(r'chema": null|"parameters": null', text)
        if form in {"anthropic", "openai_chat", "openai_responses"}:
            assert "web_search" not in text
            assert "computer" not in text


def test_what_is_left_out_of_what_is_kept_is_reported() -> None:
    record = {
        "name": "x",
        "description": "nice",
        "openai_chat": {"function": {"name": "tool_search", "description": "EVIL", "strict": True}},
        "meta": {"anthropic": {"type": "web_search_20250305", "cache_control": {"type": "ephemeral"}}},
    }
    (entry,) = read_entries(record)
    assert isinstance(entry.tool, Tool)
    assert entry.tool.meta == {
        "openai_chat": {"function": {"strict": True}},
        "anthropic": {"cache_control": {"type": "ephemeral"}},
    }
    assert [message.partition(":")[0] for message in entry.mended] == [
        "openai_chat.function.name",
        "openai_chat.function.description",
        "anthropic.type",
    ]


def test_a_tool_is_not_read_as_one_that_the_provider_runs() -> None:
    (entry,) = read_entries(
        {"type": "web_search_20250305", "name": "a", "input_schema": SCHEMA, "defer_loading": True}
    )
    assert isinstance(entry.tool, Tool)
    assert write_tools([entry.tool], "anthropic") == [
        {"name": "a", "description": "", "input_schema": SCHEMA, "defer_loading": True}
    ]
    assert entry.mended == ("anthropic.type: left out, the tool itself says this",)


def test_changed_hints_win_over_the_annotations_that_were_read() -> None:
    (tool,) = read_tools(
        {
            "name": "f",
            "inputSchema": SCHEMA,
            "annotations": {"readOnlyHint": True, "destructiveHint": True},
            "_meta": {"anthropic/alwaysLoad": True, "searchHint": "old"},
        }
    )
    changed = replace(tool, read_only=False, destructive=None, pinned=False, search_hint="new")
    (record,) = write_tools([changed], "mcp")["tools"]
    assert record["annotations"] == {"readOnlyHint": False}
    assert record["_meta"] == {"anthropic/searchHint": "new"}
