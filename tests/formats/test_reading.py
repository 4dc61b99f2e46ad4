"""Finding definitions in JSON values, and telling their forms apart."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolsearch.catalog import tool_record
from toolsearch.exceptions import DefinitionError, SchemaError
from toolsearch.formats import base, read_entries, read_tools, write_tools
from toolsearch.schema import check_schema
from toolsearch.tools import Tool

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
MCP_TOOL = {"name": "t", "inputSchema": SCHEMA}
FLAT = {"type": "function", "name": "t", "parameters": SCHEMA}


@pytest.mark.parametrize(
    ("data", "source", "path"),
    [
        (MCP_TOOL, "", ()),
        ([MCP_TOOL], "", (0,)),
        ({"tools": [MCP_TOOL], "nextCursor": "x"}, "", ("tools", 0)),
        ({"jsonrpc": "2.0", "id": 3, "result": {"tools": [MCP_TOOL]}}, "", ("result", "tools", 0)),
        ({"serverInfo": {"name": "files"}, "tools": [MCP_TOOL]}, "files", ("tools", 0)),
        ({"server": "files", "tools": [MCP_TOOL]}, "files", ("tools", 0)),
        ([{"server": "files", "result": {"tools": [MCP_TOOL]}}], "", (0, "result", "tools", 0)),
        ({"model": "m", "messages": [], "tools": [FLAT]}, "", ("tools", 0)),
        ({"functions": [{"name": "t", "parameters": SCHEMA}]}, "", ("functions", 0)),
        (
            [{"type": "namespace", "name": "crm", "description": "Customers.", "tools": [FLAT]}],
            "crm",
            (0, "tools", 0),
        ),
        (
            {"tools": [{"functionDeclarations": [{"name": "t", "parameters": SCHEMA}]}]},
            "",
            ("tools", 0, "functionDeclarations", 0),
        ),
        (
            [{"function_declarations": [{"name": "t", "parameters_json_schema": SCHEMA}]}],
            "",
            (0, "function_declarations", 0),
        ),
    ],
)
def test_definitions_are_found_in_what_holds_them(data: Any, source: str, path: tuple[Any, ...]) -> None:
    (entry,) = read_entries(data)
    assert isinstance(entry.tool, Tool)
    assert (entry.tool.raw_name, entry.tool.source, entry.path) == ("t", source, path)
    assert entry.tool.input_schema == SCHEMA


@pytest.mark.parametrize("data", [[], {"tools": []}, {"result": {"tools": []}}, {"functionDeclarations": []}])
def test_an_empty_catalog_has_no_entries(data: Any) -> None:
    assert list(read_entries(data)) == []


def test_a_source_is_given_to_definitions_that_name_none() -> None:
    tools = read_tools([MCP_TOOL, {**MCP_TOOL, "server": "other"}], source="files")
    assert [tool.source for tool in tools] == ["files", "other"]


def test_the_description_of_a_namespace_is_kept() -> None:
    (tool,) = read_tools([{"type": "namespace", "name": "crm", "description": "Customers.", "tools": [FLAT]}])
    assert tool.meta["source_description"] == "Customers."


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 3},
            "'web_search_20250305' is run by",
        ),
        ({"type": "custom", "name": "code", "format": {"type": "text"}}, "takes no JSON arguments"),
        ({"type": "mcp_toolset", "mcp_server_name": "x"}, "'mcp_toolset' is run by"),
        ({"googleSearch": {}}, "in no known form: its keys are googleSearch"),
        ({}, "its keys are none"),
        (7, "is a JSON object, not 7"),
        ([], "is a JSON object, not []"),
        ({"name": "", "input_schema": {}}, "needs a name, not ''"),
        ({"name": None, "inputSchema": {}}, "needs a name, not None"),
        ({"name": ["t"], "inputSchema": {}}, "needs a name"),
        ({"name": "a\ud800", "inputSchema": {}}, "lone surrogates"),
        ({"type": "function", "function": {"parameters": {}}}, "needs a name"),
        ({"name": "t", "parameters": {"type": [{"type": "str"}]}}, "unknown type"),
        ({"name": "t", "server": 5, "input_schema": {}}, "its server must be a string"),
        ({"name": "t", "id": {"a": 1}, "input_schema": {}}, "its id must be a string"),
        ({"name": "t", "parameters": {"$ref": "http://[x#/a"}}, "no URI"),
        ({"server": "s\ud800", "tools": [MCP_TOOL]}, "its server must be named by a string"),
        ({"server": 5, "tools": [MCP_TOOL]}, "its server must be named by a string, not 5"),
        ({"type": "namespace", "name": ["a"], "tools": [FLAT]}, "must be named by a string, not ['a']"),
        ({"type": "namespace", "name": "a\udc00", "tools": [FLAT]}, "must be named by a string"),
    ],
)
def test_what_is_no_definition_is_an_entry_with_its_reason(record: Any, reason: str) -> None:
    entries = list(read_entries([MCP_TOOL, record, MCP_TOOL]))
    assert [isinstance(entry.tool, Tool) for entry in entries] == [True, False, True]
    assert reason in str(entries[1].tool)
    with pytest.raises(DefinitionError):
        read_tools([record])


@pytest.mark.parametrize(
    "error", [ValueError, OverflowError, RecursionError, UnicodeError, TypeError, KeyError]
)
def test_whatever_one_definition_provokes_is_the_error_of_that_tool(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def check(tool_name: str, schema: Any) -> Any:
        if tool_name == "bad":
            raise error("boom")
        return check_schema(tool_name, schema)

    monkeypatch.setattr(base, "check_schema", check)
    entries = list(read_entries([MCP_TOOL, {**MCP_TOOL, "name": "bad"}, MCP_TOOL]))
    assert [isinstance(entry.tool, Tool) for entry in entries] == [True, False, True]
    assert isinstance(entries[1].tool, DefinitionError)
    assert entries[1].tool.tool == "bad"


def test_wrappers_without_end_are_an_error_and_no_traceback() -> None:
    """(E164)"""
    data: Any = [MCP_TOOL]
    for _ in range(450):
        data = [{"tools": data}]
    good, deep = read_entries([MCP_TOOL, *data])
    assert isinstance(good.tool, Tool)
    assert isinstance(deep.tool, DefinitionError)
    assert deep.tool.reason == "it is nested too deeply."


@pytest.mark.parametrize(
    ("data", "label"),
    [
        ({"name": None}, "the definition"),
        ([{"name": "a"}, {"name": ""}], "definition 2"),
        ({"tools": [{"name": "a"}, {"name": ""}]}, "definition 2 of tools"),
        (
            {"tools": [{"functionDeclarations": [{"name": ""}]}]},
            "definition 1 of tools[0].functionDeclarations",
        ),
        ([{"name": "", "id": "set:7"}], "set:7"),
        ([5], "definition 1"),
        ([{"type": "function"}], "definition 1"),
        ([{"type": "function", "function": {}}], "definition 1"),
    ],
)
def test_a_definition_without_a_name_is_named_by_its_place(data: Any, label: str) -> None:
    (error,) = [entry.tool for entry in read_entries(data) if isinstance(entry.tool, DefinitionError)]
    assert error.tool == label


def test_the_description_of_a_namespace_is_text_that_utf_8_can_carry() -> None:
    (entry,) = read_entries({"type": "namespace", "name": "crm", "description": "C\ud800", "tools": [FLAT]})
    assert isinstance(entry.tool, Tool)
    assert entry.tool.meta["source_description"] == "C\ufffd"
    assert entry.mended == ("the description of its namespace: lone surrogates are replaced by U+FFFD",)


def test_of_five_listed_tools_two_broken_ones_do_not_take_the_others_down() -> None:
    """(E34)"""
    good = [{"name": name, "inputSchema": {"type": "object"}} for name in "abc"]
    bad = [{"name": "nothing", "inputSchema": None}, {"name": "oops", "inputSchema": "oops"}]
    entries = list(read_entries({"tools": [good[0], bad[0], good[1], bad[1], good[2]]}))
    assert [entry.tool.raw_name for entry in entries if isinstance(entry.tool, Tool)] == [
        "a",
        "nothing",
        "b",
        "c",
    ]
    assert entries[1].mended == ("inputSchema: $: null is read as no arguments",)
    assert isinstance(entries[3].tool, SchemaError)
    assert entries[3].tool.tool == "oops"


def test_a_null_description_reads_as_an_empty_one() -> None:
    """(E35)"""
    (entry,) = read_entries({"name": "rotate_pdf", "description": None, "inputSchema": SCHEMA})
    assert isinstance(entry.tool, Tool)
    assert (entry.tool.description, entry.mended) == ("", ())


def test_values_that_cannot_be_meant_are_left_out_and_reported() -> None:
    (entry,) = read_entries(
        {
            "name": "t",
            "server": "s",
            "description": ["a", "b"],
            "title": "half \ud83d",
            "tags": [1],
            "pinned": "yes",
            "output_schema": "oops",
            "score": float("inf"),
        }
    )
    assert isinstance(entry.tool, Tool)
    assert entry.tool == Tool(raw_name="t", source="s", title="half \ufffd")
    assert [message.split(":")[0] for message in entry.mended] == [
        "description",
        "output_schema",
        "title",
        "tags",
        "pinned",
        "score",
    ]


def test_an_output_schema_of_another_type_is_left_out_of_an_mcp_tool() -> None:
    (entry,) = read_entries({**MCP_TOOL, "outputSchema": {"type": "array"}})
    assert isinstance(entry.tool, Tool)
    assert entry.tool.output_schema is None
    assert entry.mended[0].startswith("outputSchema: left out, ")


@pytest.mark.parametrize(
    "record",
    [
        {"name": "t", "description": "d"},
        {"name": "t", "description": "d", "annotations": {"readOnlyHint": True}},
        {"name": "t", "description": "d", "args": {}},
        {"type": "function", "name": "t", "description": "d"},
        {"type": "function", "function": {"name": "t", "description": "d"}},
    ],
)
def test_a_definition_without_a_schema_takes_no_arguments(record: dict[str, Any]) -> None:
    (entry,) = read_entries(record)
    assert isinstance(entry.tool, Tool)
    assert entry.tool.input_schema == {"type": "object", "properties": {}}
    assert entry.mended == ()


def test_our_own_keys_settle_the_form_of_a_record() -> None:
    (tool,) = read_tools(
        {
            "name": "t",
            "input_schema": SCHEMA,
            "server": "s",
            "pinned": True,
            "strict": True,
            "annotations": {"x": 1},
        }
    )
    assert (tool.source, tool.pinned, tool.input_schema) == ("s", True, SCHEMA)
    assert tool.meta == {"strict": True, "annotations": {"x": 1}}


def test_a_form_that_is_asked_for_is_used() -> None:
    record = {"name": "t", "input_schema": SCHEMA, "inputSchema": {"type": "object", "properties": {}}}
    assert read_tools(record, form="own")[0].input_schema == SCHEMA
    assert read_tools(record, form="mcp")[0].input_schema == {"type": "object", "properties": {}}
    with pytest.raises(ValueError, match=r"Unknown form 'xml'\. Choose one of openai_chat, "):
        read_tools(record, form="xml")
    with pytest.raises(ValueError, match="Unknown form 'xml'"):
        write_tools([], "xml")


def test_gemini_declarations_are_read_as_the_python_client_dumps_them() -> None:
    (entry,) = read_entries(
        {
            "function_declarations": [
                {
                    "name": "t",
                    "description": "d",
                    "behavior": None,
                    "parameters": {
                        "type": "OBJECT",
                        "title": None,
                        "properties": {
                            "a": {"type": "STRING", "nullable": True, "min_length": "2", "enum": None},
                            "b": {"any_of": [{"type": "INTEGER"}, {"type": "NULL"}], "type": None},
                            "c": {"type": "ARRAY", "items": {"type": "NUMBER"}, "maxItems": "9"},
                            "any_of": {"type": "BOOLEAN"},
                        },
                        "required": None,
                    },
                }
            ]
        }
    )
    assert entry.mended == ()
    assert isinstance(entry.tool, Tool)
    assert entry.tool.input_schema == {
        "type": "object",
        "properties": {
            "a": {"type": ["string", "null"], "minLength": 2},
            "b": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "c": {"type": "array", "items": {"type": "number"}, "maxItems": 9},
            "any_of": {"type": "boolean"},
        },
    }


def test_pseudo_types_of_the_older_functions_form_are_mended_and_reported() -> None:
    (entry,) = read_entries(
        {"name": "t", "parameters": {"type": "dict", "properties": {"a": {"type": "float"}}}}
    )
    assert isinstance(entry.tool, Tool)
    assert entry.tool.input_schema == {"type": "object", "properties": {"a": {"type": "number"}}}
    assert entry.mended == (
        "parameters: $.type: 'dict' is read as 'object'",
        "parameters: $.properties.a.type: 'float' is read as 'number'",
    )


def test_langchain_args_are_the_properties() -> None:
    (tool,) = read_tools({"name": "t", "description": "d", "args": {"q": {"title": "Q", "type": "string"}}})
    assert tool.input_schema == {"type": "object", "properties": {"q": {"title": "Q", "type": "string"}}}


@pytest.mark.parametrize(
    ("source", "name", "stated", "kept"),
    [
        ("", "get_weather", "bfcl:get_weather", ""),
        ("", "get_weather", "bfcl:get_weather~2", "bfcl:get_weather~2"),
        ("", "get_weather", "get_weather", ""),
        ("meteo", "get_weather", "meteo.get_weather", ""),
        ("meteo", "get_weather", "meteo__get_weather", ""),
        ("meteo", "get_weather", "other.get_weather", "other.get_weather"),
        ("", "get_weather", "7f3a", "7f3a"),
        ("", "get_weather", 7, "7"),
    ],
)
@pytest.mark.parametrize(
    "key", ["input_schema", "inputSchema", "parameters", "args_schema", "parameters_json_schema"]
)
def test_an_id_is_kept_in_the_name_where_it_says_more_than_the_name(
    key: str, source: str, name: str, stated: str | int, kept: str
) -> None:
    (tool,) = read_tools({"name": name, "id": stated, "server": source, key: SCHEMA})
    assert tool.id == kept
    assert tool.meta["id"] == stated
    assert read_tools(tool_record(tool)) == [tool]


TEXT = st.text(max_size=8)
NAME = st.text(min_size=1, max_size=8).filter(str.strip)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
TOOLS = st.builds(
    Tool,
    raw_name=NAME,
    source=TEXT,
    id=TEXT,
    description=TEXT,
    title=TEXT,
    search_hint=TEXT,
    tags=st.lists(TEXT, max_size=3, unique=True).map(tuple),
    pinned=st.booleans(),
    return_direct=st.booleans(),
    read_only=st.none() | st.booleans(),
    destructive=st.none() | st.booleans(),
    meta=st.dictionaries(TEXT.filter(lambda key: key != "id"), JSON, max_size=3)
    | st.fixed_dictionaries({"id": TEXT | st.integers()}),
)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(TOOLS)
def test_our_own_form_brings_any_tool_back(tool: Tool) -> None:
    (again,) = read_tools([tool_record(tool)])
    assert again == tool
    assert again.name == tool.name
